"""The counting semirings: beside each optimum, how many terms of the sum attain it.

(x, n) (+) (y, m) is the better of the two, or (x, n + m) where x = y, and
(x, n) (x) (y, m) = (x + y, n m).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tropical.semirings import Semiring

Array: TypeAlias = NDArray[Any]
Part: TypeAlias = tuple[slice, ...]
BLOCK = 1 << 15  # elements whose temporaries stay in L2
MOST = 2**62  # counts are kept below, so that no sum of two wraps


class Counted(NamedTuple):
    """Optima, and how many configurations attain each.

    Attributes
    ----------
    values : ndarray
        The optima.
    counts : ndarray of int64
        As many as attain them, of the same shape; 0 where the value is the semiring's zero.

    Examples
    --------
    >>> import tropical
    >>> tropical.einsum("i->", [3, 1, 3], semiring="maxplus", return_counts=True)
    Counted(values=np.int64(3), counts=np.int64(2))
    """

    values: Array
    counts: Array


def check(ring: Semiring) -> None:
    """Raise ValueError unless the optima of `ring` can be counted."""
    if ring.multiply != "+" or not ring.selective:
        raise ValueError(
            f"return_counts: {ring.name} has none; with maxplus and minplus alone a term is an "
            "optimum just if its parts are"
        )


def counts_of(values: Array, given: Any, ring: Semiring, operand: int) -> Array:
    """Return the counts of an operand: 0 at the zero, elsewhere those given, or 1."""
    there: Array = values != ring.zero(values.dtype)
    if given is None:
        return there.astype(np.int64)
    counts = np.asarray(given)
    if counts.shape != values.shape:
        raise ValueError(
            f"operand {operand}: its values have shape {values.shape}, its counts {counts.shape}"
        )
    if counts.dtype.kind not in "iu":
        raise TypeError(f"operand {operand}: its counts have dtype {counts.dtype}, not int64")
    if counts.size and not 0 <= counts.min() <= counts.max() < MOST:
        raise ValueError(
            f"operand {operand}: its counts are {counts.min()} to {counts.max()}, not from 0 to "
            "below 2**62"
        )
    return np.where(there, counts.astype(np.int64), 0)


def product_counts(a: Counted, b: Counted, optima: Array, ring: Semiring) -> Array:
    """Return how many p attain each element of a product: sum over p of the products of counts.

    Parameters
    ----------
    a : Counted, (..., m, k)
    b : Counted, (..., k, n)
    optima : (..., m, n)
        The product of their values.
    ring : Semiring

    Raises
    ------
    OverflowError
        If integers could have saturated, floats are so good that all terms with them are equal, or
        a count may reach 2**62.
    """
    _check_range(a.values, b.values, optima, ring)
    k = a.values.shape[-1]
    most = int(a.counts.max(initial=0)) * int(b.counts.max(initial=0)) * k
    if most >= MOST:
        wide_a, wide_b = (Counted(x.values, x.counts.astype(np.float64)) for x in (a, b))
        most = _attaining(wide_a, wide_b, optima).max(initial=0)
        if most >= MOST * (1 - k * 2.0**-52):
            raise OverflowError(f"return_counts: a count is about {most:.2g}, int64 has no room")
    counts = _attaining(a, b, optima)
    counts[optima == ring.zero(optima.dtype)] = 0  # which floats reach by overflow too
    return counts


def _check_range(a: Array, b: Array, optima: Array, ring: Semiring) -> None:
    if a.dtype.kind != "i":
        if (optima == -ring.zero(optima.dtype)).any():
            raise OverflowError(
                f"return_counts: an optimum is {-ring.zero(optima.dtype)}, as are all terms with "
                "its parts, optimal or not"
            )
        return
    zero = ring.zero(a.dtype)
    low, high = (
        sum(int(best(x, where=x != zero, initial=0)) for x in (a, b)) for best in (np.min, np.max)
    )
    room = np.iinfo(a.dtype)
    if low <= room.min or high >= room.max:
        raise OverflowError(
            f"return_counts: sums of weights from {low} to {high} could saturate in {a.dtype}, and "
            "would seem equal"
        )


def _attaining(a: Counted, b: Counted, optima: Array) -> Array:
    total = np.zeros(optima.shape, a.counts.dtype)
    with np.errstate(invalid="ignore", over="ignore"):  # inf - inf is no optimum
        for rows, columns, at in _blocks(optima.shape):
            part, optimum = total[at], optima[at]
            for p in range(a.values.shape[-1]):
                one = slice(p, p + 1)
                left, right = (*rows, one), (*columns[:-1], one, columns[-1])
                attains = a.values[left] + b.values[right] == optimum
                part += attains * (a.counts[left] * b.counts[right])
    return total


def _blocks(shape: tuple[int, ...]) -> Iterator[tuple[Part, Part, Part]]:
    """Yield parts of (..., m, n), cut along the longest axis: of (..., m), of (..., n), of both."""
    axis = int(np.argmax(shape))
    length = shape[axis]
    step = max(1, BLOCK * length // max(1, int(np.prod(shape))))
    for start in range(0, length, step):
        at = [slice(None)] * len(shape)
        at[axis] = slice(start, start + step)
        yield tuple(at[:-1]), (*at[:-2], at[-1]), tuple(at)

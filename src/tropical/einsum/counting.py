"""The counting semirings: each optimum, and the number of terms of the sum that attain it.

(x, n) (+) (y, m) is the better of the two, or (x, n + m) where x = y, and
(x, n) (x) (y, m) = (x + y, n m).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from tropical.arrays import Array, unmasked

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tropical.semirings import Semiring

Part: TypeAlias = tuple[slice, ...]
BLOCK = 1 << 15  # elements whose temporaries stay in L2
MOST = 2**62  # counts are kept below, so that no sum of two wraps


class Counted(NamedTuple):
    """Optima, and the number of configurations that attain each optimum.

    Attributes
    ----------
    values : ndarray
        The optima.
    counts : ndarray of int64
        The numbers, of the same shape; 0 where the value is the semiring's zero.

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
    if ring.multiply_ufunc is not np.add or not ring.selective:
        raise ValueError(
            f"return_counts: expected maxplus or minplus, got {ring.name}; in other semirings a "
            "term can be optimal if its parts are not"
        )


def counts_of(values: Array, given: Any, ring: Semiring, operand: int) -> Array:
    """Return the counts of an operand: 0 at the zero; elsewhere the given counts, or 1."""
    there: Array = values != ring.zero(values.dtype)
    if given is None:
        return there.astype(np.int64)
    counts = unmasked("counts", given)
    if counts.shape != values.shape:
        raise ValueError(
            f"operand {operand}: expected counts of shape {values.shape}, got {counts.shape}"
        )
    if counts.dtype.kind not in "iu":
        raise TypeError(f"operand {operand}: expected counts of dtype int64, got {counts.dtype}")
    if counts.size and not 0 <= counts.min() <= counts.max() < MOST:
        raise ValueError(
            f"operand {operand}: expected counts from 0 to below 2**62, got {counts.min()} to "
            f"{counts.max()}"
        )
    return np.where(there, counts.astype(np.int64), 0)


def product_counts(a: Counted, b: Counted, optima: Array, ring: Semiring) -> Array:
    """Return the number of p that attain each element of a product, weighted by the counts.

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
        If integers could have saturated, if an optimum is infinite and not the zero, or if a count
        may reach 2**62.
    """
    _check_range(a.values, b.values, optima, ring)
    k = a.values.shape[-1]
    most = int(a.counts.max(initial=0)) * int(b.counts.max(initial=0)) * k
    if most >= MOST:
        wide_a, wide_b = (Counted(x.values, x.counts.astype(np.float64)) for x in (a, b))
        most = _attaining(wide_a, wide_b, optima).max(initial=0)
        if most >= MOST * (1 - k * 2.0**-52):
            raise OverflowError(
                f"return_counts: a count is about {most:.2g}, which int64 cannot hold"
            )
    counts = _attaining(a, b, optima)
    counts[optima == ring.zero(optima.dtype)] = 0  # which floats reach by overflow too
    return counts


def _check_range(a: Array, b: Array, optima: Array, ring: Semiring) -> None:
    if np.issubdtype(a.dtype, np.inexact):
        if (optima == -ring.zero(optima.dtype)).any():
            raise OverflowError(
                f"return_counts: an optimum is {-ring.zero(optima.dtype)}; terms that are not "
                "optimal have the same value"
            )
        return
    zero = ring.zero(a.dtype)
    low, high = (
        sum(int(best(x, where=x != zero, initial=0)) for x in (a, b)) for best in (np.min, np.max)
    )
    room = np.iinfo(a.dtype)
    if low <= min(room.min, -1) or high >= room.max:  # sums of unsigned numbers are never too low
        raise OverflowError(
            f"return_counts: sums of weights from {low} to {high} could saturate in {a.dtype}; "
            "saturated sums look equal"
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

"""Semirings for opt_einsum and cotengra.

``opt_einsum.contract(..., backend="tropical.interop.opt_einsum.maxplus")`` imports the module of
that name. Each semiring has such a module, with ``einsum``, ``tensordot`` and ``transpose``.
cotengra takes `implementation`.
"""

from __future__ import annotations

import functools
import sys
from operator import index
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from tropical import semirings
from tropical.arrays import Array, unmasked
from tropical.einsum import einsum

if TYPE_CHECKING:
    from collections.abc import Callable

    from tropical.semirings import Semiring

__all__ = ["Summand", "implementation", "tensordot"]


def tensordot(a: ArrayLike, b: ArrayLike, axes: Any = 2, *, semiring: str | Semiring) -> Array:
    """Sum products of two arrays over some axes of each, as `numpy.tensordot` over a semiring.

    Parameters
    ----------
    a, b : array_like
        As operands of `tropical.einsum`.
    axes : int or (axes of `a`, axes of `b`), default 2
        The summed axes: a number means the last axes of `a` and the first of `b`; else an int or
        a sequence of ints for each operand.
    semiring : str or Semiring
        The operations that replace + and x.

    Returns
    -------
    ndarray
        Its axes are the other axes of `a`, then the other axes of `b`.

    Raises
    ------
    ValueError
        If the axes do not pair, or an axis is given twice.
    TypeError
        If `axes` has another type.

    Examples
    --------
    >>> from tropical.interop.opt_einsum import tensordot
    >>> tensordot([[0, 2], [1, 5]], [3, 1], 1, semiring="maxplus")
    array([3, 6])
    """
    a, b = unmasked("a", a), unmasked("b", b)
    if isinstance(axes, (int, np.integer)):
        axes = min(axes, a.ndim + 1)  # more are as wrong, and a list of 10**9 fills the memory
        axes = range(a.ndim - axes, a.ndim), range(axes)
    try:
        ours, theirs = (list(map(index, x)) if np.iterable(x) else [index(x)] for x in axes)
    except (TypeError, ValueError):
        raise TypeError(f"axes: expected a number, or axes of a and of b, got {axes!r}") from None
    for name, array, some in (("a", a, ours), ("b", b, theirs)):
        there = all(-array.ndim <= axis < array.ndim for axis in some)
        if not there or len({axis % array.ndim for axis in some}) < len(some):
            raise ValueError(f"axes: expected axes of {name}, of shape {array.shape}, got {some}")
    if len(ours) != len(theirs):
        raise ValueError(f"axes: expected as many of a as of b, got {ours} and {theirs}")
    left = list(range(a.ndim))
    right = list(range(a.ndim, a.ndim + b.ndim))
    for one, other in zip(ours, theirs, strict=True):
        if a.shape[one] != b.shape[other]:
            raise ValueError(f"axes: shapes {a.shape} and {b.shape} differ along {one} and {other}")
        right[other] = left[one]
    kept = [label for label in (*left, *right) if (label in left) != (label in right)]
    return np.asarray(einsum(a, left, b, right, kept, semiring=semiring))


class Summand(np.ndarray):
    """The result of a contraction by `implementation`: ``+`` adds such arrays over their semiring.

    cotengra adds the slices of a tree by ``+``. The other operand of ``+`` must be a `Summand` of
    the same semiring. `numpy.asarray` returns a plain array.
    """

    ring: Semiring | None  # None if no contraction made the array

    def __array_finalize__(self, source: Any) -> None:
        self.ring = getattr(source, "ring", None)

    def __reduce__(self) -> tuple[Any, ...]:
        return _summand, (np.asarray(self), self.ring)

    def __add__(self, other: Any) -> Summand:
        if self.ring is None:
            raise TypeError(
                "+: expected the result of a contraction, got a Summand without a semiring"
            )
        if not isinstance(other, Summand) or other.ring != self.ring:
            raise TypeError(
                f"+: expected another result over {self.ring.name}, got {type(other).__name__} "
                "(strip_exponent adds floats and does not work here); np.asarray returns a plain "
                "array"
            )
        pair = np.stack([np.asarray(self), np.asarray(other)])
        return _summand(einsum("s...->...", pair, semiring=self.ring), self.ring)

    def __radd__(self, other: Any) -> Summand:
        return self.__add__(other)

    def __iadd__(self, other: Any) -> Summand:  # noqa: PYI034 - a new array
        return self.__add__(other)


def _summand(array: ArrayLike, ring: Semiring | None) -> Summand:
    summand = np.asarray(array).view(Summand)
    summand.ring = ring
    return summand


def implementation(
    semiring: str | Semiring,
) -> tuple[Callable[..., Summand], Callable[..., Summand]]:
    """Return functions that cotengra takes as ``implementation=``, to contract over a semiring.

    Parameters
    ----------
    semiring : str or Semiring
        The operations that replace + and x.

    Returns
    -------
    einsum, tensordot : callable
        The results are `Summand`, so that the semiring adds the slices of a sliced tree. Do not use
        cotengra's ``contract_mpi``, where MPI adds the slices, or cotengra's ``einsum`` of a single
        operand, which ignores the implementation.

    Examples
    --------
    >>> import numpy as np
    >>> from tropical.interop.opt_einsum import implementation
    >>> einsum, tensordot = implementation("maxplus")
    >>> part = tensordot(np.eye(2), np.ones((2, 2)), 1)
    >>> np.asarray(part + part)
    array([[2., 2.],
           [2., 2.]])
    """
    return _implementation(semirings.get(semiring))


@functools.cache  # cotengra remembers what it compiled for the very functions
def _implementation(ring: Semiring) -> tuple[Callable[..., Summand], Callable[..., Summand]]:
    def summed(*arguments: Any) -> Summand:
        return _summand(einsum(*arguments, semiring=ring), ring)

    def dotted(a: ArrayLike, b: ArrayLike, axes: Any = 2) -> Summand:
        return _summand(tensordot(a, b, axes, semiring=ring), ring)

    return summed, dotted


def _module(ring: Semiring) -> ModuleType:
    """Return the module that opt_einsum imports for a semiring."""
    module = ModuleType(f"{__name__}.{ring.name}", f"{ring} for opt_einsum's ``backend=``.")
    names = {
        "einsum": functools.partial(einsum, semiring=ring),
        "tensordot": functools.partial(tensordot, semiring=ring),
        "transpose": np.transpose,
    }
    vars(module).update(names)
    return module


MODULES = {ring.name: _module(ring) for ring in semirings.ALL}
sys.modules.update({module.__name__: module for module in MODULES.values()})


def __getattr__(name: str) -> ModuleType:
    if name in MODULES:
        return MODULES[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

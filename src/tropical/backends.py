"""Semirings for opt_einsum and cotengra.

``opt_einsum.contract(..., backend="tropical.backends.maxplus")`` imports a module of that name, of
which there is one for each semiring, with ``einsum``, ``tensordot`` and ``transpose``. cotengra
takes `implementation`.
"""

from __future__ import annotations

import functools
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import semirings
from .contraction import einsum

if TYPE_CHECKING:
    from collections.abc import Callable

    from .semirings import Semiring

Array: TypeAlias = NDArray[Any]

__all__ = ["Summand", "implementation", "tensordot"]


def tensordot(a: ArrayLike, b: ArrayLike, axes: Any = 2, *, semiring: str | Semiring) -> Array:
    """Sum products of two arrays over some axes of each, as `numpy.tensordot` over a semiring.

    Parameters
    ----------
    a, b : array_like
        As operands of `tropical.einsum`.
    axes : int or (axes of `a`, axes of `b`), default 2
        Which are summed: the last of `a` with the first of `b`, or those given, each an int or
        a sequence of them.
    semiring : str or Semiring
        What takes the place of + and x.

    Returns
    -------
    ndarray
        With the other axes of `a`, then those of `b`.

    Raises
    ------
    ValueError
        If the axes do not pair, or one is given twice.
    TypeError
        If `axes` is none of these.

    Examples
    --------
    >>> from tropical.backends import tensordot
    >>> tensordot([[0, 2], [1, 5]], [3, 1], 1, semiring="maxplus")
    array([3, 6])
    """
    a, b = np.asarray(a), np.asarray(b)
    if isinstance(axes, (int, np.integer)):
        axes = range(a.ndim - axes, a.ndim), range(axes)
    try:
        ours, theirs = ([x] if isinstance(x, (int, np.integer)) else list(x) for x in axes)
    except (TypeError, ValueError):
        raise TypeError(f"axes: a number, or axes of a and of b are wanted, got {axes!r}") from None
    for name, array, some in (("a", a, ours), ("b", b, theirs)):
        there = all(-array.ndim <= axis < array.ndim for axis in some)
        if not there or len({axis % array.ndim for axis in some}) < len(some):
            raise ValueError(f"axes: {some} are no axes of {name}, of shape {array.shape}")
    if len(ours) != len(theirs):
        raise ValueError(f"axes: {ours} of a and {theirs} of b do not pair")
    left = list(range(a.ndim))
    right = list(range(a.ndim, a.ndim + b.ndim))
    for one, other in zip(ours, theirs, strict=True):
        if a.shape[one] != b.shape[other]:
            raise ValueError(f"axes: shapes {a.shape} and {b.shape} differ along {one} and {other}")
        right[other] = left[one]
    kept = [index for index in (*left, *right) if (index in left) != (index in right)]
    return np.asarray(einsum(a, left, b, right, kept, semiring=semiring))


class Summand(np.ndarray):
    """What contractions by `implementation` give: an array that ``+`` adds over its semiring.

    For so cotengra puts the slices of a tree together. `numpy.asarray` makes it a plain one; until
    then ``+`` takes nothing but another.
    """

    ring: Semiring | None  # None of those that are made otherwise

    def __array_finalize__(self, source: Any) -> None:
        self.ring = getattr(source, "ring", None)

    def __reduce__(self) -> tuple[Any, ...]:
        return _summand, (np.asarray(self), self.ring)

    def __add__(self, other: Any) -> Summand:
        if self.ring is None:
            raise TypeError("+ of a Summand without a semiring, which contractions alone give it")
        if not isinstance(other, Summand) or other.ring != self.ring:
            raise TypeError(
                f"+ adds a result over {self.ring.name} to another such alone, got "
                f"{type(other).__name__} (strip_exponent adds floats, and has no meaning here); "
                "np.asarray makes it a plain array"
            )
        pair = np.stack([np.asarray(self), np.asarray(other)])
        return _summand(einsum("s...->...", pair, semiring=self.ring), self.ring)

    __radd__ = __iadd__ = __add__


def _summand(array: ArrayLike, ring: Semiring | None) -> Summand:
    summand = np.asarray(array).view(Summand)
    summand.ring = ring
    return summand


def implementation(
    semiring: str | Semiring,
) -> tuple[Callable[..., Summand], Callable[..., Summand]]:
    """Return what cotengra takes as ``implementation=`` to contract over a semiring.

    Parameters
    ----------
    semiring : str or Semiring
        What takes the place of + and x.

    Returns
    -------
    einsum, tensordot : callable
        Their results are `Summand`, so that the slices of a sliced tree are added by the semiring
        and not by +. Not to be used are cotengra's ``contract_mpi``, which lets MPI add them, and
        its ``einsum`` of a single operand, which ignores the implementation.

    Examples
    --------
    >>> import numpy as np
    >>> from tropical.backends import implementation
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

"""Convolution of convex curves over minplus, and of concave ones over maxplus, by their slopes.

The infimal convolution of convex functions adds their epigraphs, so the slopes of the result are
the slopes of both curves, sorted: R. T. Rockafellar, "Convex Analysis", 1970, section 5.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tropical import ufunc
from tropical.arrays import Array, is_kind

if TYPE_CHECKING:
    from tropical.semirings import Semiring

GREATEST = 2**61  # differences of integers up to here fit into int64


class Slopes(NamedTuple):
    """The differences of neighbors, (..., n - 1), each the exact sum of two numbers.

    Exact slopes are in the order of the pairs (high, low), as `high` is the rounded slope, and
    rounding keeps the order.
    """

    high: Array
    low: Array

    def never_fall(self) -> bool:
        """Return whether no slope is followed by a smaller one."""
        before, after = self.high[..., :-1], self.high[..., 1:]
        in_order = self.low[..., :-1] <= self.low[..., 1:]
        return bool(((before < after) | ((before == after) & in_order)).all())


def convolution(f: Array, g: Array, start: int, length: int, ring: Semiring) -> Array | None:
    """Return elements start to start + length of the full convolution of f (..., n), g (..., m).

    None unless all curves are finite, and convex for minplus, concave for maxplus.

    The result has the bits of the definition: the slopes are compared exactly, so each element is
    the sum of the two samples whose exact sum is the optimum, and rounding and saturation keep the
    order of sums.
    """
    curves = []
    for x in (f, g):
        slopes = _slopes(x, ring)
        if slopes is None or not slopes.never_fall():
            return None
        curves.append(slopes)
    batch = np.broadcast_shapes(f.shape[:-1], g.shape[:-1])
    high, low = (
        np.concatenate([np.broadcast_to(x, (*batch, x.shape[-1])) for x in pair], axis=-1)
        for pair in zip(*curves, strict=True)
    )
    order = high.argsort(axis=-1, kind="stable")  # two runs in order: this merges them
    merged = Slopes(*(np.take_along_axis(x, order, axis=-1) for x in (high, low)))
    if not merged.never_fall():  # slopes that differ only beyond their first number
        order = np.lexsort((low, high))
    from_f = order < f.shape[-1] - 1
    taken = np.zeros((*batch, order.shape[-1] + 1), np.intp)  # by the first t elements, from f
    np.cumsum(from_f, axis=-1, out=taken[..., 1:])
    t = np.arange(start, start + length)
    s = taken[..., start : start + length]
    left = np.take_along_axis(np.broadcast_to(f, (*batch, f.shape[-1])), s, axis=-1)
    right = np.take_along_axis(np.broadcast_to(g, (*batch, g.shape[-1])), t - s, axis=-1)
    return getattr(ufunc, f"{ring.name}_multiply")(left, right)


def _slopes(x: Array, ring: Semiring) -> Slopes | None:
    """Return the slopes of curves, negated for maxplus; None where they would not be exact."""
    if is_kind(x.dtype, "integer"):
        if (x == ring.zero(x.dtype)).any() or max(-int(x.min()), int(x.max())) > GREATEST:
            return None
        whole: Array = np.diff(x.astype(np.int64)) * -ring.direction
        return Slopes(whole, np.zeros_like(whole))
    wide = x.astype(np.float64) * -ring.direction
    after, before = wide[..., 1:], -wide[..., :-1]
    # The sum of two floats and what its rounding loses, both exact: D. E. Knuth, "The Art of
    # Computer Programming", volume 2, section 4.2.2, theorem B.
    with np.errstate(all="ignore"):
        high = after + before
        part = high - after
        low = (after - (high - part)) + (before - part)
    return Slopes(high, low) if np.isfinite(high).all() and np.isfinite(low).all() else None

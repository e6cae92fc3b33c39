"""A round of Floyd and Warshall's algorithm by blocks that keep predecessors.

A path counts only where it is better than the known one, and of equal new paths the first counts:
see `star_with_predecessors`, whose steps these are. With ties, the rows of a round must take its
paths in the order of the loops. So a block of the row takes them beside the block of the diagonal
as that was before the round.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tropical import _core

from ..predecessors import edge_predecessors, take_paths_within
from ..star import check_divergence

if TYPE_CHECKING:
    from tropical.arrays import Array
    from tropical.semirings import Semiring

    from .panels import Block


def begin(a: Array, first: tuple[int, int], ring: Semiring) -> Block:
    """Return a block of edges, with one on the matrix's diagonal, and its predecessors.

    `first` is the first row and the first column of the block.
    """
    if first[0] == first[1]:
        i = np.arange(len(a))
        a[i, i] = ring.add_ufunc(a[i, i], ring.one(a.dtype))
    return [a, edge_predecessors(a, ring, first)]


def take(a: Block, left: Block, right: Block, ring: Semiring) -> tuple[Block, Block]:
    """Do as `panels.take` for a block with predecessors.

    Raises
    ------
    DivergenceError
        If a cycle within the paths so far improves with every round.
    """
    values, before = a
    if left and right:
        _core.relax(left[0], right[0], ring, values, before, right[1])
        return [], []
    if left:
        both = [np.hstack((corner, own)) for corner, own in zip(left, a, strict=True)]
        take_paths_within(both[0], both[1], ring, (0, len(values)))
        for own, new in zip(a, both, strict=True):
            own[...] = new[:, len(values) :]
        return [], a
    earlier = [values.copy(), before.copy()]
    if right:
        _core.relax(earlier[0], right[0], ring, values, before, right[1])
        return earlier[:1], []
    take_paths_within(values, before, ring, (0, len(values)))
    check_divergence(values, ring, "store")
    return earlier, a

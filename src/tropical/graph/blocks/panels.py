"""A round of Floyd and Warshall's algorithm by blocks: what it does to each kind of block.

Round k adds the paths through the vertices of block k. `closure` does the same in steps of at most
512 vertices. A round takes the steps of its vertices one after the other on the blocks of its row
and of its column, and keeps what the steps multiply: `left`, columns before their own step, and
`right`, rows after it. All other blocks then take all steps of the round in one product of `left`
and `right`. Each element so gets the same candidates as in `closure`, to the bit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from tropical import _core
from tropical.arrays import Array

from ..star import add_product, check_divergence, cut

if TYPE_CHECKING:
    from tropical.semirings import Semiring

# The elements of a block; where they are kept, the predecessors. Nothing stands for no block.
Block: TypeAlias = list[Array]


def take(a: Block, left: Block, right: Block, ring: Semiring, step: int) -> tuple[Block, Block]:
    """Let a block take a round, in place; return what the round's products need of the block.

    `left` and `right` are those of the round's column and row. A block of that column has no `left`
    and one of that row no `right`, as it makes them.
    """
    (values,) = a
    if left and right:
        add_product(values, left[0], right[0], ring)
        return [], []
    if left:
        return [], [take_rows(values, left[0], ring, step)]
    if right:
        return [take_columns(values, right[0], ring, step)], []
    made_left, made_right = close_diagonal(values, ring, step)
    return [made_left], [made_right]


def close_diagonal(a: Array, ring: Semiring, step: int) -> tuple[Array, Array]:
    """Replace a block of the diagonal by its star; return its `left` and `right`.

    Raises
    ------
    DivergenceError
        If a cycle within the paths so far improves with every round.
    """
    left, right = np.empty_like(a), np.empty_like(a)
    steps = cut(len(a), step)
    for own in steps:
        corner = a[own, own]
        if not _core.star(corner, ring):
            check_divergence(corner, ring, "store")
        others = [other for other in steps if other != own]
        for columns in others:
            panel = a[own, columns]
            add_product(panel, corner, panel.copy(), ring)
        left[:, own], right[own] = a[:, own], a[own]
        for rows in others:
            add_product(a[rows], left[rows, own], right[own], ring)
    return left, right


def take_rows(a: Array, left: Array, ring: Semiring, step: int) -> Array:
    """Let a block of the round's row take the round; return its `right`.

    `left` is that of the block of the diagonal.
    """
    right = np.empty_like(a)
    steps = cut(len(a), step)
    for own in steps:
        add_product(a[own], left[own, own], a[own].copy(), ring)
        right[own] = a[own]
        for rows in steps:
            if rows != own:
                add_product(a[rows], left[rows, own], right[own], ring)
    return right


def take_columns(a: Array, right: Array, ring: Semiring, step: int) -> Array:
    """Let a block of the round's column take the round; return its `left`.

    `right` is that of the block of the diagonal.
    """
    left = np.empty_like(a)
    for own in cut(a.shape[1], step):
        left[:, own] = a[:, own]
        add_product(a, left[:, own], right[own], ring)
    return left

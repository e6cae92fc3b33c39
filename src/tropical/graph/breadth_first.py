"""Lengths of shortest paths where every edge has the weight 1: levels of a search, on packed bits.

One search goes out from 64 W sources at once. Each vertex has a row of 64 W bits, which say from
which sources the search has reached the vertex. A level is an or of rows along the edges.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from tropical.arrays import Array

    from .edges import Edges
    from .progress import Report

Bits = NDArray[np.uint64]
WORDS = 1 << 21  # of 64 bits that one level moves along the edges
# Measured: a level takes 15 ns for each word and edge, and Dijkstra's search, if all weights are 1,
# 4 ns for each vertex and edge. So 64 searches take as long as 17 (1 + n / m) levels of one word.
LEVELS = 17
# How much faster than Dijkstra's search among other weights the search of some thousand sources of
# few levels is, and Dijkstra's among weights of 1.
GAIN, GAIN_OF_ONES = 8, 3


def fits(edges: Edges) -> bool:
    """Return whether all weights are 1."""
    return bool((edges.weight == 1).all())


def lengths(edges: Edges, sources: NDArray[np.intp], report: Report) -> Array | None:
    """Return the lengths of shortest paths (s, n) from sources (s,), or None if this does not pay.

    Many levels do not pay, which 64 sources tell, and fewer sources do not.
    """
    levels = min(int(LEVELS * (1 + edges.n / max(len(edges.weight), 1))), 1 << 15)
    if len(sources) < 64:
        return None
    order = np.argsort(edges.target, kind="stable")
    target = edges.target[order]
    first = np.flatnonzero(np.diff(target, prepend=-1))  # edge into each vertex that has any
    ways = edges.source[order], first, target[first]
    found = np.empty((len(sources), edges.n), edges.dtype)
    step = 64 * max(WORDS // max(len(order), 1), 1)
    for start, end in itertools.pairwise((0, *range(64, len(sources), step), len(sources))):
        count = _search(edges.n, ways, sources[start:end], levels)
        if count is None:
            return None
        found[start:end] = count.T
        report(end / len(sources))
    return found


def _search(
    n: int, ways: tuple[Array, Array, Array], sources: NDArray[np.intp], levels: int
) -> Array | None:
    """Return the level (n, s) at which each source reaches each vertex, inf for never."""
    source, first, target = ways
    reached = np.zeros((n, -(-len(sources) // 64)), np.uint64)
    column = np.arange(len(sources))
    np.bitwise_or.at(
        reached, (sources, column // 64), np.uint64(1) << (column % 64).astype(np.uint64)
    )
    frontier = reached.copy()
    planes: list[Bits] = []  # the bits of the numbers of levels
    for level in range(1, levels + 1):
        new = np.bitwise_or.reduceat(frontier[source], first, axis=0) if len(source) else None
        if new is None or not (new := new & ~reached[target]).any():
            return _numbers(planes, reached, len(sources))
        reached[target] |= new
        frontier[...] = 0
        frontier[target] = new
        while level >> len(planes):
            planes.append(np.zeros_like(reached))
        for bit, plane in enumerate(planes):
            if level >> bit & 1:
                plane[target] |= new
    return None


def _numbers(planes: list[Bits], reached: Bits, count: int) -> Array:
    """Return numbers (n, count) of which `planes` hold the bits; inf where not reached."""
    numbers = np.zeros((len(reached), count), np.float32)  # exact: fewer than 2 ** 24 levels
    for bit, plane in enumerate(planes):
        numbers += _unpacked(plane, count) * np.float32(1 << bit)
    numbers[_unpacked(reached, count) == 0] = np.inf
    return numbers


def _unpacked(rows: Bits, count: int) -> NDArray[np.uint8]:
    """Return the bits (n, count) of rows of words."""
    if np.little_endian:
        return np.unpackbits(rows.view(np.uint8), axis=1, count=count, bitorder="little")
    return np.unpackbits(rows.byteswap().view(np.uint8), axis=1, count=count, bitorder="little")

"""Karp's formula for the maximum cycle mean, exact in whole numbers."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

import tropical
from tropical import semirings
from tropical.arrays import Array
from tropical.graph.cycles import least_first
from tropical.graph.edges import dense_of

if TYPE_CHECKING:
    from tropical.graph.edges import Edges


def karp(edges: Edges) -> tuple[int, list[int], Array]:
    """Return the results of `howard.howard`; weights are int64.

    With D[k] the greatest weights of walks of k edges that end in each vertex, the mean is
    ``max_v min_{k < n} (D[n, v] - D[k, v]) / (n - k)``: R. M. Karp, "A characterization of the
    minimum cycle mean in a digraph", Discrete Mathematics 23, 1978. Karp's walks begin in one
    vertex. The formula also holds for walks from any vertex: put one vertex before all others.

    n products of a vector and the matrix: n^3 operations, n^2 numbers of memory.
    """
    n, a = edges.n, dense_of(edges, semirings.maxplus)
    walks = np.zeros((n + 1, n), np.int64)
    for k in range(n):
        tropical.gemm(walks[k], a, out=walks[k + 1])
    cycle = _cycle(a, walks, _best_vertex(walks))
    p, q = sum(a[arc].item() for arc in pairwise([*cycle, cycle[0]])), len(cycle)
    return p, cycle, -(q * walks[:n] - p * np.arange(n)[:, None]).max(axis=0)


def _best_vertex(walks: Array) -> int:
    """Return the vertex at which Karp's formula has its maximum."""
    n = len(walks) - 1
    least, length = walks[n] - walks[0], np.full(n, n)
    for k in range(1, n):
        weight = walks[n] - walks[k]
        less = weight * length < least * (n - k)
        least, length = np.where(less, weight, least), np.where(less, n - k, length)
    means = [Fraction(p, q) for p, q in zip(least.tolist(), length.tolist(), strict=True)]
    return means.index(max(means))


def _cycle(a: Array, walks: Array, vertex: int) -> list[int]:
    """Return a cycle of the best walk of n edges to the best vertex.

    Each cycle of that walk has the greatest mean. Proof: subtract the greatest mean from all
    weights. Then no cycle is above 0, and the walk is as good as any shorter walk to the vertex. So
    a walk without one of its cycles is no better.
    """
    walk = [vertex]
    for k in range(len(walks) - 1, 0, -1):
        before = np.flatnonzero(a[:, vertex] != semirings.maxplus.zero(np.int64))
        attains = walks[k - 1, before] + a[before, vertex] == walks[k, vertex]
        vertex = int(before[attains.argmax()])
        if vertex in walk:
            break
        walk.append(vertex)
    return least_first(walk[walk.index(vertex) :][::-1])

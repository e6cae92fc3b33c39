"""Karp's formula for the maximum cycle mean, exact in whole numbers."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import numpy as np

import tropical
from tropical import semirings

from .operands import Arcs, Array


def karp(n: int, arcs: Arcs) -> tuple[int, list[int], Array]:
    """Return what `howard.howard` does; weights are int64.

    With D[k] the greatest weights of walks of k arcs that end in each vertex, the mean is
    ``max_v min_{k < n} (D[n, v] - D[k, v]) / (n - k)``: R. M. Karp, "A characterization of the
    minimum cycle mean in a digraph", Discrete Mathematics 23, 1978. His walks begin in one vertex;
    with any beginning the formula holds too, by a vertex put before all others.

    n products of a vector and the matrix: n^3 operations, n^2 numbers of memory.
    """
    a = np.full((n, n), semirings.maxplus.zero(np.int64), np.int64)
    a[arcs.tails, arcs.heads] = arcs.weights
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
    """Return a cycle of the best walk of n arcs to the best vertex.

    Each of its cycles has the greatest mean. Subtract that from all weights: no cycle is above 0,
    and the walk is as good as any shorter one to the vertex, so cutting a cycle out gains nothing.
    """
    walk = [vertex]
    for k in range(len(walks) - 1, 0, -1):
        before = np.flatnonzero(a[:, vertex] != semirings.maxplus.zero(np.int64))
        attains = walks[k - 1, before] + a[before, vertex] == walks[k, vertex]
        vertex = int(before[attains.argmax()])
        if vertex in walk:
            break
        walk.append(vertex)
    cycle = walk[walk.index(vertex) :][::-1]
    least = cycle.index(min(cycle))
    return cycle[least:] + cycle[:least]

"""Howard's policy iteration for the maximum cycle mean, exact in whole numbers."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .operands import Arcs, Array


def howard(n: int, arcs: Arcs) -> tuple[int, list[int], Array]:
    """Return a cycle of the greatest mean in a strongly connected graph: weight, vertices, proof.

    With p its weight and q its length, the third, v (n,), shows that no cycle is better:
    ``q * weight - p + v[head] - v[tail] <= 0`` for all arcs, so on any cycle the mean is at most
    p / q.

    Weights are whole, of int64 or Python's integers; no number here exceeds ``5 n^2 max|weight|``.

    A policy chooses one arc out of each vertex. It is improved until it cannot be: each round
    raises the mean of its best cycle or, with that cycle kept, the weight of some vertex' path
    to it. J. Cochet-Terrasson, G. Cohen, S. Gaubert, M. McGettrick and J.-P. Quadrat, "Numerical
    computation of spectral elements in max-plus algebra", IFAC Conference on System Structure and
    Control, 1998, section 4. There each cycle of a policy keeps its own mean; as the graph is
    strongly connected, here all vertices are led to the best one.
    """
    starts = np.searchsorted(arcs.tails, np.arange(n))
    policy = _first(starts, arcs.weights, np.maximum.reduceat(arcs.weights, starts))
    while True:
        cycle = _best_cycle(arcs.heads[policy].tolist(), arcs.weights[policy].tolist())
        policy = _lead_to(cycle, arcs, policy)
        p, q = sum(arcs.weights[policy[cycle]].tolist()), len(cycle)
        values = _values(cycle[0], arcs.heads[policy], q * arcs.weights[policy] - p)
        gains = q * arcs.weights
        gains += values[arcs.heads]
        best = np.maximum.reduceat(gains, starts)
        better = best > values + p
        if not better.any():
            return p, cycle, values
        policy = np.where(better, _first(starts, gains, best), policy)


def _first(starts: NDArray[np.intp], gains: Array, best: Array) -> NDArray[np.intp]:
    """Return the first arc out of each vertex whose gain is the best one, (n,)."""
    attaining = np.flatnonzero(gains == np.repeat(best, np.diff(starts, append=len(gains))))
    return attaining[np.searchsorted(attaining, starts)]


def _best_cycle(successors: list[int], weights: list[int]) -> list[int]:
    """Return the best cycle of a graph with one arc out of each vertex, least vertex first."""
    found: list[int] = []
    p, q = 0, 0
    seen = [-1] * len(successors)  # by the walk from which vertex
    for start in range(len(successors)):
        walk, vertex = [], start
        while seen[vertex] < 0:
            seen[vertex] = start
            walk.append(vertex)
            vertex = successors[vertex]
        if seen[vertex] == start:
            cycle = walk[walk.index(vertex) :]
            weight = sum(weights[i] for i in cycle)
            if q == 0 or weight * q > p * len(cycle):
                found, p, q = cycle, weight, len(cycle)
    least = found.index(min(found))
    return found[least:] + found[:least]


def _lead_to(cycle: list[int], arcs: Arcs, policy: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return the policy, changed where it does not lead to the cycle so that it does."""
    n = len(policy)
    reached = np.zeros(n, np.bool_)
    reached[cycle] = True
    ends = arcs.heads[policy]
    for _ in range(n.bit_length()):
        ends = ends[ends]
    reached = reached[ends]
    policy = policy.copy()
    open_arcs = np.flatnonzero(~reached[arcs.tails]) if not reached.all() else ends[:0]
    while open_arcs.size:
        leading = open_arcs[reached[arcs.heads[open_arcs]]]
        policy[arcs.tails[leading]] = leading
        reached[arcs.tails[leading]] = True
        open_arcs = open_arcs[~reached[arcs.tails[open_arcs]]]
    return policy


def _values(root: int, successors: NDArray[np.intp], weights: Array) -> Array:
    """Return the weight of each vertex' path to the root, by doubling its number of arcs."""
    successors, weights = successors.copy(), weights.copy()
    successors[root], weights[root] = root, 0
    for _ in range(len(successors).bit_length()):
        weights = weights + weights[successors]
        successors = successors[successors]
    return weights

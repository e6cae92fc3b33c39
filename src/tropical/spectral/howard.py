"""Howard's policy iteration for the maximum cycle mean, exact in whole numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tropical.arrays import Array
from tropical.graph.cycles import functional_cycles, least_first

if TYPE_CHECKING:
    from tropical.graph.edges import Edges


def howard(edges: Edges) -> tuple[int, list[int], Array]:
    """Return a cycle of the greatest mean in a strongly connected graph: weight, vertices, proof.

    Sources ascend. With p the weight of the cycle and q its length, the third result, v (n,), shows
    that no cycle is better: ``q * weight - p + v[target] - v[source] <= 0`` for all edges, so the
    mean of any cycle is at most p / q.

    Weights are whole, of int64 or Python's integers; no number here exceeds ``5 n^2 max|weight|``.

    A policy chooses one edge out of each vertex. The policy is improved until no improvement is
    left: each round raises the mean of the policy's best cycle, or keeps that cycle and raises the
    weight of some vertex' path to the cycle. J. Cochet-Terrasson, G. Cohen, S. Gaubert,
    M. McGettrick and J.-P. Quadrat, "Numerical computation of spectral elements in max-plus
    algebra", IFAC Conference on System Structure and Control, 1998, section 4. There each cycle of
    a policy keeps its own mean; here all vertices are led to the best cycle, as the graph is
    strongly connected.
    """
    starts = np.searchsorted(edges.source, np.arange(edges.n))
    policy = _first(starts, edges.weight, np.maximum.reduceat(edges.weight, starts))
    while True:
        cycle = _best_cycle(edges.target[policy].tolist(), edges.weight[policy].tolist())
        policy = _lead_to(cycle, edges, policy)
        p, q = sum(edges.weight[policy[cycle]].tolist()), len(cycle)
        values = _values(cycle[0], edges.target[policy], q * edges.weight[policy] - p)
        gains = q * edges.weight
        gains += values[edges.target]
        best = np.maximum.reduceat(gains, starts)
        better = best > values + p
        if not better.any():
            return p, cycle, values
        policy = np.where(better, _first(starts, gains, best), policy)


def _first(starts: NDArray[np.intp], gains: Array, best: Array) -> NDArray[np.intp]:
    """Return the first edge out of each vertex whose gain is the best one, (n,)."""
    attaining = np.flatnonzero(gains == np.repeat(best, np.diff(starts, append=len(gains))))
    return attaining[np.searchsorted(attaining, starts)]


def _best_cycle(successors: list[int], weights: list[int]) -> list[int]:
    """Return the best cycle of a graph with one edge out of each vertex, least vertex first."""
    found: list[int] = []
    p, q = 0, 0
    for cycle in functional_cycles(successors):
        weight = sum(weights[i] for i in cycle)
        if q == 0 or weight * q > p * len(cycle):
            found, p, q = cycle, weight, len(cycle)
    return least_first(found)


def _lead_to(cycle: list[int], edges: Edges, policy: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return the policy, changed where it does not lead to the cycle so that it does."""
    n = len(policy)
    reached = np.zeros(n, np.bool_)
    reached[cycle] = True
    ends = edges.target[policy]
    for _ in range(n.bit_length()):
        ends = ends[ends]
    reached = reached[ends]
    policy = policy.copy()
    unused = np.flatnonzero(~reached[edges.source]) if not reached.all() else ends[:0]
    while unused.size:
        leading = unused[reached[edges.target[unused]]]
        policy[edges.source[leading]] = leading
        reached[edges.source[leading]] = True
        unused = unused[~reached[edges.source[unused]]]
    return policy


def _values(root: int, successors: NDArray[np.intp], weights: Array) -> Array:
    """Return the weight of each vertex' path to the root, by doubling the number of edges."""
    successors, weights = successors.copy(), weights.copy()
    successors[root], weights[root] = root, 0
    for _ in range(len(successors).bit_length()):
        weights = weights + weights[successors]
        successors = successors[successors]
    return weights

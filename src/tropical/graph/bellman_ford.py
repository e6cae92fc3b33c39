"""Bellman and Ford's method: potentials for negative weights, or a cycle of negative weight."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tropical.arrays import Array

from .cycles import NegativeCycleError, cycles_of_predecessors, name_of, show, weight_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from .edges import Edges


def potentials(edges: Edges, item: tuple[int, ...] = ()) -> NDArray[np.float64]:
    """Return h (n,), at most 0, with ``h[j] <= h[i] + w[i, j]`` for every edge, but for rounding.

    h[j] is the length of the shortest path to j from a vertex that has an edge of weight 0 to every
    other vertex.

    Parameters
    ----------
    edges : Edges
        Of any dtype; sums are those of float64.
    item : tuple of int, optional
        The position of the graph in a batch, for the message of an error.

    Raises
    ------
    NegativeCycleError
        If there is a cycle of negative weight, computed as the exact sum.
    ValueError
        If sums of negative weights overflow.

    Notes
    -----
    If the distances stop falling, there is no such cycle. If there is one, the edges by which the
    distances last fell form it sooner or later, mostly within a few rounds. So these edges are
    searched after 1, 2, 4, ... rounds (B. V. Cherkassky and A. V. Goldberg, "Negative-cycle
    detection algorithms", Mathematical Programming 85, 1999). Distances that go on falling without
    such a cycle fall by rounding.
    """
    advance = _round(edges)
    distance = np.zeros(edges.n)
    before = np.full(edges.n, -1, np.intp)
    for done in range(1, 2 * edges.n + 3):
        further, parent = advance(distance)
        falls = further < distance
        if not falls.any():
            break
        distance = np.where(falls, further, distance)
        before = np.where(falls, parent, before)
        if done & (done - 1) == 0 or done > 2 * edges.n:
            for cycle in cycles_of_predecessors(before):
                weight = weight_of(edges, cycle)
                if weight < 0:
                    message = f"{name_of(item)}: has a cycle of weight {weight:g}: {show(cycle)}"
                    raise NegativeCycleError(message, cycle, weight)
    if np.isinf(distance).any():
        raise ValueError(f"{name_of(item)}: sums of its negative weights overflow float64")
    return distance


def _round(edges: Edges) -> Callable[[Array], tuple[Array, NDArray[np.intp]]]:
    """Return the function that computes one round.

    The function takes distances and returns the distances over one more edge, +inf for a vertex
    that no edge enters, and the source of that edge, -1 if there is none.
    """
    order = np.argsort(edges.target, kind="stable")
    source, target = edges.source[order], edges.target[order]
    weight = edges.weight[order].astype(np.float64, copy=False)
    reached, start, count = np.unique(target, return_index=True, return_counts=True)

    def advance(distance: Array) -> tuple[Array, NDArray[np.intp]]:
        with np.errstate(over="ignore"):
            length = distance[source] + weight
        further = np.full(edges.n, np.inf)
        before = np.full(edges.n, -1, np.intp)
        if len(start):
            least = np.minimum.reduceat(length, start)
            further[reached] = least
            attained = np.flatnonzero(length == np.repeat(least, count))
            before[target[attained]] = source[attained]
        return further, before

    return advance

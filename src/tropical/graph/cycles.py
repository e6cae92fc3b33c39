"""Cycles that stand in the way of best paths: errors that carry them, and how they are found."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tropical import _core

from .inputs import Edges
from .star import DivergenceError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

Array: TypeAlias = NDArray[Any]
# Distances and, for each vertex, the one before it: what one round makes of distances.
Round: TypeAlias = "Callable[[Array], tuple[Array, NDArray[np.intp]]]"


class CycleError(DivergenceError):
    """A graph has a cycle where there must be none.

    Attributes
    ----------
    cycle : list of int
        Its vertices, each once: an edge leads from each to the next, and from the last to the
        first.
    weight : float
        The sum of its edges.
    """

    def __init__(self, message: str, cycle: Sequence[int], weight: float) -> None:
        super().__init__(message)
        self.cycle = list(cycle)
        self.weight = weight

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (str(self), self.cycle, self.weight)


class NegativeCycleError(CycleError):
    """A graph has a cycle of negative weight: going round it once more is always shorter."""


def potentials(graph: Array | Edges, item: tuple[int, ...] = ()) -> Array:
    """Return h (n,), at most 0, with h[j] <= h[i] + w[i, j] for every edge.

    Bellman and Ford's method from a vertex with an edge of weight 0 to every other.

    Parameters
    ----------
    graph : (n, n) array or Edges
        Without a NaN; no edge is minplus' zero.
    item : tuple of int, optional
        Which graph of a batch it is, for the error.

    Raises
    ------
    NegativeCycleError
        If there is a cycle of negative weight.

    Notes
    -----
    Where the distances stop falling, there is no such cycle. Where there is one, the edges by which
    they last fell close it sooner or later, mostly within a few rounds, so they are looked at after
    1, 2, 4, ... rounds (B. V. Cherkassky and A. V. Goldberg, "Negative-cycle detection algorithms",
    Mathematical Programming 85, 1999).
    """
    n = graph.n if isinstance(graph, Edges) else len(graph)
    advance = _edge_round(graph) if isinstance(graph, Edges) else _dense_round(graph)
    distance = np.zeros(n, graph.dtype)
    before = np.full(n, -1, np.intp)
    doubtful = None
    for done in range(1, 2 * n + 3):
        further, parent = advance(distance)
        falls = further < distance
        if not falls.any():
            return distance
        distance = np.where(falls, further, distance)
        before = np.where(falls, parent, before)
        if done & (done - 1) == 0 or done >= n:
            for cycle in _cycles(before):
                weight = _weight(graph, cycle)
                if weight < 0:
                    raise _negative(cycle, weight, item)
                doubtful = cycle, weight
    # Sums of floats that went on falling by less than their rounding.
    raise _negative(*(doubtful or ([], 0.0)), item)


def _negative(cycle: Sequence[int], weight: float, item: tuple[int, ...]) -> NegativeCycleError:
    which = f"w[{', '.join(map(str, item))}]" if item else "w"
    return NegativeCycleError(
        f"{which}: has a cycle of weight {weight:g}: {show(cycle)}", cycle, weight
    )


def show(cycle: Sequence[int]) -> str:
    """Return a cycle as text, without its middle if it is long.

    Examples
    --------
    >>> from tropical.graph.cycles import show
    >>> show([3, 1])
    '3 -> 1 -> 3'
    """
    stops = [str(vertex) for vertex in [*cycle, *cycle[:1]]]
    if len(stops) > 12:
        stops[6:-5] = [f"({len(stops) - 11} more)"]
    return " -> ".join(stops)


def _dense_round(w: Array) -> Round:
    def advance(distance: Array) -> tuple[Array, NDArray[np.intp]]:
        further, before = _core.gemm(distance[None], w, semiring="minplus", return_argmax=True)
        return further[0], before[0]

    return advance


def _edge_round(edges: Edges) -> Round:
    order = np.argsort(edges.target, kind="stable")
    source, target, weight = edges.source[order], edges.target[order], edges.weight[order]
    reached, start, count = np.unique(target, return_index=True, return_counts=True)

    def advance(distance: Array) -> tuple[Array, NDArray[np.intp]]:
        length = distance[source] + weight
        further = np.full_like(distance, np.inf)
        before = np.full(len(distance), -1, np.intp)
        if len(start):
            least = np.minimum.reduceat(length, start)
            further[reached] = least
            attained = np.flatnonzero(length == np.repeat(least, count))
            before[target[attained]] = source[attained]
        return further, before

    return advance


def _cycles(before: NDArray[np.intp]) -> list[list[int]]:
    """Return the cycles of the graph in which each vertex has at most one before it."""
    parent = before.tolist()
    mark = [-1] * len(parent)
    found = []
    for first in range(len(parent)):
        vertex = first
        while vertex >= 0 and mark[vertex] < 0:
            mark[vertex] = first
            vertex = parent[vertex]
        if vertex >= 0 and mark[vertex] == first:
            cycle = [vertex]
            while parent[cycle[-1]] != vertex:
                cycle.append(parent[cycle[-1]])
            found.append(cycle[::-1])
    return found


def _weight(graph: Array | Edges, cycle: Sequence[int]) -> float:
    """Return the sum of a cycle's edges, rounded once."""
    weights = []
    for i, j in zip(cycle, [*cycle[1:], cycle[0]], strict=True):
        if isinstance(graph, Edges):
            weights.append(graph.weight[(graph.source == i) & (graph.target == j)].min().item())
        else:
            weights.append(graph[i, j].item())
    return sum(weights) if isinstance(weights[0], int) else math.fsum(weights)

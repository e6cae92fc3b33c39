"""Cycles that stand in the way of best paths: errors that carry them, and how they are found."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from .inputs import Edges
from .reach import transitive_closure
from .star import DivergenceError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tropical.semirings import Semiring

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


def potentials(edges: Edges, item: tuple[int, ...] = ()) -> NDArray[np.float64]:
    """Return h (n,), at most 0, with ``h[j] <= h[i] + w[i, j]`` for every edge, but for rounding.

    Bellman and Ford's method from a vertex with an edge of weight 0 to every other.

    Parameters
    ----------
    edges : Edges
        Of any dtype; sums are those of float64.
    item : tuple of int, optional
        Which graph of a batch it is, for the error.

    Raises
    ------
    NegativeCycleError
        If there is a cycle of negative weight, that of exact sums.
    ValueError
        If sums of negative weights overflow.

    Notes
    -----
    Where the distances stop falling, there is no such cycle. Where there is one, the edges by which
    they last fell close it sooner or later, mostly within a few rounds, so they are looked at after
    1, 2, 4, ... rounds (B. V. Cherkassky and A. V. Goldberg, "Negative-cycle detection algorithms",
    Mathematical Programming 85, 1999). Distances that go on falling without one fall by rounding.
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
            for cycle in _cycles(before):
                weight = _weight(edges, cycle)
                if weight < 0:
                    raise _negative(cycle, weight, item)
    if np.isinf(distance).any():
        raise ValueError(f"{_which(item)}: sums of its negative weights overflow float64")
    return distance


def _negative(cycle: Sequence[int], weight: float, item: tuple[int, ...]) -> NegativeCycleError:
    return NegativeCycleError(
        f"{_which(item)}: has a cycle of weight {weight:g}: {show(cycle)}", cycle, weight
    )


def _which(item: tuple[int, ...]) -> str:
    return f"w[{', '.join(map(str, item))}]" if item else "w"


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


def _round(edges: Edges) -> Round:
    """Return what makes of distances those over one more edge, and the vertices before."""
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


def _weight(edges: Edges, cycle: Sequence[int]) -> float:
    """Return the sum of a cycle's edges, rounded once."""
    weights = [
        edges.weight[(edges.source == i) & (edges.target == j)].min().item()
        for i, j in zip(cycle, [*cycle[1:], cycle[0]], strict=True)
    ]
    if edges.dtype.kind == "i":
        total: float = sum(weights)
        return total
    try:
        return math.fsum(weights)
    except OverflowError:  # of a sum on the way
        return math.fsum(weight / 2**64 for weight in weights) * 2.0**64


def refuse_cycles(w: Array, ring: Semiring) -> None:
    """Raise CycleError, with a cycle, if any of the graphs (..., n, n) has one."""
    there = w != ring.zero(w.dtype)
    cyclic = np.diagonal(transitive_closure(there), axis1=-2, axis2=-1)
    if not cyclic.any():
        return
    item = tuple(int(i) for i in np.argwhere(cyclic.any(axis=-1))[0])
    on = cyclic[item]
    # Before a vertex on a cycle there is another: going back from one ends in a cycle.
    source, target = np.nonzero(there[item] & on[:, None] & on)
    before = np.full(len(on), -1, np.intp)
    before[target] = source
    cycle = _cycles(before)[0]
    weight = _weight(Edges(len(on), source, target, w[item][source, target]), cycle)
    raise CycleError(
        f"{_which(item)}: has the cycle {show(cycle)}; longest paths want a graph without one",
        cycle,
        weight,
    )

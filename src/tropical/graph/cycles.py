"""Cycles that leave a graph without best paths: errors that carry a cycle, and how to find one."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tropical.arrays import Array, is_kind

from .edges import Edges
from .reached import transitive_closure
from .star import DivergenceError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tropical.semirings import Semiring


class CycleError(DivergenceError):
    """A graph has a cycle where it must have none.

    Attributes
    ----------
    cycle : list of int
        The vertices of the cycle, each once: an edge leads from each vertex to the next, and from
        the last vertex to the first.
    weight : float
        The sum of the cycle's edges.
    """

    def __init__(self, message: str, cycle: Sequence[int], weight: float) -> None:
        super().__init__(message)
        self.cycle: list[int] = list(cycle)
        self.weight = weight

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (str(self), self.cycle, self.weight)


class NegativeCycleError(CycleError):
    """A graph has a cycle of negative weight: one more round is always shorter."""


def name_of(item: tuple[int, ...]) -> str:
    """Return the name of one graph of a batch `w`, such as ``w[1, 2]``."""
    return f"w[{', '.join(map(str, item))}]" if item else "w"


def show(cycle: Sequence[int]) -> str:
    """Return a cycle as text, a long one without its middle.

    Examples
    --------
    >>> from tropical.graph.cycles import show
    >>> show([3, 1])
    '3 -> 1 -> 3'
    """
    vertices = [str(vertex) for vertex in [*cycle, *cycle[:1]]]
    if len(vertices) > 12:
        vertices[6:-5] = [f"({len(vertices) - 11} more)"]
    return " -> ".join(vertices)


def functional_cycles(successors: Sequence[int]) -> list[list[int]]:
    """Return the cycles of a graph in which each vertex has one successor, or -1 for none.

    Examples
    --------
    >>> from tropical.graph.cycles import functional_cycles
    >>> functional_cycles([1, 2, 1, -1, 4])
    [[1, 2], [4]]
    """
    walk_of = [-1] * len(successors)  # the first vertex of the walk that passed each vertex
    found = []
    for first in range(len(successors)):
        walk, vertex = [], first
        while vertex >= 0 and walk_of[vertex] < 0:
            walk_of[vertex] = first
            walk.append(vertex)
            vertex = successors[vertex]
        if vertex >= 0 and walk_of[vertex] == first:
            found.append(walk[walk.index(vertex) :])
    return found


def least_first(cycle: list[int]) -> list[int]:
    """Return a cycle from its least vertex on.

    Examples
    --------
    >>> from tropical.graph.cycles import least_first
    >>> least_first([3, 1, 2])
    [1, 2, 3]
    """
    least = cycle.index(min(cycle))
    return cycle[least:] + cycle[:least]


def cycles_of_predecessors(before: NDArray[np.intp]) -> list[list[int]]:
    """Return the cycles of a graph in which `before` is the vertex before each one, -1 if none."""
    return [cycle[::-1] for cycle in functional_cycles(before.tolist())]


def weight_of(edges: Edges, cycle: Sequence[int]) -> float:
    """Return the sum of a cycle's edges, rounded once."""
    following = np.full(edges.n, -1)
    following[cycle] = [*cycle[1:], cycle[0]]
    own = edges.where(following[edges.source] == edges.target)
    least = own.where(np.lexsort((own.weight, own.source)))  # the first edge of each vertex
    weights = least.weight[np.unique(least.source, return_index=True)[1]].tolist()
    if is_kind(edges.dtype, "integer"):
        return sum(weights)
    try:
        return math.fsum(weights)
    except OverflowError:  # of an intermediate sum
        return math.fsum(weight / 2**64 for weight in weights) * 2.0**64


def refuse_cycles(w: Array, ring: Semiring) -> None:
    """Raise CycleError, with a cycle, if any of the graphs (..., n, n) has a cycle."""
    there = w != ring.zero(w.dtype)
    cyclic = np.diagonal(transitive_closure(there), axis1=-2, axis2=-1)
    if not cyclic.any():
        return
    item = tuple(int(i) for i in np.argwhere(cyclic.any(axis=-1))[0])
    on = cyclic[item]
    # A vertex on a cycle has a predecessor on a cycle: walking back always ends in a cycle.
    source, target = np.nonzero(there[item] & on[:, None] & on)
    raise cycle_error(Edges(len(on), source, target, w[item][source, target]), item)


def cycle_error(edges: Edges, item: tuple[int, ...] = ()) -> CycleError:
    """Return the error for a graph with a cycle; every source of `edges` must be a target."""
    before = np.full(edges.n, -1, np.intp)
    before[edges.target] = edges.source
    cycle = cycles_of_predecessors(before)[0]
    message = f"{name_of(item)}: expected a graph without cycles, got the cycle {show(cycle)}"
    return CycleError(message, cycle, weight_of(edges, cycle))

"""By which method shortest paths are found, and why."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tropical import explain, semirings

from . import search
from .inputs import Edges, read
from .trees import both_ways, rows_of

if TYPE_CHECKING:
    from .inputs import GraphLike

Array: TypeAlias = NDArray[Any]

RING = semirings.minplus

METHODS = {
    "FW": "Floyd and Warshall's algorithm by blocks",
    "D": "SciPy's Dijkstra from every source",
    "J": "Johnson's algorithm, on SciPy's Dijkstra",
}

# Measured; see Decisions. What a closure takes, per byte of its dtype and thread; what Dijkstra's
# search from one source does, per square root of vertices times edges; and what its call costs.
SECONDS_PER_BYTE, SECONDS_PER_STEP, SECONDS_PER_CALL = 4.4e-12, 55e-9, 1e-4


@dataclass(frozen=True)
class Choice:
    """How `shortest_paths` would compute; `explain_shortest_paths` makes it, ``print`` shows it.

    Attributes
    ----------
    method : str
        ``"FW"``, ``"D"`` or ``"J"``.
    n, edges, sources : int
        Vertices, edges, and vertices from which paths are wanted, of all graphs of a batch.
    dtype : str
        Of the lengths.
    reason : str
        Why this method.
    """

    method: str
    n: int
    edges: int
    sources: int
    dtype: str
    reason: str

    def __str__(self) -> str:
        return (
            f"{METHODS[self.method]} ({self.method}), {self.dtype}: {self.reason}\n"
            f"  {self.n:,} vertices, {self.edges:,} edges, paths from {self.sources:,}"
        )


def explain_shortest_paths(
    w: GraphLike,
    method: str = "auto",
    *,
    directed: bool = True,
    return_predecessors: bool = False,
    unweighted: bool = False,
    indices: ArrayLike | None = None,
    weight: str | None = "weight",
) -> Choice:
    """Return how `shortest_paths` would compute these paths, without computing them.

    Parameters
    ----------
    w, method, directed, return_predecessors, unweighted, indices, weight
        As `shortest_paths` takes them.

    Returns
    -------
    Choice

    Raises
    ------
    ValueError, TypeError
        As `shortest_paths` raises them, but for cycles, which are not looked for.

    Examples
    --------
    >>> import numpy as np
    >>> from tropical.graph import explain_shortest_paths
    >>> print(explain_shortest_paths(np.ones((3, 3), np.float32), "FW"))
    Floyd and Warshall's algorithm by blocks (FW), float32: it was asked for
      3 vertices, 9 edges, paths from 3
    """
    graph = prepare(w, directed, unweighted, weight)
    rows = rows_of(indices, graph)
    chosen, reason = choose(graph, method, rows, return_predecessors, is_negative(graph))
    n = _vertices(graph)
    sources = n if rows is None else rows.size
    return Choice(chosen, n, _count(graph), sources, graph.dtype.name, reason)


def prepare(w: GraphLike, directed: bool, unweighted: bool, weight: str | None) -> Array | Edges:
    """Return the directed graph whose weights are added up; `w` itself where it is that."""
    graph = read(w, RING, weight)
    if not directed:
        graph = both_ways(graph, RING)
    if not unweighted:
        return graph
    if isinstance(graph, Edges):
        return Edges(graph.n, graph.source, graph.target, np.ones_like(graph.weight))
    return np.where(graph == RING.zero(graph.dtype), graph, graph.dtype.type(1))


def is_negative(graph: Array | Edges) -> bool:
    """Tell whether any weight is negative."""
    weights = graph.weight if isinstance(graph, Edges) else graph
    return bool(weights.min(initial=0) < 0)


def choose(
    graph: Array | Edges,
    method: str,
    rows: NDArray[np.intp] | None,
    predecessors: bool,
    negative: bool,
) -> tuple[str, str]:
    """Return the method, of `METHODS`, and why; see `explain_shortest_paths`."""
    if method not in ("auto", "BF", *METHODS):
        known = ", ".join(("auto", "BF", *METHODS))
        raise ValueError(f"unknown method {method!r}; the known ones are {known}")
    only_blocks = ""
    if not isinstance(graph, Edges) and graph.ndim > 2:
        only_blocks = "a batch"
    elif graph.dtype.kind == "i":
        only_blocks = "integers that saturate"
    if method == "FW" and rows is not None:
        raise ValueError("indices: method 'FW' computes the paths from all vertices")
    if method in ("D", "J", "BF") and only_blocks:
        raise ValueError(f"method: {method!r} is not for {only_blocks}")
    if method == "D" and negative:
        raise ValueError("method: 'D' is not for negative weights, 'J' is")
    if method != "auto":
        return "J" if method == "BF" else method, "it was asked for"
    if only_blocks:
        return "FW", f"the others are not for {only_blocks}"
    if not search.is_there():
        return "FW", "SciPy is not installed"
    n = _vertices(graph)
    by_blocks = cost_by_blocks(n, graph.dtype, predecessors)
    by_search = cost_by_search(n, _count(graph), n if rows is None else rows.size)
    reason = f"{by_blocks:.1g} s by blocks, {by_search:.1g} s by search, as estimated"
    return "FW" if by_blocks <= by_search else "J" if negative else "D", reason


def cost_by_blocks(n: int, dtype: np.dtype[Any], predecessors: bool) -> float:
    """Estimate the seconds that a closure takes."""
    work = n**3 * dtype.itemsize * (2 if predecessors else 1)
    threads = explain(n, n, n, dtype=dtype, semiring=RING).threads  # as options may say otherwise
    return SECONDS_PER_BYTE * work / threads


def cost_by_search(n: int, edges: int, sources: int) -> float:
    """Estimate the seconds that SciPy's Dijkstra takes."""
    return SECONDS_PER_STEP * sources * math.sqrt(n * edges) + SECONDS_PER_CALL


def _vertices(graph: Array | Edges) -> int:
    return graph.n if isinstance(graph, Edges) else int(graph.shape[-1])


def _count(graph: Array | Edges) -> int:
    if isinstance(graph, Edges):
        return len(graph.weight)
    return int(np.count_nonzero(graph != RING.zero(graph.dtype)))

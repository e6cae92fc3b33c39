"""Which method finds shortest paths, and why."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tropical import explain, semirings
from tropical.arrays import Array, is_kind

from . import breadth_first
from .all_pairs import sources_of
from .edges import Edges, both_ways, number_of_vertices, read

if TYPE_CHECKING:
    from .edges import GraphLike, Weight

RING = semirings.minplus

METHODS = {
    "FW": "Floyd and Warshall's algorithm by blocks",
    "D": "Dijkstra's search from every source",
    "J": "Johnson's algorithm, on Dijkstra's search",
}
KNOWN = ("auto", "BF", *METHODS)

# Measured; see Decisions. A closure's seconds per byte of its dtype and thread; the seconds of one
# Dijkstra search per square root of vertices times edges; the seconds of its call.
SECONDS_PER_BYTE, SECONDS_PER_STEP, SECONDS_PER_CALL = 4.4e-12, 55e-9, 1e-4


@dataclass(frozen=True)
class Method:
    """How `shortest_paths` would compute; `explain_shortest_paths` returns it.

    Attributes
    ----------
    method : str
        ``"FW"``, ``"D"`` or ``"J"``.
    n, edges, sources : int
        Vertices, edges, and vertices from which paths are wanted; of all graphs of a batch.
    dtype : str
        The dtype of the lengths.
    reason : str
        Why `shortest_paths` would choose this method.
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
    weight: Weight = "weight",
) -> Method:
    """Return how `shortest_paths` would compute these paths, without computing them.

    Parameters
    ----------
    w, method, directed, return_predecessors, unweighted, indices, weight
        As in `shortest_paths`.

    Returns
    -------
    Method

    Raises
    ------
    ValueError, TypeError
        As in `shortest_paths`, except for cycles: nothing searches for cycles.

    Examples
    --------
    >>> import numpy as np
    >>> from tropical.graph import explain_shortest_paths
    >>> print(explain_shortest_paths(np.ones((3, 3), np.float32), "FW"))
    Floyd and Warshall's algorithm by blocks (FW), float32: it was asked for
      3 vertices, 9 edges, paths from 3
    """
    graph = prepare(w, directed, unweighted, weight)
    sources = sources_of(indices, graph)
    chosen, reason = choose(graph, method, sources, return_predecessors, is_negative(graph))
    n = number_of_vertices(graph)
    count = n if sources is None else sources.size
    return Method(chosen, n, _number_of_edges(graph), count, graph.dtype.name, reason)


def prepare(
    w: GraphLike, directed: bool, unweighted: bool, weight: Weight, keep: bool = False
) -> Array | Edges:
    """Return the directed graph whose weights are added up; `w` itself if `w` is that graph.

    `keep` is that of `read`.
    """
    graph = read(w, RING, weight, keep)
    if not directed:
        graph = both_ways(graph, RING)
    if not unweighted:
        return graph
    if isinstance(graph, Edges):
        return Edges(graph.n, graph.source, graph.target, np.ones_like(graph.weight))
    return np.where(graph == RING.zero(graph.dtype), graph, graph.dtype.type(1))


def is_negative(graph: Array | Edges) -> bool:
    """Return whether any weight is negative."""
    return bool((graph.least if isinstance(graph, Edges) else graph.min(initial=0)) < 0)


def choose(
    graph: Array | Edges,
    method: str,
    sources: NDArray[np.intp] | None,
    predecessors: bool,
    negative: bool,
    bounded: bool = False,
) -> tuple[str, str]:
    """Return the method, one of `METHODS`, and the reason; see `explain_shortest_paths`."""
    if method not in KNOWN:
        raise ValueError(f"method: expected one of {', '.join(KNOWN)}, got {method!r}")
    only_blocks = ""
    if not isinstance(graph, Edges) and graph.ndim > 2:
        only_blocks = "a batch"
    elif is_kind(graph.dtype, "integer"):
        only_blocks = "integers that saturate"
    if method == "FW" and sources is not None:
        raise ValueError("indices: expected None, as method 'FW' finds the paths from all vertices")
    if method in ("D", "J", "BF") and only_blocks:
        raise ValueError(f"method: expected 'FW' for {only_blocks}, got {method!r}")
    if method == "D" and negative:
        raise ValueError("method: expected 'J' for negative weights, got 'D'")
    if method != "auto":
        return "J" if method == "BF" else method, "it was asked for"
    if only_blocks:
        return "FW", f"the others are not for {only_blocks}"
    if bounded:
        return "J" if negative else "D", "targets, a limit or the nearest source bound the search"
    n = number_of_vertices(graph)
    by_blocks = _seconds_by_blocks(n, graph.dtype, predecessors)
    count = n if sources is None else sources.size
    by_search = _seconds_by_search(n, _number_of_edges(graph), count)
    if not predecessors and isinstance(graph, Edges) and breadth_first.fits(graph):
        by_search /= breadth_first.GAIN if count >= 64 else 1
    reason = f"{by_blocks:.1g} s by blocks, {by_search:.1g} s by search, as estimated"
    return "FW" if by_blocks <= by_search else "J" if negative else "D", reason


def search_pays(graph: Array | Edges, sources: NDArray[np.intp] | None, predecessors: bool) -> bool:
    """Return whether searches from all sources are faster than a closure, as estimated."""
    n = number_of_vertices(graph)
    count = n if sources is None else sources.size
    by_search = _seconds_by_search(n, _number_of_edges(graph), count)
    return by_search < _seconds_by_blocks(n, graph.dtype, predecessors)


def _seconds_by_blocks(n: int, dtype: np.dtype[Any], predecessors: bool) -> float:
    """Estimate the seconds of a closure."""
    work = n**3 * dtype.itemsize * (2 if predecessors else 1)
    threads = explain(n, n, n, dtype=dtype, semiring=RING).threads  # options may set fewer threads
    return SECONDS_PER_BYTE * work / threads


def _seconds_by_search(n: int, edges: int, sources: int) -> float:
    """Estimate the seconds of Dijkstra's search."""
    return SECONDS_PER_STEP * sources * math.sqrt(n * edges) + SECONDS_PER_CALL


def _number_of_edges(graph: Array | Edges) -> int:
    if isinstance(graph, Edges):
        return len(graph.weight)
    return int(np.count_nonzero(graph != RING.zero(graph.dtype)))

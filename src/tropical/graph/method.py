"""Which method finds shortest paths, and why."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from tropical import semirings
from tropical.arrays import Array, is_kind, stored_dtype
from tropical.foreign import answers_alike

from .counting import Counted, Task, counted, number_of_edges
from .edges import Edges, both_ways, leads_both_ways, number_of_vertices, read
from .wanted import Wanted, wanted

if TYPE_CHECKING:
    from .edges import GraphLike, Weight

RING: semirings.Semiring = semirings.minplus

METHODS = {
    "FW": "Floyd and Warshall's algorithm by blocks",
    "D": "Dijkstra's search from every source",
    "J": "Johnson's algorithm, on Dijkstra's search",
    "E": "Elimination of vertices",
}
# All pairs of so few vertices take less time by blocks than a comparison and a search.
FEW = 128
KNOWN = ("auto", "BF", *METHODS)


UNCOUNTED = Counted(math.inf, math.inf)  # where the method is known without a count


@dataclass(frozen=True)
class Choice:
    """A method, the reason, and what was counted to find it."""

    method: str
    reason: str
    counted: Counted = UNCOUNTED


@dataclass(frozen=True)
class Method:
    """How `shortest_paths` would compute; `explain_shortest_paths` returns it.

    Attributes
    ----------
    method : str
        ``"FW"``, ``"D"``, ``"J"`` or ``"E"``.
    n, edges, sources : int
        Vertices, edges, and vertices from which paths are wanted; of all graphs of a batch.
    dtype : str
        The dtype of the lengths.
    reason : str
        Why `shortest_paths` would choose this method.
    seconds : dict
        Estimated seconds of every method that was counted; empty where nothing was counted.
    entries, operations : int
        If elimination was counted: the entries that it makes, and the sums and products that their
        weights take; otherwise 0.
    """

    method: str
    n: int
    edges: int
    sources: int
    dtype: str
    reason: str
    seconds: dict[str, float] = field(default_factory=dict)
    entries: int = 0
    operations: int = 0

    def __str__(self) -> str:
        return (
            f"{METHODS[self.method]} ({self.method}), {self.dtype}: {self.reason}\n"
            f"  {self.n:,} vertices, {self.edges:,} edges, paths from {self.sources:,}"
        )


@answers_alike
def explain_shortest_paths(
    w: GraphLike,
    method: str = "auto",
    *,
    directed: bool = True,
    return_predecessors: bool = False,
    unweighted: bool = False,
    indices: ArrayLike | None = None,
    targets: ArrayLike | None = None,
    limit: float | None = None,
    min_only: bool = False,
    weight: Weight = "weight",
) -> Method:
    """Return how `shortest_paths` would compute these paths, without computing them.

    Only the vertices are put into the order of elimination where this may pay, so that the edges
    that elimination adds are counted, not guessed.

    Parameters
    ----------
    w, method, directed, return_predecessors, unweighted, indices, targets, limit, min_only, weight
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
    bounded = targets is not None or limit is not None or min_only
    graph = prepare(w, directed, unweighted, weight, keep=bounded)
    want = wanted(graph, indices, targets, limit, min_only)
    want.check_lengths()
    negative, two_way = is_negative(graph), leads_both_ways(graph, directed)
    choice = choose(graph, method, want, return_predecessors, negative, two_way)
    n, m = number_of_vertices(graph), number_of_edges(graph, RING)
    count = n if want.sources is None else want.sources.size
    dtype = stored_dtype(w) or graph.dtype
    described = choice.method, n, m, count, dtype.name, choice.reason
    found = choice.counted
    if found is UNCOUNTED:
        return Method(*described)
    search = "J" if negative else "D"
    seconds = {"FW": found.closure, search: found.search}
    if found.core is None:
        return Method(*described, seconds)
    seconds["E"] = found.elimination
    return Method(*described, seconds, found.core.entries, found.operations)


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
    weight_of = graph.weight if isinstance(graph, Edges) else graph
    ones = np.where(weight_of == RING.zero(graph.dtype), weight_of, graph.dtype.type(1))
    return graph.with_weight(ones) if isinstance(graph, Edges) else ones


def is_negative(graph: Array | Edges) -> bool:
    """Return whether any weight is negative."""
    return bool((graph.least if isinstance(graph, Edges) else graph.min(initial=0)) < 0)


def choose(
    graph: Array | Edges,
    method: str,
    want: Wanted,
    predecessors: bool,
    negative: bool,
    two_way: bool = False,
) -> Choice:
    """Return how to find the wanted paths; see `explain_shortest_paths`."""
    if method not in KNOWN:
        raise ValueError(f"method: expected one of {', '.join(KNOWN)}, got {method!r}")
    only_blocks = ""
    if not isinstance(graph, Edges) and graph.ndim > 2:
        only_blocks = "a batch"
    elif is_kind(graph.dtype, "integer"):
        only_blocks = "integers that saturate"
    if method == "FW" and want.sources is not None:
        raise ValueError("indices: expected None, as method 'FW' finds the paths from all vertices")
    if only_blocks and method not in ("auto", "FW"):
        raise ValueError(f"method: expected 'FW' for {only_blocks}, got {method!r}")
    if method == "D" and negative:
        raise ValueError("method: expected 'J' for negative weights, got 'D'")
    if method != "auto":
        return Choice("J" if method == "BF" else method, "it was asked for")
    if only_blocks:
        return Choice("FW", f"the others are not for {only_blocks}")
    search = "J" if negative else "D"
    if want.limit is not None or want.min_only:
        return Choice(search, "a limit or the nearest source bounds the search")
    return cheapest(Task(graph, RING, want, predecessors, two_way), search)


def cheapest_of_rows(edges: Edges, ring: semirings.Semiring, directed: bool, count: int) -> Choice:
    """Return `cheapest` for the paths from so many vertices to all; searches are "D"."""
    some = Wanted(np.arange(count) % edges.n, None, None, False)
    ways = edges if directed else edges.both_ways()
    return cheapest(Task(ways, ring, some, two_way=not directed), "D")


def cheapest(task: Task, search: str) -> Choice:
    """Return the method that takes the least time as estimated; `search` is the name of searches.

    Elimination must take clearly less than the others, because they are the simpler ones.
    """
    few = number_of_vertices(task.graph) <= FEW
    if few and task.wanted.sources is None and not task.wanted.bounded:
        return Choice("FW", f"at most {FEW} vertices make a small matrix")
    found = counted(task)
    if found.core is not None and found.elimination < found.others:
        return Choice("E", found.reason, found)
    blocks = found.closure <= found.search and not task.wanted.bounded
    return Choice("FW" if blocks else search, found.reason, found)

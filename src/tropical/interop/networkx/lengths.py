"""networkx's functions of all shortest paths, computed from the matrix of lengths."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import networkx as nx
import numpy as np

from tropical.graph import DivergenceError, closure, shortest_paths

from .searches import from_nodes, numbers_of, paths_to

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator

    from tropical.arrays import Array
    from tropical.graph.predecessors import Predecessors

    from .graph import DenseGraph
    from .searches import Nearest

__all__ = [
    "all_pairs_bellman_ford_path",
    "all_pairs_bellman_ford_path_length",
    "all_pairs_dijkstra",
    "all_pairs_dijkstra_path",
    "all_pairs_dijkstra_path_length",
    "all_pairs_shortest_path_length",
    "floyd_warshall",
    "floyd_warshall_numpy",
    "floyd_warshall_predecessor_and_distance",
    "johnson",
]

Node: TypeAlias = "Hashable"

_MISSING_IS_INTEGER = hasattr(nx, "floyd_warshall_tree")  # new in networkx 3.7, too


class Lengths:
    """Lengths of the shortest paths of a graph, and predecessors on request.

    Raises
    ------
    NotImplementedError
        For weights that only networkx takes; for a negative weight if `negative` is False, because
        networkx's Dijkstra has its own answer; and for a negative weight among fractions with
        `predecessors`, because rounding could make predecessors a cycle.
    DivergenceError
        If there is a cycle of negative length.
    """

    def __init__(
        self,
        graph: DenseGraph,
        weight: str | None,
        *,
        negative: bool = False,
        predecessors: bool = False,
    ) -> None:
        column = graph.column(weight)
        if column.values.min(initial=0) < 0:
            if not negative:
                raise NotImplementedError(f"{weight}: weights are negative")
            if predecessors and not graph.is_whole(weight):
                raise NotImplementedError(f"{weight}: weights are negative fractions")
        self.graph = graph
        self.integer: bool = column.integer
        self.complete: bool = column.complete
        self.matrix: Array
        self.before: Predecessors
        matrix = graph.matrix(weight)
        if predecessors:
            self.matrix, self.before = shortest_paths(matrix, "FW", return_predecessors=True)
        else:
            self.matrix = closure(matrix, overwrite=True)

    def numbers(self, lengths: Array) -> list[Any]:
        """Return lengths as the Python numbers of networkx; inf is always a float."""
        if self.integer and not np.isfinite(lengths).all():
            return [x if x == np.inf else int(x) for x in lengths.tolist()]
        return numbers_of(self.integer, lengths)

    def nearest(self, source: int) -> Array:
        """Return the numbers of the reachable nodes, `source` first, then the nearest first."""
        key = self.matrix[source].copy()
        key[source] = -np.inf
        order = np.argsort(key, kind="stable")
        return order[: np.count_nonzero(key < np.inf)]

    def from_node(self, source: int) -> dict[Node, Any]:
        """Return the lengths of the paths from a node."""
        order = self.nearest(source)
        nodes, numbers = self.graph.labels[order].tolist(), self.numbers(self.matrix[source, order])
        found = dict(zip(nodes, numbers, strict=True))
        found[self.graph.nodes[source]] = 0
        return found

    def paths_from_node(self, source: int) -> dict[Node, list[Node]]:
        """Return the shortest paths from a node."""
        return paths_to(self.graph, self.nearest(source).tolist(), self.before[source].tolist())


def _of_any_sign(
    graph: DenseGraph, weight: str | None, *, predecessors: bool = False, unbounded: bool = True
) -> Lengths:
    """Return lengths for weights that may be negative.

    A negative cycle is networkx's error if `unbounded`. Else networkx itself computes: its
    functions by Floyd and Warshall accept such a cycle, and rounding of fractions may cause one.
    """
    try:
        return Lengths(graph, weight, negative=True, predecessors=predecessors)
    except DivergenceError as error:
        if unbounded and graph.is_whole(weight):
            raise nx.NetworkXUnbounded("Negative cycle detected.") from None
        raise NotImplementedError(f"{weight}: {error}") from None


def _table(lengths: Lengths) -> dict[Node, dict[Node, Any]]:
    """Return the lengths of all pairs; networkx before 3.7 adds 1.0, not 1, for no weight."""
    lengths.integer = lengths.integer and (_MISSING_IS_INTEGER or lengths.complete)
    nodes = lengths.graph.nodes
    table = {}
    for source, row in zip(nodes, lengths.matrix, strict=True):
        table[source] = dict(zip(nodes, lengths.numbers(row), strict=True))
        table[source][source] = 0
    return table


def floyd_warshall(G: DenseGraph, weight: str | None = "weight") -> dict[Node, dict[Node, Any]]:
    """Return the lengths between all pairs of nodes."""
    return _table(_of_any_sign(G, weight, unbounded=False))


def floyd_warshall_predecessor_and_distance(
    G: DenseGraph, weight: str | None = "weight"
) -> tuple[dict[Node, dict[Node, Node]], dict[Node, dict[Node, Any]]]:
    """Return the nodes before each on the shortest paths, and the lengths."""
    lengths = _of_any_sign(G, weight, predecessors=True, unbounded=False)
    tails, heads = G.ends
    loops = set(tails[tails == heads].tolist())
    before = {}
    for i, (source, row) in enumerate(zip(G.nodes, lengths.before, strict=True)):
        (ends,) = np.nonzero(row >= 0)
        last = dict(zip(G.labels[ends].tolist(), G.labels[row[ends]].tolist(), strict=True))
        if i in loops:
            last[source] = source
        if last:
            before[source] = last
    return before, _table(lengths)


def floyd_warshall_numpy(
    G: DenseGraph, nodelist: Any = None, weight: str | None = "weight"
) -> Array:
    """Return the lengths between all pairs of nodes as an array."""
    if nodelist is not None:
        if not len(nodelist) == len(G) == len(set(nodelist)):
            raise nx.NetworkXError(
                "nodelist must contain every node in G with no repeats."
                "If you wanted a subgraph of G use G.subgraph(nodelist)"
            )
        if strange := set(nodelist) - G.number.keys():
            raise nx.NetworkXError(f"Nodes {strange} in nodelist is not in G")
    matrix = _of_any_sign(G, weight, unbounded=False).matrix.astype(np.float64, copy=False)
    if nodelist is None:
        return matrix
    order = [G.number[node] for node in nodelist]
    return matrix[np.ix_(order, order)]


def johnson(G: DenseGraph, weight: str | None = "weight") -> dict[Node, dict[Node, list[Node]]]:
    """Return the shortest paths between all pairs of nodes; weights may be negative."""
    return dict(_paths(_of_any_sign(G, weight, predecessors=True)))


def _each(lengths: Lengths) -> Iterator[tuple[Node, dict[Node, Any]]]:
    return ((node, lengths.from_node(i)) for i, node in enumerate(lengths.graph.nodes))


def _paths(lengths: Lengths) -> Iterator[tuple[Node, dict[Node, list[Node]]]]:
    return ((node, lengths.paths_from_node(i)) for i, node in enumerate(lengths.graph.nodes))


def _within(
    graph: DenseGraph, weight: str | None, cutoff: float, paths: bool
) -> Iterator[tuple[Node, Nearest]]:
    """Return an iterator over each node with those within the cutoff from it."""
    graph.searcher(weight)  # which refuses weights now, not at the first node
    return (
        (node, from_nodes(graph, [i], weight, cutoff, paths)) for i, node in enumerate(graph.nodes)
    )


def all_pairs_dijkstra(
    G: DenseGraph, cutoff: float | None = None, weight: str | None = "weight"
) -> Iterator[tuple[Node, tuple[dict[Node, Any], dict[Node, list[Node]]]]]:
    """Yield each node with the lengths and the paths from it."""
    if cutoff is not None:
        within = _within(G, weight, cutoff, True)
        return ((node, (near.by_node(), near.paths())) for node, near in within)
    lengths = Lengths(G, weight, predecessors=True)
    return (
        (node, (lengths.from_node(i), lengths.paths_from_node(i))) for i, node in enumerate(G.nodes)
    )


def all_pairs_dijkstra_path_length(
    G: DenseGraph, cutoff: float | None = None, weight: str | None = "weight"
) -> Iterator[tuple[Node, dict[Node, Any]]]:
    """Yield each node with the lengths from it."""
    if cutoff is not None:
        return ((node, near.by_node()) for node, near in _within(G, weight, cutoff, False))
    return _each(Lengths(G, weight))


def all_pairs_dijkstra_path(
    G: DenseGraph, cutoff: float | None = None, weight: str | None = "weight"
) -> Iterator[tuple[Node, dict[Node, list[Node]]]]:
    """Yield each node with the shortest paths from it."""
    if cutoff is not None:
        return ((node, near.paths()) for node, near in _within(G, weight, cutoff, True))
    return _paths(Lengths(G, weight, predecessors=True))


def all_pairs_shortest_path_length(
    G: DenseGraph, cutoff: int | None = None
) -> Iterator[tuple[Node, dict[Node, Any]]]:
    """Yield each node with the numbers of edges on the paths from it."""
    return all_pairs_dijkstra_path_length(G, cutoff, None)


def all_pairs_bellman_ford_path_length(
    G: DenseGraph, weight: str | None = "weight"
) -> Iterator[tuple[Node, dict[Node, Any]]]:
    """Yield each node with the lengths from it; weights may be negative."""
    return _each(_of_any_sign(G, weight))


def all_pairs_bellman_ford_path(
    G: DenseGraph, weight: str | None = "weight"
) -> Iterator[tuple[Node, dict[Node, list[Node]]]]:
    """Yield each node with the shortest paths from it; weights may be negative."""
    return _paths(_of_any_sign(G, weight, predecessors=True))

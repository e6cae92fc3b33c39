"""networkx's functions of shortest paths from some nodes: searches that end where the paths do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import networkx as nx
import numpy as np

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from tropical.arrays import Array

    from .graph import DenseGraph
    from .lengths import Node

# Their arguments `source`, `sources`, `target` and `cutoff` may have any value.
__all__ = [
    "bidirectional_dijkstra",
    "dijkstra_path",
    "dijkstra_path_length",
    "multi_source_dijkstra",
    "multi_source_dijkstra_path",
    "multi_source_dijkstra_path_length",
    "shortest_path",
    "shortest_path_length",
    "single_source_dijkstra",
    "single_source_dijkstra_path",
    "single_source_dijkstra_path_length",
]


class Nearest(NamedTuple):
    """The nodes that are reached, by number: the sources, then the nearest first."""

    graph: DenseGraph
    order: Array
    lengths: list[Any]
    before: Array | None

    def by_node(self) -> dict[Node, Any]:
        """Return the length of the path to each node."""
        return dict(zip(self.graph.labels[self.order].tolist(), self.lengths, strict=True))

    def paths(self) -> dict[Node, list[Node]]:
        """Return the path to each node."""
        assert self.before is not None
        return paths_to(self.graph, self.order.tolist(), self.before.tolist())


def paths_to(graph: DenseGraph, order: Iterable[int], before: list[int]) -> dict[Node, Any]:
    """Return the path to each node of `order`; a node without one before it is a source."""
    nodes = graph.nodes
    paths: list[Any] = [None] * len(nodes)
    found = {}
    for end in order:
        ahead = [end]
        while paths[ahead[-1]] is None and before[ahead[-1]] >= 0:
            ahead.append(before[ahead[-1]])  # only where weights are 0
        first = ahead[-1]
        if paths[first] is None:
            paths[first] = [nodes[first]]
        for node in reversed(ahead[:-1]):
            paths[node] = [*paths[before[node]], nodes[node]]
        found[nodes[end]] = paths[end]
    return found


def numbers_of(integer: bool, lengths: Array) -> list[Any]:
    """Return finite lengths as the Python numbers of networkx."""
    return lengths.astype(np.int64).tolist() if integer else lengths.tolist()


def _starts(graph: DenseGraph, sources: Iterable[Node]) -> list[int]:
    for node in sources:
        if node not in graph.number:
            raise nx.NodeNotFound(f"Node {node} not found in graph")
    return [graph.number[node] for node in sources]


def from_nodes(
    graph: DenseGraph, starts: list[int], weight: str | None, cutoff: float | None, paths: bool
) -> Nearest:
    """Return the nodes within `cutoff` of any of the nodes that `starts` numbers."""
    limit = None if cutoff is None else max(cutoff, 0)
    searcher = graph.searcher(weight)
    found = searcher.lengths(starts, limit=limit, min_only=True, return_predecessors=paths)
    lengths, before = found[:2] if isinstance(found, tuple) else (found, None)
    # The sources are there, however low the cutoff is.
    key = lengths if cutoff is None or cutoff >= 0 else np.full(len(lengths), np.inf)
    key[starts] = -1
    (order,) = np.nonzero(key < np.inf)
    order = order[np.argsort(key[order], kind="stable")]
    key[starts] = 0
    numbers = numbers_of(graph.column(weight).integer, key[order])
    count = len(set(starts))
    numbers[:count] = [0] * count  # of fractions, too
    return Nearest(graph, order, numbers, before)


def _to_node(
    graph: DenseGraph,
    starts: list[int],
    target: Node,
    weight: str | None,
    cutoff: float | None = None,
    *,
    paths: bool = True,
) -> tuple[Any, list[Node]] | None:
    """Return the length of a shortest path to one node, and the path; None if there is none."""
    searcher = graph.searcher(weight)  # which refuses weights that networkx refuses
    end = graph.number.get(target)
    if end is None or (cutoff is not None and cutoff < 0):
        return None
    found = searcher.lengths(starts, [end], limit=cutoff, min_only=True, return_predecessors=paths)
    lengths, before = found[:2] if isinstance(found, tuple) else (found, None)
    if not lengths[0] < np.inf:
        return None
    path = [end]
    while before is not None and (last := int(before[path[-1]])) >= 0:
        path.append(last)
    (length,) = numbers_of(graph.column(weight).integer, lengths)
    return length, [graph.nodes[node] for node in reversed(path)]


def multi_source_dijkstra(
    G: DenseGraph,
    sources: Collection[Node],
    target: Node | None = None,
    cutoff: float | None = None,
    weight: str | None = "weight",
) -> tuple[Any, Any]:
    """Return the lengths from the nearest source and the paths, or those to one node."""
    if not sources:
        raise ValueError("sources must not be empty")
    starts = _starts(G, sources)
    if target in sources:
        return 0, [target]
    if target is None:
        found = from_nodes(G, starts, weight, cutoff, True)
        return found.by_node(), found.paths()
    one = _to_node(G, starts, target, weight, cutoff)
    if one is None:
        raise nx.NetworkXNoPath(f"No path to {target}.")
    return one


def multi_source_dijkstra_path(
    G: DenseGraph,
    sources: Collection[Node],
    cutoff: float | None = None,
    weight: str | None = "weight",
) -> dict[Node, list[Node]]:
    """Return a shortest path to each node from the nearest source."""
    return multi_source_dijkstra(G, sources, None, cutoff, weight)[1]


def multi_source_dijkstra_path_length(
    G: DenseGraph,
    sources: Collection[Node],
    cutoff: float | None = None,
    weight: str | None = "weight",
) -> dict[Node, Any]:
    """Return the length to each node from the nearest source."""
    if not sources:
        raise ValueError("sources must not be empty")
    return from_nodes(G, _starts(G, sources), weight, cutoff, False).by_node()


def single_source_dijkstra(
    G: DenseGraph,
    source: Node,
    target: Node | None = None,
    cutoff: float | None = None,
    weight: str | None = "weight",
) -> tuple[Any, Any]:
    """Return the lengths from a node and the paths, or those to one node."""
    return multi_source_dijkstra(G, {source}, target, cutoff, weight)


def single_source_dijkstra_path(
    G: DenseGraph, source: Node, cutoff: float | None = None, weight: str | None = "weight"
) -> dict[Node, list[Node]]:
    """Return a shortest path to each node."""
    return multi_source_dijkstra_path(G, {source}, cutoff, weight)


def single_source_dijkstra_path_length(
    G: DenseGraph, source: Node, cutoff: float | None = None, weight: str | None = "weight"
) -> dict[Node, Any]:
    """Return the length to each node."""
    return multi_source_dijkstra_path_length(G, {source}, cutoff, weight)


def dijkstra_path(
    G: DenseGraph, source: Node, target: Node, weight: str | None = "weight"
) -> list[Node]:
    """Return a shortest path between two nodes."""
    return single_source_dijkstra(G, source, target, weight=weight)[1]


def dijkstra_path_length(
    G: DenseGraph, source: Node, target: Node, weight: str | None = "weight"
) -> Any:
    """Return the length of the shortest paths between two nodes."""
    starts = _starts(G, [source])
    if source == target:
        return 0
    one = _to_node(G, starts, target, weight, paths=False)
    if one is None:
        raise nx.NetworkXNoPath(f"Node {target} not reachable from {source}")
    return one[0]


def bidirectional_dijkstra(
    G: DenseGraph, source: Node, target: Node, weight: str | None = "weight"
) -> tuple[Any, list[Node]]:
    """Return the length of a shortest path between two nodes, and the path."""
    for end, node in (("Source", source), ("Target", target)):
        if node not in G.number:
            raise nx.NodeNotFound(f"{end} {node} is not in G")
    if source == target:
        return 0, [source]
    one = _to_node(G, [G.number[source]], target, weight)
    if one is None:
        raise nx.NetworkXNoPath(f"No path between {source} and {target}.")
    return one


def shortest_path(
    G: DenseGraph,
    source: Node | None = None,
    target: Node | None = None,
    weight: str | None = None,
    method: str = "dijkstra",
) -> Any:
    """Return a shortest path between two nodes, or those from one node to all nodes."""
    if target is None:
        return single_source_dijkstra_path(G, source, weight=weight)
    return bidirectional_dijkstra(G, source, target, weight)[1]


def shortest_path_length(
    G: DenseGraph,
    source: Node | None = None,
    target: Node | None = None,
    weight: str | None = None,
    method: str = "dijkstra",
) -> Any:
    """Return the length of the shortest paths between two nodes, or from one node to all nodes."""
    if target is None:
        return single_source_dijkstra_path_length(G, source, weight=weight)
    return dijkstra_path_length(G, source, target, weight)

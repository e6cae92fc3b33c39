"""networkx's measures that depend on all shortest lengths, and reachability."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import networkx as nx
import numpy as np

from tropical.graph import transitive_closure as reachability

from .lengths import Lengths

if TYPE_CHECKING:
    from tropical.arrays import Array

    from .graph import DenseGraph
    from .lengths import Node


def _sum(lengths: Lengths, axis: int | None = None) -> Any:
    total = lengths.matrix.sum(axis, np.float64)
    return total.astype(np.int64) if lengths.integer else total


def _whole(graph: DenseGraph, weight: str | None) -> str | None:
    """Return `weight`; raise for fractions, whose rounding decides which nodes are equally far."""
    if not graph.is_whole(weight):
        raise NotImplementedError(f"{weight}: weights are fractions, rounding decides ties")
    return weight


def eccentricity(
    G: DenseGraph, v: None = None, sp: None = None, weight: str | None = None
) -> dict[Node, Any]:
    lengths = Lengths(G, weight)
    if not np.isfinite(lengths.matrix).all():
        kind = "digraph is not strongly connected" if G.is_directed() else "graph is not connected"
        raise nx.NetworkXError(f"Found infinite path length because the {kind}")
    return dict(zip(G.nodes, lengths.numbers(lengths.matrix.max(axis=1)), strict=True))


def diameter(
    G: DenseGraph, e: None = None, usebounds: bool = False, weight: str | None = None
) -> Any:
    return max(eccentricity(G, weight=weight).values())


def radius(
    G: DenseGraph, e: None = None, usebounds: bool = False, weight: str | None = None
) -> Any:
    return min(eccentricity(G, weight=weight).values())


def periphery(
    G: DenseGraph, e: None = None, usebounds: bool = False, weight: str | None = None
) -> list[Node]:
    reach = eccentricity(G, weight=_whole(G, weight))
    most = max(reach.values())
    return [node for node in G.nodes if reach[node] == most]


def center(
    G: DenseGraph, e: None = None, usebounds: bool = False, weight: str | None = None
) -> list[Node]:
    reach = eccentricity(G, weight=_whole(G, weight))
    least = min(reach.values())
    return [node for node in G.nodes if reach[node] == least]


def barycenter(
    G: DenseGraph, weight: str | None = None, attr: None = None, sp: None = None
) -> list[Node]:
    sums = Lengths(G, _whole(G, weight)).matrix.sum(axis=1, dtype=np.float64)
    if not np.isfinite(sums).all():
        raise nx.NetworkXNoPath(
            f"Input graph {G.source} is disconnected, so every induced subgraph has infinite "
            "barycentricity."
        )
    least = sums.min()
    return [node for node, total in zip(G.nodes, sums, strict=True) if total == least]


centroid = barycenter  # the name since networkx 3.7


def average_shortest_path_length(
    G: DenseGraph, weight: str | None = None, method: None = None
) -> float:
    n = len(G)
    if n == 1:
        return 0
    lengths = Lengths(G, weight)
    if not np.isfinite(lengths.matrix).all():
        kind = "strongly connected" if G.is_directed() else "connected"
        raise nx.NetworkXError(f"Graph is not {kind}.")
    return float(_sum(lengths) / (n * (n - 1)))


def wiener_index(G: DenseGraph, weight: str | None = None) -> Any:
    lengths = Lengths(G, weight)
    if not np.isfinite(lengths.matrix).all():
        return float("inf")
    total = _sum(lengths).item()
    return total if G.is_directed() else total / 2


def closeness_centrality(
    G: DenseGraph,
    u: None = None,
    distance: str | None = None,
    wf_improved: bool = True,
    sp: None = None,
) -> dict[Node, float]:
    n = len(G)
    matrix = Lengths(G, distance).matrix
    there = np.isfinite(matrix)
    others = there.sum(axis=0) - 1.0  # from which a node can be reached
    total = np.sum(matrix, axis=0, dtype=np.float64, where=there)
    closeness = np.divide(others, total, out=np.zeros(n), where=total > 0)
    if wf_improved and n > 1:
        closeness *= others / (n - 1)
    return dict(zip(G.nodes, closeness.tolist(), strict=True))


def _inverse(graph: DenseGraph, weight: str | None) -> Array:
    """Return 1 / length; 0 if there is no path, and for length 0."""
    matrix = Lengths(graph, weight).matrix.astype(np.float64)
    return np.divide(1.0, matrix, out=np.zeros_like(matrix), where=matrix > 0)


def harmonic_centrality(
    G: DenseGraph, nbunch: None = None, distance: str | None = None, sources: None = None
) -> dict[Node, float]:
    return dict(zip(G.nodes, _inverse(G, distance).sum(axis=0).tolist(), strict=True))


def global_efficiency(G: DenseGraph) -> float:
    n = len(G)
    return float(_inverse(G, None).sum() / (n * (n - 1))) if n > 1 else 0


def transitive_closure(G: DenseGraph, reflexive: bool | None = False) -> Any:
    return _with_edges(G, reachability(G.adjacency(), reflexive=reflexive))


def transitive_closure_dag(G: DenseGraph, topo_order: None = None) -> Any:
    reach = reachability(G.adjacency())
    if reach.diagonal().any():
        raise nx.NetworkXUnfeasible("Graph contains a cycle or graph changed during iteration")
    return _with_edges(G, reach)


def _with_edges(graph: DenseGraph, reach: Array) -> Any:
    """Return a copy of the networkx graph with an edge for each path."""
    tails, heads = (graph.labels[ends].tolist() for ends in np.nonzero(reach & ~graph.adjacency()))
    more = graph.source.copy()
    more.add_edges_from(zip(tails, heads, strict=True))
    return more

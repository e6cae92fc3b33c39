"""networkx's measures that depend on all shortest lengths, and reachability."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

import networkx as nx
import numpy as np

from tropical import graph as measures
from tropical.graph.folds import distances_in

from .searches import numbers_of

if TYPE_CHECKING:
    from tropical.arrays import Array
    from tropical.graph.edges import Edges
    from tropical.graph.folds import Distances

    from .graph import DenseGraph
    from .lengths import Node

__all__ = [
    "average_shortest_path_length",
    "barycenter",
    "betweenness_centrality",
    "center",
    "closeness_centrality",
    "diameter",
    "eccentricity",
    "edge_betweenness_centrality",
    "global_efficiency",
    "harmonic_centrality",
    "periphery",
    "radius",
    "transitive_closure",
    "transitive_closure_dag",
    "wiener_index",
]
if hasattr(nx.algorithms.distance_measures, "centroid"):
    __all__ += ["centroid"]  # before networkx 3.7 the centroid of trees alone

try:
    from networkx.algorithms.centrality.betweenness import _rescale
except ImportError:
    _rescale = None
# Before networkx 3.6, samples were scaled otherwise.
SAMPLES = _rescale is not None and "sampled_nodes" in inspect.signature(_rescale).parameters


def _edges(graph: DenseGraph, weight: str | None) -> Edges:
    """Return the edges; raise for negative weights, to which networkx has its own answer."""
    edges = graph.edges(weight)
    if edges.weight.min(initial=0) < 0:
        raise NotImplementedError(f"{weight}: weights are negative")
    return edges


def _distances(graph: DenseGraph, weight: str | None) -> Distances:
    return distances_in(_edges(graph, weight), graph.is_directed(), None)


def _sums(graph: DenseGraph, weight: str | None) -> tuple[Array, bool]:
    """Return the sums of the lengths from each node, and whether there is a path to all nodes."""
    found = _distances(graph, weight)
    total, count, _ = found.fold("lengths", found.vertices(None), None)
    return total, bool((count == len(graph)).all())


def _exact(graph: DenseGraph, weight: str | None, total: float) -> Any:
    """Return a sum of lengths; raise if the lengths are whole and float64 may have rounded them.

    Lengths are not negative: a sum below 2**53 has no part that was rounded.
    """
    if total >= 2**53 and graph.is_whole(weight):
        raise NotImplementedError(f"{weight}: a sum of lengths is {total:g}, 2**53 is the most")
    return total


def _by_node(graph: DenseGraph, values: Array) -> dict[Node, float]:
    return dict(zip(graph.nodes, values.tolist(), strict=True))


def _whole(graph: DenseGraph, weight: str | None) -> str | None:
    """Return `weight`; raise for fractions, whose rounding decides which nodes are equally far."""
    if not graph.is_whole(weight):
        raise NotImplementedError(f"{weight}: weights are fractions, rounding decides ties")
    return weight


def eccentricity(
    G: DenseGraph, v: None = None, sp: None = None, weight: str | None = None
) -> dict[Node, Any]:
    """Return the length to the farthest node from each node."""
    found = _distances(G, weight)
    _, count, greatest = found.fold("lengths", found.vertices(None), None)
    if (count < len(G)).any():
        kind = "digraph is not strongly connected" if G.is_directed() else "graph is not connected"
        raise nx.NetworkXError(f"Found infinite path length because the {kind}")
    return dict(zip(G.nodes, numbers_of(G.column(weight).integer, greatest), strict=True))


def diameter(
    G: DenseGraph, e: None = None, usebounds: bool = False, weight: str | None = None
) -> Any:
    """Return the greatest eccentricity."""
    return max(eccentricity(G, weight=weight).values())


def radius(
    G: DenseGraph, e: None = None, usebounds: bool = False, weight: str | None = None
) -> Any:
    """Return the least eccentricity."""
    return min(eccentricity(G, weight=weight).values())


def periphery(
    G: DenseGraph, e: None = None, usebounds: bool = False, weight: str | None = None
) -> list[Node]:
    """Return the nodes of the greatest eccentricity."""
    reach = eccentricity(G, weight=_whole(G, weight))
    most = max(reach.values())
    return [node for node in G.nodes if reach[node] == most]


def center(
    G: DenseGraph, e: None = None, usebounds: bool = False, weight: str | None = None
) -> list[Node]:
    """Return the nodes of the least eccentricity."""
    reach = eccentricity(G, weight=_whole(G, weight))
    least = min(reach.values())
    return [node for node in G.nodes if reach[node] == least]


def barycenter(
    G: DenseGraph, weight: str | None = None, attr: None = None, sp: None = None
) -> list[Node]:
    """Return the nodes of the least sum of lengths to all nodes."""
    sums, connected = _sums(G, _whole(G, weight))
    if not connected:
        raise nx.NetworkXNoPath(
            f"Input graph {G.source} is disconnected, so every induced subgraph has infinite "
            "barycentricity."
        )
    least = _exact(G, weight, sums.min())
    return [node for node, total in zip(G.nodes, sums, strict=True) if total == least]


centroid = barycenter  # the name since networkx 3.7


def average_shortest_path_length(
    G: DenseGraph, weight: str | None = None, method: None = None
) -> float:
    """Return the mean length between two different nodes."""
    n = len(G)
    if n == 1:
        return 0
    sums, connected = _sums(G, weight)
    if not connected:
        kind = "strongly connected" if G.is_directed() else "connected"
        raise nx.NetworkXError(f"Graph is not {kind}.")
    return float(_exact(G, weight, float(sums.sum())) / (n * (n - 1)))


def wiener_index(G: DenseGraph, weight: str | None = None) -> Any:
    """Return the sum of the lengths between all pairs of nodes."""
    sums, connected = _sums(G, weight)
    if not connected:
        return float("inf")
    total = _exact(G, weight, float(sums.sum()))
    total = int(total) if G.column(weight).integer else total
    return total if G.is_directed() else total / 2


def closeness_centrality(
    G: DenseGraph,
    u: None = None,
    distance: str | None = None,
    wf_improved: bool = True,
    sp: None = None,
) -> dict[Node, float]:
    """Return 1 over the mean length of the paths to each node."""
    directed = G.is_directed()
    return _by_node(
        G, measures.closeness(_edges(G, distance), wf_improved=wf_improved, directed=directed)
    )


def harmonic_centrality(
    G: DenseGraph, nbunch: None = None, distance: str | None = None, sources: None = None
) -> dict[Node, float]:
    """Return the sum of 1 / length over the paths to each node."""
    return _by_node(G, measures.harmonic(_edges(G, distance), directed=G.is_directed()))


def global_efficiency(G: DenseGraph) -> float:
    """Return the mean of 1 / length between two different nodes."""
    n = len(G)
    sums = measures.harmonic(_edges(G, None), directed=G.is_directed())
    return float(sums.sum() / (n * (n - 1))) if n > 1 else 0


def betweenness_centrality(
    G: DenseGraph,
    k: int | None = None,
    normalized: bool = True,
    weight: str | None = None,
    endpoints: bool = False,
    seed: Any = None,
) -> dict[Node, float]:
    """Return the share of the shortest paths that pass each node."""
    edges = _positive(G, weight)
    return _by_node(
        G,
        measures.betweenness(
            edges,
            _sample(G, k, seed),
            normalized=normalized,
            endpoints=endpoints,
            directed=G.is_directed(),
        ),
    )


def edge_betweenness_centrality(
    G: DenseGraph,
    k: int | None = None,
    normalized: bool = True,
    weight: str | None = None,
    seed: Any = None,
) -> dict[tuple[Node, ...], float]:
    """Return the share of the shortest paths that pass each edge."""
    edges = _positive(G, weight)
    shares = measures.edge_betweenness(
        edges, _sample(G, k, seed), normalized=normalized, directed=G.is_directed()
    )
    ends = G.source.edges(keys=True) if G.is_multigraph() else G.source.edges()
    return dict(zip(ends, shares.tolist(), strict=True))


def _positive(graph: DenseGraph, weight: str | None) -> Edges:
    edges = graph.edges(weight)
    if edges.weight.min(initial=1) <= 0:
        raise NotImplementedError(f"{weight}: weights are 0 or less")
    return edges


def _sample(graph: DenseGraph, k: int | None, seed: Any) -> list[int] | None:
    """Return the numbers of the nodes that networkx would choose."""
    if k is None or k == len(graph):
        return None
    chosen = nx.utils.create_py_random_state(seed).sample(graph.nodes, k)
    return [graph.number[node] for node in chosen]


def transitive_closure(G: DenseGraph, reflexive: bool | None = False) -> Any:
    """Return a copy of the graph with an edge for each path."""
    return _with_edges(G, measures.transitive_closure(G.adjacency(), reflexive=reflexive))


def transitive_closure_dag(G: DenseGraph, topo_order: None = None) -> Any:
    """Return a copy of a graph without cycles, with an edge for each path."""
    reach = measures.transitive_closure(G.adjacency())
    if reach.diagonal().any():
        raise nx.NetworkXUnfeasible("Graph contains a cycle or graph changed during iteration")
    return _with_edges(G, reach)


def _with_edges(graph: DenseGraph, reach: Array) -> Any:
    """Return a copy of the networkx graph with an edge for each path."""
    tails, heads = (graph.labels[ends].tolist() for ends in np.nonzero(reach & ~graph.adjacency()))
    more = graph.source.copy()
    more.add_edges_from(zip(tails, heads, strict=True))
    return more

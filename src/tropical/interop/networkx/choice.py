"""The calls of networkx that we take: those with the same answer, where we are faster."""

from __future__ import annotations

import inspect
import math
from collections.abc import Collection
from typing import TYPE_CHECKING, Any

import networkx as nx

from . import lengths, measures, searches
from .graph import DenseGraph

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

# Arguments that may have any value; the others must have their default value.
_TAKEN = {
    *("G", "weight", "distance", "nodelist", "reflexive", "wf_improved"),
    *("normalized", "endpoints", "seed", *(("k",) if measures.SAMPLES else ())),
    "cutoff",
}
_ENDS = {"source", "sources", "target"}  # of searches
_DIRECTED = {"transitive_closure", "transitive_closure_dag"}
_NOT_TREES = {"center", "barycenter", "centroid"}  # networkx orders the nodes of trees otherwise

# Measured on two cores: n from 8 to 4096, degrees from 1 to n.
SMALL = 20  # nodes, below which networkx is done before its graph is converted
SEARCHED = 1000  # the same for one search, which then takes less than twice as long
LARGE = 10_000  # nodes, above which the matrices take gigabytes
# networkx is faster where a node reaches fewer than n / FEW nodes on average (n from 100 to 2000).
FEW = 25
SEARCHES = 16  # which estimate this average
_ALWAYS = {"transitive_closure", "transitive_closure_dag"}  # fast on packed bits
# Measures of searches write rows of n lengths, of which a sum takes as long as networkx takes for
# n / FEW_MEASURED nodes (n from 300 to 10,000).
FEW_MEASURED = 400
_SHARES = {"betweenness_centrality", "edge_betweenness_centrality"}  # faster from 10 nodes on
_SUMS = {"closeness_centrality", "harmonic_centrality", "global_efficiency"}
_CONNECTED = {  # networkx looks for one path that is missing, and then returns or raises an error
    *("eccentricity", "diameter", "radius", "periphery", "center", "barycenter", "centroid"),
    *("average_shortest_path_length", "wiener_index"),
}


def can_run(name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> bool | str:
    """Return True if a call has the same answer here as in networkx, else the reason.

    The functions themselves check the types and signs of weights.
    """
    try:
        call = _call(name, args, kwargs)
    except TypeError as error:
        return str(error)
    given = call.arguments
    taken = _TAKEN | _ENDS if name in searches.__all__ else _TAKEN
    for parameter, value in given.items():
        if parameter not in taken and value is not call.signature.parameters[parameter].default:
            return f"{parameter} is not supported"
    return (
        _refused_graph(name, given["G"], given.get("weight"))
        or _refused_values(given)
        or _refused_ends(name, given)
        or True
    )


def _call(name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> inspect.BoundArguments:
    (function,) = (vars(m)[name] for m in (lengths, measures, searches) if name in vars(m))
    return inspect.signature(function).bind(*args, **kwargs)


def _refused_graph(name: str, graph: Any, weight: object) -> str | None:
    if not isinstance(graph, nx.Graph | DenseGraph):
        return f"G is a {type(graph).__name__}"
    if len(graph) == 0:
        return "an empty graph"
    if name in _DIRECTED and not graph.is_directed():
        return "an undirected graph: its connected components are faster"
    if not graph.is_directed() and _is_view_of_directed(graph):
        return "an undirected view of a directed graph: an edge may have two weights"
    if name in _NOT_TREES and weight is None and graph.number_of_edges() == len(graph) - 1:
        return "it may be a tree"
    return None


def _is_view_of_directed(graph: Any) -> bool:
    viewed = getattr(graph, "source", graph)
    while not viewed.is_directed() and hasattr(viewed, "_graph"):
        viewed = viewed._graph
    return bool(viewed.is_directed())


def _refused_values(given: Mapping[str, Any]) -> str | None:
    for parameter in ("weight", "distance"):
        if not isinstance(given.get(parameter), str | None):
            return f"{parameter} is not the name of an attribute"
    k = given.get("k")
    if k is not None and not (isinstance(k, int) and 1 <= k <= len(given["G"])):
        return "k is no number of nodes"
    if not any(given.get("reflexive") is value for value in (None, True, False)):
        return "reflexive is not True, False or None"
    return None


def _refused_ends(name: str, given: Mapping[str, Any]) -> str | None:
    if name.startswith("shortest_path") and (
        given.get("source") is None or given.get("weight") is None
    ):
        return "source and weight are None: networkx passes these calls on"
    if not isinstance(given.get("sources"), Collection | None):
        return "sources are no collection"
    cutoff = given.get("cutoff")
    if isinstance(cutoff, int) and abs(cutoff) < 2**53:
        return None
    whole = name == "all_pairs_shortest_path_length"  # networkx rounds the others, up or down
    if isinstance(cutoff, float) and not math.isnan(cutoff) and not whole:
        return None
    return None if cutoff is None else "cutoff is no number that is supported"


def should_run(name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> bool | str:
    """Return True if a call that `can_run` takes is faster here, else the reason."""
    given = _call(name, args, kwargs).arguments
    n, edges = len(given["G"]), given["G"].number_of_edges()
    if n < SMALL:
        return f"{n} nodes: networkx is faster below {SMALL}"
    if name in searches.__all__:
        return _should_search(given)
    if name in _SHARES | _SUMS | _CONNECTED:
        return _should_measure(name, given["G"])
    if n > LARGE:
        return f"{n} nodes: the matrix of lengths would be too large above {LARGE}"
    if edges < n - 1 and "floyd" not in name:  # floyd_warshall of networkx always takes n^3
        return f"{edges} edges between {n} nodes: networkx is faster on small components"
    if "floyd" not in name and name not in _ALWAYS and _reaches_few(given["G"], FEW):
        return f"most nodes reach fewer than {n // FEW} of {n} nodes: networkx is faster"
    return True


def _should_search(given: Mapping[str, Any]) -> bool | str:
    """Return True if one search is faster here, else the reason."""
    graph = given["G"]
    kept = getattr(graph, "__networkx_cache__", None) or {}
    if isinstance(graph, DenseGraph) or kept.get("backends", {}).get("tropical"):
        return True
    if given.get("target") is not None or given.get("cutoff") is not None:
        return "one short search: networkx is done before its graph is converted"
    if len(graph) < SEARCHED:
        return f"{len(graph)} nodes: networkx is faster below {SEARCHED} for one search"
    if _reaches_few(graph, FEW):
        return "few nodes are reached: networkx is done before its graph is converted"
    return True


def _should_measure(name: str, graph: Any) -> bool | str:
    """Return True if a measure of all nodes is faster here, else the reason."""
    n, edges = len(graph), graph.number_of_edges()
    if name in _SHARES:
        return True
    if edges < n / 2 if name in _SUMS else edges < n - 1:
        return f"{edges} edges between {n} nodes: networkx is faster on small components"
    if name in _CONNECTED and len(_reached(graph, next(iter(_adjacency(graph))))) < n:
        return "a node does not reach all others: networkx notices it sooner"
    if graph.is_directed() and _reaches_few(graph, FEW_MEASURED):
        return f"most nodes reach fewer than {n // FEW_MEASURED} of {n} nodes: networkx is faster"
    return True


def _adjacency(graph: Any) -> Any:
    return getattr(graph, "source", graph)._adj


def _reached(graph: Any, start: Any, most: float = math.inf) -> set[Any]:
    """Return the nodes that a node reaches; at least `most` of them if there are so many."""
    adjacency = _adjacency(graph)
    seen, ahead = {start}, [start]
    while ahead and len(seen) < most:
        new = adjacency[ahead.pop()].keys() - seen
        seen |= new
        ahead += new
    return seen


def _reaches_few(graph: Any, few: int) -> bool:
    """Estimate whether a node reaches fewer than n / few nodes on average, by some searches."""
    nodes = list(_adjacency(graph))
    starts = nodes[:: -(-len(nodes) // SEARCHES)]
    left = len(starts) * len(nodes) / few
    for start in starts:
        left -= len(_reached(graph, start, left))
        if left <= 0:
            return False
    return True

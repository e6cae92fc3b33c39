"""The calls of networkx that we take: those with the same answer, where we are faster."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

import networkx as nx

from . import lengths, measures
from .graph import DenseGraph

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

# Arguments that may have any value; the others must have their default value.
_TAKEN = {
    *("G", "weight", "distance", "nodelist", "reflexive", "wf_improved"),
    *("normalized", "endpoints", "seed", *(("k",) if measures.SAMPLES else ())),
}
_DIRECTED = {"transitive_closure", "transitive_closure_dag"}
_NOT_TREES = {"center", "barycenter", "centroid"}  # networkx orders the nodes of trees otherwise

# Measured on two cores: n from 8 to 4096, degrees from 1 to n.
SMALL = 20  # nodes, below which networkx is done before its graph is converted
LARGE = 10_000  # nodes, above which the matrices take gigabytes
# networkx is faster where a node reaches fewer than n / FEW nodes on average (n from 100 to 2000).
FEW = 25
SEARCHES = 16  # which estimate this average
_ALWAYS = {"transitive_closure", "transitive_closure_dag"}  # fast on packed bits


def can_run(name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> bool | str:
    """Return True if a call has the same answer here as in networkx, else the reason.

    The functions themselves check the types and signs of weights.
    """
    try:
        call = _call(name, args, kwargs)
    except TypeError as error:
        return str(error)
    given = call.arguments
    for parameter, value in given.items():
        if parameter not in _TAKEN and value is not call.signature.parameters[parameter].default:
            return f"{parameter} is not supported"
    return _refused_graph(name, given["G"], given.get("weight")) or _refused_values(given) or True


def _call(name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> inspect.BoundArguments:
    function = getattr(lengths, name, None) or getattr(measures, name)
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


def should_run(name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> bool | str:
    """Return True if a call that `can_run` takes is faster here, else the reason."""
    given = _call(name, args, kwargs).arguments
    n, edges = len(given["G"]), given["G"].number_of_edges()
    if n < SMALL:
        return f"{n} nodes: networkx is faster below {SMALL}"
    if n > LARGE:
        return f"{n} nodes: the matrix of lengths would be too large above {LARGE}"
    if edges < n - 1 and "floyd" not in name:  # floyd_warshall of networkx always takes n^3
        return f"{edges} edges between {n} nodes: networkx is faster on small components"
    if "floyd" not in name and name not in _ALWAYS and _reaches_few(given["G"]):
        return f"most nodes reach fewer than {n // FEW} of {n} nodes: networkx is faster"
    return True


def _reaches_few(graph: Any) -> bool:
    """Estimate whether a node reaches fewer than n / FEW nodes on average, by a few searches."""
    adjacency = getattr(graph, "source", graph)._adj
    nodes = list(adjacency)
    starts = nodes[:: -(-len(nodes) // SEARCHES)]
    left = len(starts) * len(nodes) / FEW
    for start in starts:
        seen, ahead = {start}, [start]
        while ahead:
            new = adjacency[ahead.pop()].keys() - seen
            seen |= new
            ahead += new
            if len(seen) >= left:
                return False
        left -= len(seen)
    return True

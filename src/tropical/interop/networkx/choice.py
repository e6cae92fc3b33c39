"""Which calls of networkx we take: what we answer as it does, and where we are faster."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

import networkx as nx

from . import lengths, measures
from .graph import DenseGraph

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

# Arguments that we heed; all others must have their default value.
_HEEDED = {"G", "weight", "distance", "nodelist", "reflexive", "wf_improved"}
_DIRECTED = {"transitive_closure", "transitive_closure_dag"}
_NOT_TREES = {"center", "barycenter"}  # for which networkx has other algorithms, and other orders

# Measured on two cores: n from 8 to 4096, degrees from 1 to n.
SMALL = 20  # nodes, below which networkx is done before its graph is converted
LARGE = 10_000  # nodes, above which the matrices take gigabytes


def can_run(name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> bool | str:
    """Whether a call can be answered as networkx does, or why not.

    What only the weights can tell is found later: their types, their signs.
    """
    try:
        call = _call(name, args, kwargs)
    except TypeError as error:
        return str(error)
    given = call.arguments
    for parameter, value in given.items():
        if parameter not in _HEEDED and value is not call.signature.parameters[parameter].default:
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
    if not any(given.get("reflexive") is value for value in (None, True, False)):
        return "reflexive is not True, False or None"
    return None


def should_run(name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> bool | str:
    """Whether a call that can be answered is answered faster, or why not."""
    given = _call(name, args, kwargs).arguments
    n, edges = len(given["G"]), given["G"].number_of_edges()
    if n < SMALL:
        return f"{n} nodes: networkx is faster below {SMALL}"
    if n > LARGE:
        return f"{n} nodes: the matrix of lengths would be too large above {LARGE}"
    if edges < n - 1 and "floyd" not in name:  # which takes networkx n^3 in any case
        return f"{edges} edges between {n} nodes: networkx is faster on small components"
    return True

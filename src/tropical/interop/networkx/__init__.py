"""The networkx backend: shortest paths, reachability, and measures of both.

networkx finds this module by its entry point and calls these functions in place of its own
functions of the same name. They take a `DenseGraph` as a graph, and return the results of networkx.
"""

from __future__ import annotations

import networkx as nx

from .choice import can_run, should_run
from .graph import DenseGraph, convert_from_nx, convert_to_nx
from .lengths import (
    all_pairs_bellman_ford_path,
    all_pairs_bellman_ford_path_length,
    all_pairs_dijkstra,
    all_pairs_dijkstra_path,
    all_pairs_dijkstra_path_length,
    all_pairs_shortest_path_length,
    floyd_warshall,
    floyd_warshall_numpy,
    floyd_warshall_predecessor_and_distance,
    johnson,
)
from .measures import (
    average_shortest_path_length,
    barycenter,
    betweenness_centrality,
    center,
    closeness_centrality,
    diameter,
    eccentricity,
    edge_betweenness_centrality,
    global_efficiency,
    harmonic_centrality,
    periphery,
    radius,
    transitive_closure,
    transitive_closure_dag,
    wiener_index,
)
from .searches import (
    bidirectional_dijkstra,
    dijkstra_path,
    dijkstra_path_length,
    multi_source_dijkstra,
    multi_source_dijkstra_path,
    multi_source_dijkstra_path_length,
    shortest_path,
    shortest_path_length,
    single_source_dijkstra,
    single_source_dijkstra_path,
    single_source_dijkstra_path_length,
)

if hasattr(nx.algorithms.distance_measures, "centroid"):
    from .measures import centroid  # noqa: F401  (before networkx 3.7 the centroid of trees alone)

__all__ = [
    "DenseGraph",
    "all_pairs_bellman_ford_path",
    "all_pairs_bellman_ford_path_length",
    "all_pairs_dijkstra",
    "all_pairs_dijkstra_path",
    "all_pairs_dijkstra_path_length",
    "all_pairs_shortest_path_length",
    "average_shortest_path_length",
    "barycenter",
    "betweenness_centrality",
    "bidirectional_dijkstra",
    "can_run",
    "center",
    "closeness_centrality",
    "convert_from_nx",
    "convert_to_nx",
    "diameter",
    "dijkstra_path",
    "dijkstra_path_length",
    "eccentricity",
    "edge_betweenness_centrality",
    "floyd_warshall",
    "floyd_warshall_numpy",
    "floyd_warshall_predecessor_and_distance",
    "global_efficiency",
    "harmonic_centrality",
    "johnson",
    "multi_source_dijkstra",
    "multi_source_dijkstra_path",
    "multi_source_dijkstra_path_length",
    "periphery",
    "radius",
    "shortest_path",
    "shortest_path_length",
    "should_run",
    "single_source_dijkstra",
    "single_source_dijkstra_path",
    "single_source_dijkstra_path_length",
    "transitive_closure",
    "transitive_closure_dag",
    "wiener_index",
]

"""What networkx reads of its backend "tropical" whenever it is imported: a table, nothing else."""

from __future__ import annotations

from typing import Any

_LENGTHS = "Blocked Floyd and Warshall over (min, +), on all cores; fractions may round otherwise."
_PATHS = f"{_LENGTHS} Of several shortest paths it may be another."
_NEAR = "A search in C++, which ends early. No negative weights."
_NEAR_PATHS = f"{_NEAR} Of several shortest paths it may be another."
_MEASURE = "From sums of lengths, without a dictionary of them; on all cores."
_SHARES = "Brandes' algorithm on all cores. Weights above 0."
_REACH = "The or-and star of packed bits. Directed graphs only."

FUNCTIONS = {
    "floyd_warshall": _LENGTHS,
    "floyd_warshall_numpy": _LENGTHS,
    "floyd_warshall_predecessor_and_distance": _PATHS,
    "johnson": _PATHS,
    "all_pairs_dijkstra": f"{_PATHS} No negative weights.",
    "all_pairs_dijkstra_path": f"{_PATHS} No negative weights.",
    "all_pairs_dijkstra_path_length": f"{_LENGTHS} No negative weights.",
    "all_pairs_shortest_path_length": _LENGTHS,
    "all_pairs_bellman_ford_path": _PATHS,
    "all_pairs_bellman_ford_path_length": _LENGTHS,
    "dijkstra_path": _NEAR_PATHS,
    "dijkstra_path_length": _NEAR,
    "single_source_dijkstra": _NEAR_PATHS,
    "single_source_dijkstra_path": _NEAR_PATHS,
    "single_source_dijkstra_path_length": _NEAR,
    "multi_source_dijkstra": _NEAR_PATHS,
    "multi_source_dijkstra_path": _NEAR_PATHS,
    "multi_source_dijkstra_path_length": _NEAR,
    "bidirectional_dijkstra": f"{_NEAR_PATHS} From one side.",
    "shortest_path": f"{_NEAR_PATHS} From a source, by Dijkstra; weight not None.",
    "shortest_path_length": f"{_NEAR} From a source, by Dijkstra; weight not None.",
    "transitive_closure": _REACH,
    "transitive_closure_dag": f"{_REACH} No topo_order.",
    "average_shortest_path_length": f"{_MEASURE} No method.",
    "barycenter": f"{_MEASURE} Whole weights; no attr, no sp.",
    "centroid": f"{_MEASURE} Whole weights; no attr, no sp.",  # barycenter since networkx 3.7
    "betweenness_centrality": _SHARES,
    "center": f"{_MEASURE} Whole weights; no e, no usebounds.",
    "closeness_centrality": f"{_MEASURE} Of all nodes at once.",
    "diameter": f"{_MEASURE} No e, no usebounds.",
    "eccentricity": f"{_MEASURE} Of all nodes at once; no sp.",
    "edge_betweenness_centrality": _SHARES,
    "global_efficiency": _MEASURE,
    "harmonic_centrality": f"{_MEASURE} Of all nodes at once.",
    "periphery": f"{_MEASURE} Whole weights; no e, no usebounds.",
    "radius": f"{_MEASURE} No e, no usebounds.",
    "wiener_index": _MEASURE,
}


def get_info() -> dict[str, Any]:
    """Return what networkx shows of the backend: its name, and a line for each function."""
    return {
        "backend_name": "tropical",
        "project": "tropical",
        "package": "tropical-blas",
        "short_summary": "All-pairs shortest paths as matrix products over semirings.",
        "functions": {name: {"additional_docs": text} for name, text in FUNCTIONS.items()},
    }

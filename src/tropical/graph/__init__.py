"""Paths in graphs, as Kleene stars of matrices over semirings."""

import typing as _typing
import warnings as _warnings

from .betweenness import betweenness, edge_betweenness
from .blocks.chunks import DamagedChunkError
from .blocks.closure import closure_blocks
from .blocks.folder import BlockFolder
from .centrality import closeness, harmonic
from .cycles import CycleError, NegativeCycleError
from .distances import diameter, eccentricity, radius, wiener_index
from .elimination import FactorCost
from .facilities import accessibility, nearest_facilities
from .factor import Factor
from .factorization import factorize
from .method import Method, explain_shortest_paths
from .other_paths import longest_paths, minimax_paths, widest_paths
from .paths import shortest_paths
from .powers import KEdgePaths, k_edge_paths, matrix_power
from .predecessors import path
from .reached import transitive_closure
from .rows.writing import write_lengths
from .searcher import Searcher
from .several import count_shortest_paths, k_shortest_paths
from .star import DivergenceError, closure

__all__ = [
    "BlockFolder",
    "CycleError",
    "DamagedChunkError",
    "DivergenceError",
    "Factor",
    "FactorCost",
    "KEdgePaths",
    "Method",
    "NegativeCycleError",
    "Searcher",
    "accessibility",
    "betweenness",
    "closeness",
    "closure",
    "closure_blocks",
    "count_shortest_paths",
    "diameter",
    "eccentricity",
    "edge_betweenness",
    "explain_shortest_paths",
    "factorize",
    "harmonic",
    "k_edge_paths",
    "k_shortest_paths",
    "longest_paths",
    "matrix_power",
    "minimax_paths",
    "nearest_facilities",
    "path",
    "radius",
    "shortest_paths",
    "transitive_closure",
    "widest_paths",
    "wiener_index",
    "write_lengths",
]

_RENAMED = {"Choice": "Method", "Legs": "KEdgePaths", "k_leg_paths": "k_edge_paths"}


if not _typing.TYPE_CHECKING:  # a type checker would take every name for one of the module

    def __getattr__(name: str) -> _typing.Any:
        if name not in _RENAMED:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        new = _RENAMED[name]
        _warnings.warn(
            f"tropical.graph.{name} is now tropical.graph.{new}", DeprecationWarning, stacklevel=2
        )
        return globals()[new]

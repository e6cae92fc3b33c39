"""Paths in graphs, as Kleene stars of matrices over semirings."""

from .best import longest_paths, minimax_paths, widest_paths
from .choice import Choice, explain_shortest_paths
from .cycles import CycleError, NegativeCycleError
from .legs import Legs, k_leg_paths, matrix_power
from .reach import transitive_closure
from .shortest import shortest_paths
from .star import DivergenceError, closure
from .trees import path

__all__ = [
    "Choice",
    "CycleError",
    "DivergenceError",
    "Legs",
    "NegativeCycleError",
    "closure",
    "explain_shortest_paths",
    "k_leg_paths",
    "longest_paths",
    "matrix_power",
    "minimax_paths",
    "path",
    "shortest_paths",
    "transitive_closure",
    "widest_paths",
]

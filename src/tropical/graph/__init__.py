"""Paths in graphs, as Kleene stars of matrices over semirings."""

from .cycles import CycleError, NegativeCycleError
from .shortest import Choice, explain_shortest_paths, shortest_paths
from .star import DivergenceError, closure
from .trees import path

__all__ = [
    "Choice",
    "CycleError",
    "DivergenceError",
    "NegativeCycleError",
    "closure",
    "explain_shortest_paths",
    "path",
    "shortest_paths",
]

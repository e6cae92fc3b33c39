"""Paths in graphs, as Kleene stars of matrices over semirings."""

from .star import DivergenceError, closure

__all__ = ["DivergenceError", "closure"]

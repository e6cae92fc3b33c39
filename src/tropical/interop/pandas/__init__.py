"""Matrices as pandas frames with labels.

Labels, not positions, match rows and columns; a missing value is no edge.
"""

from .factors import LabelledFactor, factorize
from .paths import from_edges, path, shortest_paths
from .products import closure, gemm

__all__ = [
    "LabelledFactor",
    "closure",
    "factorize",
    "from_edges",
    "gemm",
    "path",
    "shortest_paths",
]

"""Labelled frames of pandas: labels in, labels out.

Rows and columns are matched by label, never by position; a missing value is no edge.
"""

from .paths import from_edges, path, shortest_paths
from .products import closure, gemm

__all__ = ["closure", "from_edges", "gemm", "path", "shortest_paths"]

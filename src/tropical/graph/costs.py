"""How long each method takes to find paths: seconds on one core, estimated from counts.

The constants are measured; Decisions says how.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tropical import explain

# A call that searches or computes a closure, and one that eliminates.
CALL, ELIMINATION_CALL = 1e-4, 2e-4
# A matrix from edges: per edge.
DENSE = 1.3e-8
# A closure: per byte of the dtype and vertex cubed, and how much longer it takes with predecessors.
CLOSURE_BYTE, CLOSURE_PREDECESSORS, ONE_THREAD = 5.9e-12, 1.5, 128
# Of more vertices no memory holds a matrix.
MOST_DENSE = 1 << 26
# A search: per vertex, per vertex and binary logarithm of the edges that leave it, and per edge.
VERTEX, VERTEX_DEGREE, EDGE = 15e-9, 25e-9, 1.2e-9
# Vertices that fit into L2, and by how much one takes longer with each doubling beyond those.
IN_CACHE, GROWTH = 4000, 0.16
# Searches go from many sources at once: with so many a thread, in graphs of so many vertices, and
# if they take this share of the time. Per vertex and edge, for each source.
AT_ONCE_SOURCES, AT_ONCE_VERTICES, AT_ONCE_SHARE, AT_ONCE = 128, 1 << 17, 0.6, 2.2e-9
# The order of elimination: per vertex and edge, and for each neighbor that is looked at; and the
# places of the entries.
ORDER, STEP, PLACE = 3e-8, 1.3e-8, 1.5e-8
# From a graph to its factor, per vertex and edge: of a tree, of a graph in the plane.
TREE, PLANE = 8e-8, 1.25e-7
# The weights of a factor: per entry, and per operation and byte of the dtype; and how much longer
# each operation takes in short runs, at most so much per entry.
ENTRY, OPERATION_BYTE, SHORT, SHORT_ENTRY = 1.5e-8, 7.5e-12, 1.3e-10, 4e-8
# A row of lengths: per entry and byte, per vertex and byte; with predecessors per vertex and edge.
ROW_ENTRY_BYTE, ROW_VERTEX_BYTE, ROW_PREDECESSOR = 1.7e-11, 6e-11, 2e-10
# Bytes of the rows that are computed together, where sources are so few that the choice is close.
BATCH_BYTES = 128


def closure_seconds(n: int, dtype: np.dtype[Any], predecessors: bool) -> float:
    """Estimate the seconds of a closure, on all threads."""
    if n > MOST_DENSE:
        return math.inf
    work = n**3 * dtype.itemsize * (CLOSURE_PREDECESSORS if predecessors else 1.0)
    threads = 1  # for small n, of which even the question takes time
    if n > ONE_THREAD:
        threads = explain(n, n, n, dtype=dtype, semiring="minplus").threads
    return CALL + CLOSURE_BYTE * work / threads


def search_seconds(n: int, edges: int) -> float:
    """Estimate the seconds of one search that reaches all vertices."""
    vertex = VERTEX + VERTEX_DEGREE * math.log2(1 + edges / max(n, 1))
    return vertex * growth(n) * n + EDGE * edges


def at_once_share(n: int, edges: int) -> float:
    """Return the share of the time of searches that they take at once, among expanders."""
    share = AT_ONCE * (n + edges) * growth(n) / search_seconds(n, edges)
    return share if share < AT_ONCE_SHARE else 1.0


def growth(n: int) -> float:
    """Return by which factor vertices take longer that do not fit into L2."""
    return 1 + GROWTH * max(math.log2(max(n, 1) / IN_CACHE), 0.0)


def weight_seconds(entries: int, operations: int, itemsize: int) -> float:
    """Estimate the seconds in which the weights of a factor are computed."""
    short = min(SHORT * operations, SHORT_ENTRY * entries)
    return ENTRY * entries + OPERATION_BYTE * itemsize * operations + short


def rows_seconds(
    count: int, entries: int, n: int, edges: int, itemsize: int, predecessors: bool
) -> float:
    """Estimate the seconds of rows from a factor."""
    lanes = BATCH_BYTES // itemsize
    full = -(-count // lanes) * lanes  # the last batch takes as long as another
    row = ROW_VERTEX_BYTE * itemsize * n + (ROW_PREDECESSOR * (n + edges) if predecessors else 0.0)
    return ROW_ENTRY_BYTE * itemsize * entries * full + row * count

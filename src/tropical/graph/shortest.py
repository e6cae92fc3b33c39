"""Shortest paths by searches: by levels, Dijkstra's, or Johnson's where weights are negative."""

from __future__ import annotations

import numpy as np

from tropical import semirings

from . import breadth_first
from .bellman_ford import potentials
from .edge_arrays import Edges
from .progress import Progress, shown
from .search import Search
from .wanted import Found, Wanted


def shortest(
    edges: Edges, wanted: Wanted, predecessors: bool, progress: Progress, johnson: bool
) -> Found:
    """Return the wanted shortest paths; `johnson` where a weight is negative."""
    if johnson:
        h = potentials(edges, sources=wanted.starts(edges.n).astype(np.intp))
        return Search(edges, semirings.minplus, h).find(wanted, predecessors, progress)
    if not predecessors and not wanted.bounded and breadth_first.fits(edges):
        starts = wanted.starts(edges.n).astype(np.intp)
        with shown(progress) as report:
            levels = breadth_first.lengths(edges, starts, report)
        if levels is not None:
            return Found(levels.reshape(*wanted.rows(edges.n), edges.n))
    return Search(edges, semirings.minplus).find(wanted, predecessors, progress)

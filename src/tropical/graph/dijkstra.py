"""Shortest paths from each source by SciPy's Dijkstra, for graphs of few edges.

If all weights are 1, `breadth_first` finds the lengths where this pays.
"""

from __future__ import annotations

import functools
import importlib.util
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tropical import extras
from tropical.arrays import Array

from . import breadth_first
from .bellman_ford import potentials, starts_of
from .predecessors import NO_PREDECESSOR, Predecessors
from .progress import Progress, shown

if TYPE_CHECKING:
    from .edges import Edges

EXTRA = "'tropical-blas[graph]'"
# Edges that one call of SciPy's relaxes; the call hears no Ctrl-C for some tenths of a second.
CALL_EDGES = 1 << 22


@functools.cache
def is_installed() -> bool:
    """Return whether SciPy is installed."""
    return importlib.util.find_spec("scipy") is not None


def from_sources(
    edges: Edges,
    sources: NDArray[np.intp] | None,
    predecessors: bool,
    progress: Progress,
    johnson: bool,
) -> tuple[Array, Predecessors | None]:
    """Return the lengths of shortest paths from `sources`, None for all vertices, and predecessors.

    Parameters
    ----------
    johnson : bool
        Whether to make weights positive first. With the `potentials` h, each edge from i to j
        becomes h[i] - h[j] longer, and so does each path (D. B. Johnson, "Efficient algorithms for
        shortest paths in sparse networks", Journal of the ACM 24, 1977).
    """
    dijkstra = extras.require("scipy.sparse.csgraph", EXTRA).dijkstra
    weight = edges.weight.astype(np.float64, copy=False)
    h = None
    if johnson:
        h = potentials(edges, sources=sources)
        # A weight that rounding makes negative is 0.
        weight = np.maximum(weight + (h[edges.source] - h[edges.target]), 0)
    matrix = _compressed(edges, weight)
    starts = np.arange(edges.n) if sources is None else sources.ravel()
    shape = (*(sources.shape if sources is not None else (edges.n,)), edges.n)
    lengths = np.empty((len(starts), edges.n), edges.dtype)
    before = np.empty(lengths.shape, np.int32) if predecessors else None
    step = max(CALL_EDGES // max(len(weight) + edges.n, 1), 1)
    with shown(progress) as report:
        if not predecessors and breadth_first.fits(edges):
            levels = breadth_first.lengths(edges, starts, report)
            if levels is not None:
                return levels.reshape(shape), None
        for first in range(0, len(starts), step):
            part = slice(first, first + step)
            found = dijkstra(matrix, indices=starts[part], return_predecessors=predecessors)
            if before is not None:
                found, before[part] = found
            if h is not None:
                found += h - h[starts[part], None]
            with np.errstate(over="ignore"):  # in float32
                lengths[part] = found
            if before is not None:
                before[part][lengths[part] == np.inf] = NO_PREDECESSOR
            report(min(first + step, len(starts)) / len(starts))
    return lengths.reshape(shape), None if before is None else before.reshape(shape)


def _compressed(edges: Edges, weight: Array) -> Any:
    """Return SciPy's CSR array, in which parallel edges stay apart."""
    sparse = extras.require("scipy.sparse", EXTRA)
    order = np.argsort(edges.source, kind="stable")
    there = (weight[order], edges.target[order], starts_of(edges))
    return sparse.csr_array(there, shape=(edges.n, edges.n))

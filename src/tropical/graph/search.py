"""Shortest paths from each source by SciPy's Dijkstra, for graphs of few edges."""

from __future__ import annotations

import functools
import importlib.util
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tropical import extras

from . import cycles
from .inputs import Edges
from .progress import Progress, shown
from .star import NO_PREDECESSOR

if TYPE_CHECKING:
    from tropical.semirings import Semiring

Array: TypeAlias = NDArray[Any]
Predecessors: TypeAlias = NDArray[np.int32]

EXTRA = "'tropical-blas[graph]'"
# Edges relaxed in one call of SciPy's, which hears no Ctrl-C: some tenths of a second.
CALL_EDGES = 1 << 22


@functools.cache
def is_there() -> bool:
    """Tell whether SciPy is installed."""
    return importlib.util.find_spec("scipy") is not None


def edges_of(graph: Array | Edges, ring: Semiring) -> Edges:
    """Return the edges of an (n, n) array."""
    if isinstance(graph, Edges):
        return graph
    source, target = np.nonzero(graph != ring.zero(graph.dtype))
    return Edges(len(graph), source, target, graph[source, target])


def from_sources(
    edges: Edges,
    rows: NDArray[np.intp] | None,
    predecessors: bool,
    progress: Progress,
    johnson: bool,
) -> tuple[Array, Predecessors | None]:
    """Return the lengths of shortest paths from `rows`, all vertices if None, and predecessors.

    Parameters
    ----------
    johnson : bool
        Whether to make weights positive first: each edge from i to j is h[i] - h[j] longer, for
        `cycles.potentials` h, and so is each path (D. B. Johnson, "Efficient algorithms for
        shortest paths in sparse networks", Journal of the ACM 24, 1977).
    """
    dijkstra = extras.require("scipy.sparse.csgraph", EXTRA).dijkstra
    weight = edges.weight.astype(np.float64, copy=False)
    h = None
    if johnson:
        h = cycles.potentials(edges)
        # What rounding makes negative is 0.
        weight = np.maximum(weight + (h[edges.source] - h[edges.target]), 0)
    rows_csr = _compressed(edges, weight)
    sources = np.arange(edges.n) if rows is None else rows.ravel()
    lengths = np.empty((len(sources), edges.n), edges.dtype)
    before = np.empty(lengths.shape, np.int32) if predecessors else None
    step = max(CALL_EDGES // max(len(weight) + edges.n, 1), 1)
    with shown(progress) as report:
        for start in range(0, len(sources), step):
            part = slice(start, start + step)
            found = dijkstra(rows_csr, indices=sources[part], return_predecessors=predecessors)
            if before is not None:
                found, before[part] = found
            if h is not None:
                found += h - h[sources[part], None]
            with np.errstate(over="ignore"):  # in float32
                lengths[part] = found
            if before is not None:
                before[part][lengths[part] == np.inf] = NO_PREDECESSOR
            report(min(start + step, len(sources)) / len(sources))
    shape = (*(rows.shape if rows is not None else (edges.n,)), edges.n)
    return lengths.reshape(shape), None if before is None else before.reshape(shape)


def _compressed(edges: Edges, weight: Array) -> Any:
    """Return SciPy's CSR array, in which parallel edges stay apart."""
    sparse = extras.require("scipy.sparse", EXTRA)
    order = np.argsort(edges.source, kind="stable")
    start = np.zeros(edges.n + 1, np.intp)
    np.cumsum(np.bincount(edges.source, minlength=edges.n), out=start[1:])
    there = (weight[order], edges.target[order], start)
    return sparse.csr_array(there, shape=(edges.n, edges.n))

"""Bellman and Ford's method: potentials for negative weights, or a cycle of negative weight."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tropical import _core

from .cycles import NegativeCycleError, name_of, show, weight_of
from .edge_arrays import Compressed, Edges, compressed

# Edges that one call of the core looks at: some tenths of a second, after which Ctrl-C is heard.
CALL_EDGES = 1 << 24


def _overflow(edges: Compressed, h: NDArray[np.float64]) -> bool:
    """Return whether paths with potentials, each edge ``w[i, j] + h[i] - h[j]``, may overflow."""
    if h.min(initial=0) > -(2.0**900):  # as without potentials
        return False
    with np.errstate(over="ignore"):
        shifted = edges.weight + (h[edges.source] - h[edges.target])
        return bool(np.isinf(shifted[np.isfinite(edges.weight)].max(initial=0) * edges.n))


def potentials(
    edges: Edges, item: tuple[int, ...] = (), sources: NDArray[np.intp] | None = None
) -> NDArray[np.float64]:
    """Return h (n,), at most 0, with ``h[j] <= h[i] + w[i, j]`` for every edge, but for rounding.

    h[j] is the length of the shortest path to j from a vertex that has an edge of weight 0 to every
    other vertex.

    Parameters
    ----------
    edges : Edges
        Of any dtype; sums are those of float64.
    item : tuple of int, optional
        The position of the graph in a batch, for the message of an error.
    sources : ndarray of intp, optional
        Only the edges that these vertices reach count; all edges by default.

    Raises
    ------
    NegativeCycleError
        If there is a cycle of negative weight, computed as the exact sum.
    ValueError
        If sums of negative weights overflow, or an edge with potentials does.

    Notes
    -----
    `_core.Potentials` searches: a graph without cycles takes one look at each edge. Rounding alone
    makes some cycles seem negative; the search goes on without these.
    """
    by_source = compressed(edges)
    search = _core.Potentials(
        by_source.start.astype(np.intp, copy=False),
        by_source.target,
        by_source.weight.astype(np.float64, copy=False),
        np.arange(edges.n) if sources is None else sources.ravel(),
    )
    while not search.done:
        search.advance(CALL_EDGES)
        if cycle := search.cycle:
            weight = weight_of(edges, cycle)
            if weight < 0:
                message = f"{name_of(item)}: has a cycle of weight {weight:g}: {show(cycle)}"
                raise NegativeCycleError(message, cycle, weight)
    distance = search.values
    if np.isinf(distance).any() or _overflow(by_source, distance):
        raise ValueError(f"{name_of(item)}: sums of its negative weights overflow float64")
    return distance

"""Best paths between all pairs of vertices: a graph's star, predecessors, and the wanted rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tropical.arrays import Array, is_kind, unmasked

from .edges import Edges, dense_of, number_of_vertices
from .predecessors import Predecessors, edge_predecessors, star_with_predecessors
from .progress import Progress, share_of, shown
from .star import star_in_place

if TYPE_CHECKING:
    from tropical.semirings import Semiring


def all_pairs(
    graph: Array | Edges,
    ring: Semiring,
    overwrite: bool,
    predecessors: bool,
    progress: Progress,
    symmetric: bool = False,
) -> tuple[Array, Predecessors | None]:
    """Return the stars of `graph` and predecessors; `overwrite` computes in an array itself.

    symmetric: whether the matrices of `graph` are. Predecessors take all products anyway.
    """
    if isinstance(graph, Edges):
        a = dense_of(graph, ring)
    elif overwrite:
        check_writeable(graph)
        a = graph
    else:
        a = np.array(graph, order="C")
    with shown(progress) as report:
        if not predecessors:
            star_in_place(a, ring, report, symmetric)
            return a, None
        before = edge_predecessors(a, ring)
        work = np.ascontiguousarray(a)
        items = list(np.ndindex(a.shape[:-2]))
        for done, item in enumerate(items):
            share = share_of(report, done, len(items))
            star_with_predecessors(work[item], ring, before[item], share)
        if work is not a:
            a[...] = work
        return a, before


def check_writeable(w: Array) -> None:
    """Raise ValueError if `w`, which the caller wants overwritten, is read-only."""
    if not w.flags.writeable:
        raise ValueError("overwrite: expected a writeable w, got a read-only one")


def sources_of(
    indices: ArrayLike | None, graph: Array | Edges, name: str = "indices"
) -> NDArray[np.intp] | None:
    """Return the vertices that `indices` names, from 0 to n - 1, in the shape of `indices`.

    `name` is the name of the argument.
    """
    if indices is None:
        return None
    n = number_of_vertices(graph)
    sources = unmasked(name, indices)
    if not is_kind(sources.dtype, "integer") and sources.size:
        raise TypeError(
            f"{name}: expected integers, got dtype {sources.dtype}; "
            "a vertex is given by its position, from 0"
        )
    wrong = (sources < -n) | (sources >= n)
    if wrong.any():
        raise ValueError(f"{name}: expected {-n} <= index < {n}, got {sources[wrong][0]}")
    sources = sources.astype(np.intp)
    return np.where(sources < 0, sources + n, sources)


def vertex_of(vertex: int, graph: Array | Edges, name: str) -> int:
    """Return the one vertex that the argument `name` names, from 0 to n - 1."""
    found = sources_of(vertex, graph, name)
    if found is None or found.ndim:
        raise TypeError(f"{name}: expected an integer, got {vertex!r}")
    return int(found)

"""Predecessors: how best paths and the vertices on them are kept and read, as SciPy does it."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import progress as showing
from .inputs import Edges
from .star import NO_PREDECESSOR, star_in_place, star_with_predecessors

if TYPE_CHECKING:
    from tropical.semirings import Semiring

Array: TypeAlias = NDArray[Any]
Predecessors: TypeAlias = NDArray[np.int32]


def path(predecessors: ArrayLike, i: int, j: int) -> list[int]:
    """Return the vertices of the best path from `i` to `j`.

    Parameters
    ----------
    predecessors : array_like of int, (n, n) or (n,)
        As `shortest_paths` and SciPy's functions return them; (n,) is the row of `i`, such as they
        return for ``indices=i``.
    i, j : int
        From where, and to where.

    Returns
    -------
    list of int
        From `i` to `j`, both included; ``[i]`` where they are the same, and empty where there is
        no path.

    Raises
    ------
    IndexError
        If `i` or `j` is no vertex.
    ValueError
        If `predecessors` has another shape, or leads elsewhere than to `i`.

    Examples
    --------
    >>> from tropical.graph import path
    >>> predecessors = [[-9999, 0, 1], [-9999, -9999, 1], [-9999, -9999, -9999]]
    >>> path(predecessors, 0, 2), path(predecessors, 2, 0), path(predecessors, 2, 2)
    ([0, 1, 2], [], [2])
    """
    table = np.asarray(predecessors)
    n = table.shape[-1] if table.ndim else 0
    if table.ndim not in (1, 2) or table.shape[0] != n:
        raise ValueError(
            f"predecessors: has shape {table.shape}, (n, n) or the row (n,) of i is wanted"
        )
    check_vertices(n, i=i, j=j)
    row = table if table.ndim == 1 else table[i]
    stops = [int(j)]
    while stops[-1] != i:
        before = int(row[stops[-1]])
        if before == NO_PREDECESSOR and len(stops) == 1:
            return []
        if not 0 <= before < n or len(stops) == n:
            raise ValueError(f"predecessors: lead from {j} to {stops[-1]}, not to {i}")
        stops.append(before)
    return stops[::-1]


def check_vertices(n: int, **vertices: int) -> None:
    """Raise IndexError for one that is not in [0, n)."""
    for name, vertex in vertices.items():
        if not 0 <= vertex < n:
            raise IndexError(f"{name}: {vertex} is none of the {n} vertices")


def best_paths(
    graph: Array | Edges,
    ring: Semiring,
    overwrite: bool,
    predecessors: bool,
    progress: showing.Progress,
) -> tuple[Array, Predecessors | None]:
    """Return the stars of `graph`, in itself if it is an array to overwrite, and predecessors."""
    if isinstance(graph, Edges):
        a = graph.dense(ring)
    elif overwrite:
        refuse_read_only(graph)
        a = graph
    else:
        a = np.array(graph, order="C")
    with showing.shown(progress) as report:
        if not predecessors:
            star_in_place(a, ring, report)
            return a, None
        before = edge_predecessors(a, ring)
        work = np.ascontiguousarray(a)
        items = list(np.ndindex(a.shape[:-2]))
        for done, item in enumerate(items):
            star_with_predecessors(
                work[item], ring, before[item], partial(_overall, report, done, len(items))
            )
        if work is not a:
            a[...] = work
        return a, before


def refuse_read_only(w: Array) -> None:
    """Raise where what is to be overwritten must not be."""
    if not w.flags.writeable:
        raise ValueError("overwrite: w is read-only")


def _overall(report: showing.Report, done: int, items: int, share: float) -> None:
    report((done + share) / items)


def edge_predecessors(a: Array, ring: Semiring) -> Predecessors:
    """Return i where there is an edge from i to another j, `NO_PREDECESSOR` elsewhere."""
    n = a.shape[-1]
    # In rows, whatever the layout of `a`: rows that are read and written must lie apart.
    before = np.full(a.shape, NO_PREDECESSOR, np.int32)
    np.copyto(before, np.arange(n, dtype=np.int32)[:, None], where=a != ring.zero(a.dtype))
    before[..., np.arange(n), np.arange(n)] = NO_PREDECESSOR
    return before


def both_ways(graph: Array | Edges, ring: Semiring) -> Array | Edges:
    """Return the graph in which each edge can be gone in both directions, the better of two."""
    if isinstance(graph, Edges):
        return graph.both_ways()
    better = np.minimum if ring.add == "min" else np.maximum
    found: Array = better(graph, graph.swapaxes(-1, -2))
    return found


def rows_of(indices: ArrayLike | None, graph: Array | Edges) -> NDArray[np.intp] | None:
    """Return the vertices that `indices` names, from 0 to n - 1, in its shape."""
    if indices is None:
        return None
    n = graph.n if isinstance(graph, Edges) else graph.shape[-1]
    rows = np.asarray(indices)
    if rows.dtype.kind not in "iu" and rows.size:
        raise TypeError(f"indices: integers are wanted, got dtype {rows.dtype}")
    wrong = (rows < -n) | (rows >= n)
    if wrong.any():
        raise ValueError(f"indices: {rows[wrong][0]} is none of the {n} vertices")
    rows = rows.astype(np.intp)
    return np.where(rows < 0, rows + n, rows)


def select(
    values: Array, before: Predecessors | None, rows: NDArray[np.intp] | None
) -> tuple[Array, Predecessors | None]:
    """Return the rows that are wanted, (..., *rows.shape, n)."""
    if rows is None:
        return values, before
    return values[..., rows, :], None if before is None else before[..., rows, :]

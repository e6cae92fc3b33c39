"""Predecessors: the vertex before each last one on the best paths, in the format of SciPy."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tropical import _core
from tropical.arrays import Array, unmasked

from .progress import most_work
from .star import check_divergence

if TYPE_CHECKING:
    from tropical.semirings import Semiring

    from .progress import Report

Predecessors: TypeAlias = NDArray[np.int32]

NO_PREDECESSOR = -9999  # as in scipy.sparse.csgraph
MOST_DEPTH = 2048  # of a product of predecessors in one call of the core, which hears no Ctrl-C


def path(predecessors: ArrayLike, i: int, j: int, *, indices: ArrayLike | None = None) -> list[int]:
    """Return the vertices of the best path from `i` to `j`.

    Parameters
    ----------
    predecessors : array_like of int, (n, n), (r, n) or (n,)
        The result of `shortest_paths` or of SciPy's functions; (n,) is the row of `i`, the result
        for ``indices=i``.
    i, j : int
        The first and the last vertex.
    indices : array_like of int, (r,) or (), optional
        The vertices that the rows begin at, as `shortest_paths` took them; 0 to n - 1 by default.

    Returns
    -------
    list of int
        From `i` to `j`, both included; ``[i]`` if they are the same, empty if there is no path.

    Raises
    ------
    IndexError
        If `i` or `j` is no vertex.
    TypeError
        If `i` or `j` is no integer, such as the name of a vertex in a networkx graph.
    ValueError
        If `predecessors` has another shape, if its row has the paths from another vertex than `i`,
        or if `i` is not one of `indices`.

    Examples
    --------
    >>> from tropical.graph import path
    >>> predecessors = [[-9999, 0, 1], [-9999, -9999, 1], [-9999, -9999, -9999]]
    >>> path(predecessors, 0, 2), path(predecessors, 2, 0), path(predecessors, 2, 2)
    ([0, 1, 2], [], [2])
    >>> path(predecessors[1:], 1, 2, indices=[1, 2])
    [1, 2]
    """
    table = unmasked("predecessors", predecessors)
    n = table.shape[-1] if table.ndim else 0
    starts = np.arange(n) if indices is None else np.atleast_1d(indices)
    if indices is None and table.ndim == 1:
        starts = np.array([i])
    if table.ndim not in (1, 2) or np.atleast_2d(table).shape != (len(starts), n):
        expected = "(n, n), or the row (n,) of i" if indices is None else f"({len(starts)}, n)"
        raise ValueError(f"predecessors: expected {expected}, got {table.shape}")
    check_vertices(n, i=i, j=j)
    row = np.atleast_2d(table)[place_in(starts, "indices", "i", i)]
    vertices = _trace(row, int(j))
    if vertices[-1] == i:  # also in the row of several sources, of `min_only`
        return vertices[::-1]
    (reached,) = np.nonzero(row != NO_PREDECESSOR)
    start = _trace(row, int(reached[0]))[-1] if len(reached) else i
    if start != i:
        raise ValueError(
            f"predecessors: expected paths from {i} in its row, got paths from {start}: "
            "indices= names the vertices of rows in another order"
        )
    return []


def _trace(row: Predecessors, vertex: int) -> list[int]:
    """Return the path from the first vertex of a row to another, backward."""
    vertices = [vertex]
    while (before := int(row[vertices[-1]])) != NO_PREDECESSOR:
        if not 0 <= before < len(row) or len(vertices) == len(row):
            raise ValueError(
                f"predecessors: lead from {vertex} to {vertices[-1]}, and not to a first vertex"
            )
        vertices.append(before)
    return vertices


def place_in(known: Array, argument: str, name: str, vertex: int) -> int:
    """Return where a vertex is first among those of an argument, or raise ValueError."""
    (places,) = np.nonzero(known == vertex)
    if not len(places):
        raise ValueError(f"{name}: expected one of {argument}, got {vertex}")
    return int(places[0])


def check_vertices(n: int, **vertices: int) -> None:
    """Raise TypeError for a vertex that is no integer, and IndexError if it is not in [0, n)."""
    for name, vertex in vertices.items():
        try:
            inside = 0 <= operator.index(vertex) < n
        except TypeError:
            raise TypeError(f"{name}: expected a vertex's position, got {vertex!r}") from None
        if not inside:
            raise IndexError(f"{name}: expected 0 <= {name} < {n}, got {vertex}")


def edge_predecessors(a: Array, ring: Semiring, first: tuple[int, int] = (0, 0)) -> Predecessors:
    """Return i where there is an edge from i to another j, `NO_PREDECESSOR` elsewhere.

    `a` (..., rows, columns) is the block of a matrix that begins at row and column `first`.
    """
    # C-contiguous, whatever the layout of `a`: rows that are read and written must lie apart.
    before = np.full(a.shape, NO_PREDECESSOR, np.int32)
    i = np.arange(first[0], first[0] + a.shape[-2], dtype=np.int32)[:, None]
    j = np.arange(first[1], first[1] + a.shape[-1])
    np.copyto(before, i, where=(a != ring.zero(a.dtype)) & (i != j))
    return before


def star_with_predecessors(
    a: Array, ring: Semiring, before: Predecessors, progress: Report = lambda share: None
) -> None:
    """Replace a matrix by its star, and edges' predecessors by those of the best paths.

    Parameters
    ----------
    a : ndarray, (n, n)
        The matrix, checked by `closure` or `read`; writeable and C-contiguous.
    ring : Semiring
        A selective one.
    before : ndarray of int32, (n, n)
        On entry i where there is an edge from i to j, `NO_PREDECESSOR` elsewhere. On return the
        last vertex before j on the path of element (i, j).
    progress : callable
        As for `closure`.

    Raises
    ------
    DivergenceError
        As for `closure`; `a` and `before` then hold an intermediate state.

    Notes
    -----
    Of equal paths, the path that Floyd and Warshall's loops find first is right, but not any other:
    with zeros or ties, two vertices could each become the predecessor of the other. So
    `_core.eliminate` works on a block of rows in the order of the loops. Other rows then take a
    product, whose path counts only where it is better than the known one. Halves of halves make
    such products few and large, which saves lookups of predecessors.
    """
    if not len(a):
        return
    i = np.arange(len(a))
    a[i, i] = ring.add_ufunc(a[i, i], ring.one(a.dtype))
    take_paths_within(a, before, ring, (0, len(a)), progress)
    np.fill_diagonal(before, NO_PREDECESSOR)  # a path of no edges has no predecessor
    check_divergence(a, ring)


def take_paths_within(
    a: Array,
    before: Predecessors,
    ring: Semiring,
    vertices: tuple[int, int],
    progress: Report = lambda share: None,
) -> None:
    """Let the rows of these vertices take all paths through these vertices."""
    start, stop = vertices
    step = _core.STAR_SIZE
    if stop - start <= step:
        _core.eliminate(a[start:stop], ring, before[start:stop], start)
        progress(stop / len(a))
        return
    middle = start + (stop - start + step) // (2 * step) * step
    halves = (start, middle), (middle, stop)
    for via, other in (halves, halves[::-1]):
        take_paths_within(a, before, ring, via, progress)
        _take_paths_through(a, before, ring, via, other)


def _take_paths_through(
    a: Array, before: Predecessors, ring: Semiring, via: tuple[int, int], rows: tuple[int, int]
) -> None:
    """Let rows take the paths through the vertices `via`, whose own rows are complete."""
    depth = min(via[1] - via[0], MOST_DEPTH)
    step = max(most_work(a) // (2 * depth * len(a)), 128)
    for first in range(*rows, step):
        part = slice(first, min(first + step, rows[1]))
        left = a[part, slice(*via)].copy()
        for start in range(0, left.shape[1], depth):
            middle = slice(via[0] + start, min(via[0] + start + depth, via[1]))
            factor = left[:, start : start + depth]
            _core.relax(factor, a[middle], ring, a[part], before[part], before[middle])

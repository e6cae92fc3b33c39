"""Where paths lead: in an array on packed bits, in a sparse graph without a matrix."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tropical import semirings
from tropical.arrays import Array
from tropical.foreign import answers_alike

from .edge_arrays import Edges, compressed, in_core
from .edges import read_pattern
from .progress import Progress, shown
from .reachability import reach
from .search import Search
from .wanted import Wanted, wanted

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from .edges import GraphLike

Bools = NDArray[np.bool_]
ROWS = 1 << 12  # of one call of the core, between two reports of progress


@answers_alike
def transitive_closure(
    a: GraphLike,
    *,
    reflexive: bool | None = False,
    overwrite: bool = False,
    indices: ArrayLike | None = None,
    targets: ArrayLike | None = None,
    limit: float | None = None,
    min_only: bool = False,
    progress: Progress = None,
) -> NDArray[np.bool_]:
    """Return where there is a path from i to j.

    Parameters
    ----------
    a : array_like (..., n, n), sparse array (n, n) or networkx graph
        Where there is an edge from i to j: the elements of an array that are not 0, or the stored
        elements of a sparse array, also a stored 0. Leading axes of an array are a batch.
    reflexive : bool or None, default False
        The diagonal, as for directed graphs of networkx. False: whether the vertex is on a cycle,
        such as there and back on an undirected edge; True: always True; None: whether the vertex
        has an edge to itself.
    overwrite : bool, default False
        Compute in `a` itself if `a` is an array of booleans; ignored for other graphs.
    indices, targets : int or array_like of int, optional
        The vertices that paths lead from, and to; all by default, as in `shortest_paths`.
    limit : float, optional
        The greatest number of edges of a path. Not for batches.
    min_only : bool, default False
        Whether a path leads from any of `indices`, as in `shortest_paths`.
    progress : callable or bool, optional
        As in `shortest_paths`.

    Returns
    -------
    ndarray of bool, (..., n, n)
        In the memory layout of `a`. With `indices` and `targets`, ``(..., *indices.shape,
        *targets.shape)``.

    Raises
    ------
    ValueError
        If `a` is not square, or holds a NaN or an infinity, which may or may not mean an edge; if
        `limit` is negative or given for a batch; or if `reflexive` is None with `min_only`.
    TypeError
        If `a` holds neither numbers nor booleans.

    Notes
    -----
    Sparse graphs stay sparse: one sweep over the strong components finds the rows of 512 sources.
    For arrays, strong components on packed bits (P. Purdom, "A transitive closure algorithm", BIT
    10, 1970). If too many edges lead between components, S. Warshall's loops take over ("A theorem
    on Boolean matrices", Journal of the ACM 9, 1962).

    Examples
    --------
    >>> from tropical.graph import transitive_closure
    >>> transitive_closure([[0, 1, 0], [0, 0, 1], [0, 0, 0]]).astype(int)
    array([[0, 1, 1],
           [0, 0, 1],
           [0, 0, 0]])
    """
    there = read_pattern(a)
    want = wanted(there, indices, targets, limit, min_only)
    if min_only and reflexive is None:
        raise ValueError("reflexive: expected True or False with min_only, got None")
    if isinstance(there, Edges):
        return reached_rows(there, want, reflexive, progress)
    if limit is not None:
        if there.ndim > 2:
            raise ValueError("limit: expected None for a batch")
        source, target = np.nonzero(there)
        edges = Edges(len(there), source, target, np.ones(len(source), np.float32))
        return reached_rows(edges, want, reflexive, progress)
    paths = there if overwrite and there is a else np.empty_like(there)
    i = np.arange(there.shape[-1])
    loops = there[..., i, i]
    with shown(progress) as report:
        reach(there, paths, report)
    if reflexive is not False:
        paths[..., i, i] = reflexive or loops
    if want.sources is not None:
        paths = paths[..., want.sources, :]
    if min_only:
        axes = 1 if want.sources is None else want.sources.ndim
        paths = np.asarray(paths.any(axis=tuple(range(-1 - axes, -1))))
    return paths if want.targets is None else paths[..., want.targets]


def reached_rows(edges: Edges, want: Wanted, reflexive: bool | None, progress: Progress) -> Bools:
    """Return whether a path of an edge or more leads from the sources to the targets.

    `reflexive` is that of `transitive_closure`.
    """
    want.check_lengths()
    graph = _Graph(edges, want.limit)
    starts, ends, n = want.starts(edges.n), want.ends(), edges.n
    if want.min_only:
        (row,) = graph.beyond(starts)
        if reflexive:
            row[starts] = True
        return row if want.targets is None else row[want.targets]
    out = np.empty((len(starts), want.width(n)), np.bool_)
    with shown(progress) as report:
        for begin in range(0, len(starts), ROWS):
            own = starts[begin : begin + ROWS]
            rows, cyclic = graph.rows(own)
            diagonal = graph.loops[own] if reflexive is None else reflexive or cyclic
            rows[np.arange(len(own)), own] = diagonal
            out[begin : begin + ROWS] = rows if ends is None else rows[:, ends]
            report(min(begin + ROWS, len(starts)) / len(starts))
    return out.reshape((*want.rows(n), *want.columns(n)))


class _Graph:
    """A graph whose edges all have the weight 1; the limit is the greatest number of edges."""

    def __init__(self, edges: Edges, limit: float | None) -> None:
        own = compressed(edges)
        own.check()
        self.edges = own.with_weight(np.ones(len(own.weight), np.float32))
        self.limit = limit
        self.core = in_core(self.edges)
        self.numbers = self.core.components()
        self.inside = self.numbers[self.edges.source] == self.numbers[self.edges.head]

    @functools.cached_property
    def loops(self) -> Bools:
        """Which vertices have an edge to themselves, (n,)."""
        return self._sources_of(self.edges.source == self.edges.head)

    @functools.cached_property
    def cyclic(self) -> Bools:
        """Which vertices are on a cycle, (n,)."""
        return self._sources_of(self.inside)

    def _sources_of(self, chosen: Bools) -> Bools:
        found = np.zeros(self.edges.n, np.bool_)
        found[self.edges.source[chosen]] = True
        return found

    def rows(self, starts: NDArray[np.int32]) -> tuple[Bools, Bools]:
        """Return where paths lead, (s, n), but for each start itself: whether it is on a cycle."""
        if self.limit is None:
            return self._reach(starts, together=False), self.cyclic[starts]
        lengths = self._lengths(starts, self.limit, together=False)
        cyclic = [
            bool((row[self._tails(start)] + 1 <= self.limit).any())
            for row, start in zip(lengths, starts, strict=True)
        ]
        return lengths < np.inf, np.array(cyclic, np.bool_)

    def _tails(self, start: np.int32) -> NDArray[np.intp]:
        """Return the sources of edges that close a cycle through a vertex."""
        return self.edges.source[self.inside & (self.edges.head == start)]

    def beyond(self, starts: NDArray[np.int32]) -> Bools:
        """Return where paths of an edge or more lead from any start, (1, n)."""
        first = np.zeros(self.edges.n, np.bool_)
        first[starts] = True
        heads = np.unique(self.edges.head[first[self.edges.source]])
        if not len(heads) or (self.limit is not None and self.limit < 1):
            return np.zeros((1, self.edges.n), np.bool_)
        if self.limit is None:
            return self._reach(heads, together=True)
        return np.asarray(self._lengths(heads, self.limit - 1, together=True) < np.inf)

    def _reach(self, starts: NDArray[np.int32], together: bool) -> Bools:
        out = np.empty((1 if together else len(starts), self.edges.n), np.bool_)
        self.core.reach(starts, together, self.numbers, None, out)
        return out

    def _lengths(self, starts: NDArray[np.int32], limit: float, together: bool) -> Array:
        want = Wanted(starts.astype(np.intp), None, limit, together)
        found = Search(self.edges, semirings.minplus).find(want)
        return found.values.reshape(-1, self.edges.n)

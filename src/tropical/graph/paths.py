"""Shortest paths between all pairs, or from some vertices, with the arguments of SciPy's function.

The options of all functions of paths stand in `PathOptions`, for their overloads.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypedDict, overload

import numpy as np
from numpy.typing import ArrayLike

from tropical.arrays import Array, is_kind
from tropical.foreign import answers_alike

from . import breadth_first
from .all_pairs import all_pairs, check_writeable
from .bellman_ford import potentials
from .by_elimination import eliminated_paths
from .cycles import NegativeCycleError
from .edges import Edges, dense_of, edges_of, leads_both_ways
from .method import RING, choose, is_negative, prepare
from .progress import Progress, shown
from .search import Search
from .star import DivergenceError, check_divergence
from .wanted import Found, Wanted, wanted

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .edges import GraphLike, Weight
    from .predecessors import Predecessors


class PathOptions(TypedDict, total=False):
    """What every function of paths takes by name; `shortest_paths` describes each option."""

    overwrite: bool
    indices: ArrayLike | None
    targets: ArrayLike | None
    limit: float | None
    weight: Weight
    progress: Progress


class DirectedOptions(PathOptions, total=False):
    """The options of functions for graphs that may be undirected."""

    directed: bool


class ShortestOptions(DirectedOptions, total=False):
    """The options of `shortest_paths`."""

    unweighted: bool


@overload
def shortest_paths(
    w: GraphLike,
    method: str = "auto",
    *,
    return_predecessors: Literal[False] = False,
    min_only: bool = False,
    **options: Unpack[ShortestOptions],
) -> Array: ...
@overload
def shortest_paths(
    w: GraphLike,
    method: str = "auto",
    *,
    return_predecessors: Literal[True],
    min_only: Literal[False] = False,
    **options: Unpack[ShortestOptions],
) -> tuple[Array, Predecessors]: ...
@overload
def shortest_paths(
    w: GraphLike,
    method: str = "auto",
    *,
    return_predecessors: Literal[True],
    min_only: Literal[True],
    **options: Unpack[ShortestOptions],
) -> tuple[Array, Predecessors, Predecessors]: ...
@answers_alike
def shortest_paths(
    w: GraphLike,
    method: str = "auto",
    *,
    directed: bool = True,
    return_predecessors: bool = False,
    unweighted: bool = False,
    overwrite: bool = False,
    indices: ArrayLike | None = None,
    targets: ArrayLike | None = None,
    limit: float | None = None,
    min_only: bool = False,
    weight: Weight = "weight",
    progress: Progress = None,
) -> Array | tuple[Array, ...]:
    """Return the lengths of the shortest paths; in an array +inf, not 0, means "no edge".

    The arguments and results are those of ``scipy.sparse.csgraph.shortest_path``.

    Parameters
    ----------
    w : array_like (..., n, n), sparse array (n, n) or networkx graph
        Weights of the edges from i to j; a weight may be negative.

        In an array +inf means no edge (in an integer array the greatest value of the dtype), and 0
        is an edge of weight 0. If 0 means no edge, pass ``scipy.sparse.csr_array(w)``. Leading
        axes are a batch of graphs. The dtype is one of minplus, or bool: True is an edge of weight
        1. Weights of float16 and bfloat16 (`Semiring.stored`) are copied to float32. The lengths
        are rounded once, to the dtype of `w`; a length beyond the dtype becomes infinite. In a
        masked array and a sparse array, elements that are masked or not stored are no edges; all
        others are edges, also a stored 0, but for the zeros that fill the blocks of a BSR array. If
        a CSR or CSC array stores an element twice, these are two edges; elements that a COO array
        stores twice are added up, as in SciPy. The vertices of a networkx graph are numbered in the
        graph's order.
    method : str, default "auto"
        ``"FW"``: Floyd and Warshall's algorithm by blocks, on an array; ``"D"``: Dijkstra's search
        from each source, for weights of 0 or more; ``"J"`` or ``"BF"``: Johnson's algorithm, which
        is Bellman and Ford's method once, then ``"D"``; ``"E"``: elimination, see `factorize`.
        ``"auto"`` chooses by counting, see `explain_shortest_paths`. Sums of floats may differ in
        the last bits between methods.
    directed : bool, default True
        False: each edge leads in both directions, with the lesser of two weights.
    return_predecessors : bool, default False
        Return also the last vertex before each end, see `path`.
    unweighted : bool, default False
        Count edges: each edge weighs 1.
    overwrite : bool, default False
        Write the lengths into `w` itself if ``"FW"`` can compute in that array; ignored otherwise,
        also for float16 and bfloat16, which `closure` can overwrite.
    indices : int or array_like of int, optional
        The vertices from which paths are wanted; all vertices by default. Negative numbers count
        from the end.
    targets : int or array_like of int, optional
        The vertices to which paths are wanted; all vertices by default. A search ends when it has
        found all of them, so that near targets take little time; see also `Searcher`.
    limit : float, optional
        The greatest length, at least 0; a longer path is none. A search goes no further.
    min_only : bool, default False
        Only the shortest path to each vertex from any of `indices`, such as the way from the
        nearest depot. The results then have no axes for `indices`.
    weight : str, callable or None, default "weight"
        The attribute of a networkx graph's edges that is the weight; 1 if an edge has none. Or, as
        in networkx, a function of both vertices and the attributes of the edge (of a multigraph: a
        dictionary of the attributes of all edges between the vertices) that returns the weight, or
        None if there is no edge.
    progress : callable or bool, optional
        A function that is called now and then with the share that is done, up to 1; True draws a
        bar on standard error, if that is a terminal, or in a notebook (needs rich).

    Returns
    -------
    lengths : ndarray, (..., n, n), or ``(..., *indices.shape, n)``
        +inf (the dtype's greatest integer) where there is no path, 0 from a vertex to itself. The
        dtype is that of an array; float32 for other graphs of float32, else float64. With `targets`
        the last axes are ``targets.shape``.
    predecessors : ndarray of int32, (..., n, n), or ``(..., *indices.shape, n)``
        The vertex before j on the path from i; -9999 where there is no path, and for i itself. With
        `targets` the last axis still has all vertices; only those on paths to targets need to have
        a predecessor.
    sources : ndarray of int32, (..., n), or ``(..., *targets.shape)``
        With `min_only` and `return_predecessors`: the one of `indices` that the path to j begins
        at; -9999 where there is no path.

    Raises
    ------
    NegativeCycleError
        If there is a cycle of negative weight; the error carries a cycle. With `indices`, a cycle
        that none of these vertices reaches may be ignored. A `DivergenceError`, which carries no
        cycle, if sums of integers exceed 2**53.
    ValueError
        If `w` is not square or holds a NaN or -inf, if the method is unknown or cannot take `w`, if
        indices or targets are out of range, or if `limit` is negative. If predecessors are asked
        for within a `limit`, and a weight is negative: a path within the limit may pass vertices
        beyond it.
    TypeError
        If the dtype is none of minplus, or indices or targets are no integers.
    NotInstalledError
        If rich is asked for and not installed.

    Notes
    -----
    If every edge of a sparse graph has the weight 1, and no predecessors are asked for, method "D"
    searches by levels from 64 sources and more at once, unless there are many levels.

    A length beyond the dtype becomes +inf (the dtype's greatest integer), which also means "no
    path": pass a wider dtype if paths may be that long. Johnson's algorithm rounds as much as the
    largest sum of negative weights is rounded. A cycle whose weight is below 0 by no more than sums
    are rounded may pass unnoticed. If Ctrl-C interrupts the call, `w` is unchanged; with
    `overwrite`, `w` is then between `w` and the result.

    Examples
    --------
    >>> import numpy as np
    >>> from tropical.graph import path, shortest_paths
    >>> inf = np.inf
    >>> roads = np.array([[inf, 7, inf, 2],
    ...                   [7, inf, 1, 3],
    ...                   [inf, 1, inf, inf],
    ...                   [2, 3, inf, inf]])
    >>> lengths, predecessors = shortest_paths(roads, return_predecessors=True)
    >>> lengths
    array([[0., 5., 6., 2.],
           [5., 0., 1., 3.],
           [6., 1., 0., 4.],
           [2., 3., 4., 0.]])
    >>> path(predecessors, 0, 2)
    [0, 3, 1, 2]

    Which of the vertices 1 and 2 is nearer, and how far is it?

    >>> shortest_paths(roads, indices=[1, 2], min_only=True)
    array([5., 0., 0., 3.])
    >>> float(shortest_paths(roads, indices=0, targets=1))
    5.0
    """
    bounded = targets is not None or limit is not None or min_only
    graph = prepare(w, directed, unweighted, weight, keep=bounded)
    want = wanted(graph, indices, targets, limit, min_only)
    want.check_lengths()
    negative, two_way = is_negative(graph), leads_both_ways(graph, directed)
    choice = choose(graph, method, want, return_predecessors, negative, two_way)
    if choice.method == "FW":
        if negative:
            want.check_limit(return_predecessors)
        values, before = _by_blocks(
            graph, w, overwrite, return_predecessors, progress, negative, symmetric=not directed
        )
        return want.select(values, before, RING).answer(w)
    edges = choice.counted.edges or edges_of(graph, RING)
    if choice.method == "E":
        if negative:
            want.check_limit(return_predecessors)
        core = choice.counted.core
        try:
            return eliminated_paths(
                edges, RING, want, return_predecessors, progress, two_way, core
            ).answer(w)
        except NegativeCycleError:
            if want.sources is None:
                raise  # else Johnson's algorithm says whether a source reaches the cycle
    return _by_search(edges, want, return_predecessors, progress, negative).answer(w)


def _by_search(
    edges: Edges, want: Wanted, predecessors: bool, progress: Progress, negative: bool
) -> Found:
    """Return the wanted paths by searches: by levels, Dijkstra's, or Johnson's algorithm."""
    if negative:
        h = potentials(edges, sources=want.starts(edges.n).astype(np.intp))
        return Search(edges, RING, h).find(want, predecessors, progress)
    if not predecessors and not want.bounded and breadth_first.fits(edges):
        starts = want.starts(edges.n).astype(np.intp)
        with shown(progress) as report:
            levels = breadth_first.lengths(edges, starts, report)
        if levels is not None:
            return Found(levels.reshape(*want.rows(edges.n), edges.n))
    return Search(edges, RING).find(want, predecessors, progress)


def _by_blocks(
    graph: Array | Edges,
    w: object,
    overwrite: bool,
    predecessors: bool,
    progress: Progress,
    negative: bool,
    symmetric: bool,
) -> tuple[Array, Predecessors | None]:
    """Return the star and its predecessors, in `w` itself if `graph` is `w` and may be overwritten.

    If weights are negative, a copy becomes the star: finding a cycle still needs the graph. If
    weights are also fractions, a path can seem to become shorter on a cycle of weight 0, by
    rounding: then each vertex of the cycle is the predecessor of the next one. So `_shifted` finds
    the predecessors of such a graph.
    """
    in_place = overwrite and graph is w
    if in_place and not isinstance(graph, Edges):
        check_writeable(graph)
    if not negative:
        return all_pairs(graph, RING, in_place, predecessors, progress, symmetric)
    exact = is_kind(graph.dtype, "integer")
    twice = predecessors and not exact
    try:
        lengths, before = all_pairs(
            graph, RING, False, predecessors and exact, None if twice else progress
        )
        check_divergence(lengths, RING, "w")  # of rounded sums, as blocks miss some
    except DivergenceError:
        if exact:
            _potentials(graph)
            raise  # sums beyond 2**53, of which float64 shows no cycle
        lengths, before = _shifted(graph, predecessors, progress)
    if twice and before is None:
        before = _shifted(graph, True, progress)[1]
    if in_place and not isinstance(graph, Edges):
        graph[...] = lengths
        lengths = graph
    return lengths, before


def _shifted(
    graph: Array | Edges, predecessors: bool, progress: Progress
) -> tuple[Array, Predecessors | None]:
    """Return the star of a graph in which only rounding can make the weight of a cycle negative.

    As in Johnson's algorithm, potentials make the weights positive first, in float64.
    """
    a = dense_of(graph, RING)
    h = _potentials(a)
    shift = h[..., :, None] - h[..., None, :]
    lengths, before = all_pairs(np.maximum(a + shift, 0), RING, True, predecessors, progress)
    with np.errstate(over="ignore"):  # in float32
        return (lengths - shift).astype(a.dtype, copy=False), before


def _potentials(graph: Array | Edges) -> Array:
    """Return the potentials (..., n) of each graph, or raise NegativeCycleError."""
    if isinstance(graph, Edges):
        return potentials(graph)
    h = np.zeros(graph.shape[:-1])
    for item in np.ndindex(graph.shape[:-2]):
        h[item] = potentials(edges_of(graph[item], RING), item)
    return h

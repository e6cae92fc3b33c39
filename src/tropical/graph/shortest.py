"""Shortest paths between all pairs, or from some vertices, with the arguments of SciPy's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import cycles, search
from .choice import RING, choose, is_negative, prepare
from .inputs import Edges
from .star import DivergenceError
from .trees import best_paths, refuse_read_only, rows_of, select

if TYPE_CHECKING:
    from typing import Literal

    from .inputs import GraphLike
    from .progress import Progress

Array: TypeAlias = NDArray[Any]
Predecessors: TypeAlias = NDArray[np.int32]


@overload
def shortest_paths(
    w: GraphLike,
    method: str = "auto",
    *,
    directed: bool = True,
    return_predecessors: Literal[False] = False,
    unweighted: bool = False,
    overwrite: bool = False,
    indices: ArrayLike | None = None,
    weight: str | None = "weight",
    progress: Progress = None,
) -> Array: ...
@overload
def shortest_paths(
    w: GraphLike,
    method: str = "auto",
    *,
    directed: bool = True,
    return_predecessors: Literal[True],
    unweighted: bool = False,
    overwrite: bool = False,
    indices: ArrayLike | None = None,
    weight: str | None = "weight",
    progress: Progress = None,
) -> tuple[Array, Predecessors]: ...
def shortest_paths(
    w: GraphLike,
    method: str = "auto",
    *,
    directed: bool = True,
    return_predecessors: bool = False,
    unweighted: bool = False,
    overwrite: bool = False,
    indices: ArrayLike | None = None,
    weight: str | None = "weight",
    progress: Progress = None,
) -> Array | tuple[Array, Predecessors]:
    """Return the lengths of the shortest paths, as ``scipy.sparse.csgraph.shortest_path`` does.

    Parameters
    ----------
    w : array_like (..., n, n), sparse array (n, n) or networkx graph
        Weights of the edges from i to j, also negative ones.

        An array says +inf where there is no edge, an integer one the greatest value of its dtype,
        and 0 is an edge of weight 0; graphs may lie along leading axes. The dtypes are those of
        minplus, and of booleans, which say where there is an edge of weight 1. In a masked array
        and a sparse one, what is masked or not stored is no edge, what is stored is one, also a 0.
        A networkx graph's vertices are numbered as it lists them.
    method : str, default "auto"
        ``"FW"``: Floyd and Warshall's algorithm by blocks, on an array; ``"D"``: SciPy's Dijkstra
        from each source, for weights that are not negative; ``"J"`` or ``"BF"``: Bellman and Ford's
        method once, then ``"D"``, which together is Johnson's. See `explain_shortest_paths`.
    directed : bool, default True
        False: each edge can be gone in both directions, at the lesser of two weights.
    return_predecessors : bool, default False
        Return also the last vertex before each end, see `path`.
    unweighted : bool, default False
        Count edges: each weighs 1.
    overwrite : bool, default False
        Leave the lengths in `w` itself where it is an array whose values can be used as they are,
        with ``"FW"``; else it is ignored.
    indices : int or array_like of int, optional
        The vertices from which paths are wanted; all of them unless given. Negative ones count from
        the end.
    weight : str or None, default "weight"
        The attribute of a networkx graph's edges that is their weight; 1 where an edge has none.
    progress : callable or bool, optional
        Called now and then with the share that is done, up to 1; True draws a bar (needs rich).

    Returns
    -------
    lengths : ndarray, (..., n, n), or ``(..., *indices.shape, n)``
        +inf (the dtype's greatest integer) where there is no path, 0 from a vertex to itself. Of
        the dtype of an array; for all else of float32 if the weights are that, or float64.
    predecessors : ndarray of int32, of the same shape
        The vertex before j on the path from i; -9999 where there is none, and for i itself.

    Raises
    ------
    NegativeCycleError
        If there is a cycle of negative weight; it carries one. `DivergenceError`, which carries
        none, where sums of integers are beyond 2**53.
    ValueError
        If `w` is not square or holds a NaN or -inf, for an unknown method or one that cannot take
        `w`, for indices out of range.
    TypeError
        For a dtype that is none of minplus', and for indices that are no integers.
    NotInstalledError
        If SciPy or rich is asked for and not installed.

    Notes
    -----
    Sums of integers saturate. Johnson's algorithm rounds as the largest sum of negative weights is
    rounded. Interrupted by Ctrl-C, it leaves `w` as it was, or with `overwrite`
    between `w` and the result.

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
    """
    graph = prepare(w, directed, unweighted, weight)
    rows = rows_of(indices, graph)
    negative = is_negative(graph)
    chosen, _ = choose(graph, method, rows, return_predecessors, negative)
    if chosen == "FW":
        found = _by_blocks(graph, w, overwrite, return_predecessors, progress, negative)
        lengths, predecessors = select(*found, rows)
    else:
        edges = search.edges_of(graph, RING)
        lengths, predecessors = search.from_sources(
            edges, rows, return_predecessors, progress, johnson=chosen == "J"
        )
    return lengths if predecessors is None else (lengths, predecessors)


def _by_blocks(
    graph: Array | Edges,
    w: object,
    overwrite: bool,
    predecessors: bool,
    progress: Progress,
    negative: bool,
) -> tuple[Array, Predecessors | None]:
    """Return the star and its predecessors, in `w` itself if `graph` is that and may be it.

    Where weights are negative, a copy becomes the star: the graph is still needed to find a cycle.
    Where they are fractions as well, round a cycle of weight 0 a path can seem to get shorter, so
    that each of its vertices is the predecessor of the next: predecessors are those of `_shifted`.
    """
    in_place = overwrite and graph is w
    if in_place and not isinstance(graph, Edges):
        refuse_read_only(graph)
    if not negative:
        return best_paths(graph, RING, in_place, predecessors, progress)
    exact = graph.dtype.kind == "i"
    twice = predecessors and not exact
    try:
        lengths, before = best_paths(
            graph, RING, False, predecessors and exact, None if twice else progress
        )
    except DivergenceError:
        if exact:
            _potentials(graph)
            raise  # sums beyond 2**53, where a cycle escapes float64
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
    """Return the star where a cycle's weight may be negative by rounding alone.

    As Johnson does for `search.from_sources`, weights are made positive first, in float64.
    """
    a = graph.dense(RING) if isinstance(graph, Edges) else graph
    h = _potentials(a)
    shift = h[..., :, None] - h[..., None, :]
    lengths, before = best_paths(np.maximum(a + shift, 0), RING, True, predecessors, progress)
    with np.errstate(over="ignore"):  # in float32
        return (lengths - shift).astype(a.dtype, copy=False), before


def _potentials(graph: Array | Edges) -> Array:
    """Return the potentials (..., n) of each graph, or raise NegativeCycleError."""
    if isinstance(graph, Edges):
        return cycles.potentials(graph)
    h = np.zeros(graph.shape[:-1])
    for item in np.ndindex(graph.shape[:-2]):
        h[item] = cycles.potentials(search.edges_of(graph[item], RING), item)
    return h

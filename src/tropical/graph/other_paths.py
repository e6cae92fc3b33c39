"""Widest, minimax and longest paths: `shortest_paths` over other semirings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias, overload

from numpy.typing import ArrayLike

from tropical import semirings
from tropical.arrays import Array, is_kind
from tropical.foreign import answers_alike

from .acyclic import acyclic_paths
from .all_pairs import all_pairs
from .by_elimination import eliminated_paths
from .counting import Task
from .cycles import refuse_cycles
from .edges import Edges, both_ways, edges_of, leads_both_ways, read
from .method import Choice, cheapest
from .predecessors import Predecessors
from .search import Search, improves
from .wanted import Found, Wanted, wanted

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from tropical.semirings import Semiring

    from .edges import GraphLike, Weight
    from .paths import DirectedOptions, PathOptions
    from .progress import Progress

Paths: TypeAlias = Array | tuple[Array, ...]
# indices, targets, limit and min_only
Bounds: TypeAlias = "tuple[ArrayLike | None, ArrayLike | None, float | None, bool]"


@overload
def widest_paths(
    w: GraphLike,
    *,
    return_predecessors: Literal[False] = False,
    min_only: bool = False,
    **options: Unpack[DirectedOptions],
) -> Array: ...
@overload
def widest_paths(
    w: GraphLike,
    *,
    return_predecessors: Literal[True],
    min_only: Literal[False] = False,
    **options: Unpack[DirectedOptions],
) -> tuple[Array, Predecessors]: ...
@overload
def widest_paths(
    w: GraphLike,
    *,
    return_predecessors: Literal[True],
    min_only: Literal[True],
    **options: Unpack[DirectedOptions],
) -> tuple[Array, Predecessors, Predecessors]: ...
@answers_alike
def widest_paths(
    w: GraphLike,
    *,
    directed: bool = True,
    return_predecessors: bool = False,
    overwrite: bool = False,
    indices: ArrayLike | None = None,
    targets: ArrayLike | None = None,
    limit: float | None = None,
    min_only: bool = False,
    weight: Weight = "weight",
    progress: Progress = None,
) -> Paths:
    """Return the capacities of the widest paths; the narrowest edge is a path's capacity.

    Parameters
    ----------
    w : array_like (..., n, n), sparse array (n, n) or networkx graph
        Capacities of the edges. In an array -inf means no edge (in an integer array the least value
        of the dtype; a capacity of 0 also serves). Otherwise as in `shortest_paths`.
    directed, return_predecessors, overwrite, indices, targets, min_only, weight, progress
        As in `shortest_paths`; the greater of two capacities counts.
    limit : float, optional
        The least capacity; a path of less is none.

    Returns
    -------
    capacities : ndarray, (..., n, n), or ``(..., *indices.shape, n)``
        -inf (the least integer) where there is no path, +inf (the greatest) from a vertex to
        itself.
    predecessors, sources : ndarray of int32
        As in `shortest_paths`.

    Raises
    ------
    ValueError, TypeError, NotInstalledError
        As in `shortest_paths`.

    Notes
    -----
    The (max, min) star: M. Pollack, "The maximum capacity through a network", Operations Research
    8, 1960.

    Examples
    --------
    >>> import numpy as np
    >>> from tropical.graph import path, widest_paths
    >>> seats = np.array([[0, 300, 0, 500], [0, 0, 400, 0], [0, 0, 0, 0], [0, 500, 0, 0]])
    >>> capacities, predecessors = widest_paths(seats, return_predecessors=True)
    >>> int(capacities[0, 2]), path(predecessors, 0, 2)
    (400, [0, 3, 1, 2])
    """
    bounds = (indices, targets, limit, min_only)
    ring = semirings.maxmin
    found = star_paths(w, ring, directed, return_predecessors, overwrite, bounds, weight, progress)
    return found.answer(w)


@overload
def minimax_paths(
    w: GraphLike,
    *,
    return_predecessors: Literal[False] = False,
    min_only: bool = False,
    **options: Unpack[DirectedOptions],
) -> Array: ...
@overload
def minimax_paths(
    w: GraphLike,
    *,
    return_predecessors: Literal[True],
    min_only: Literal[False] = False,
    **options: Unpack[DirectedOptions],
) -> tuple[Array, Predecessors]: ...
@overload
def minimax_paths(
    w: GraphLike,
    *,
    return_predecessors: Literal[True],
    min_only: Literal[True],
    **options: Unpack[DirectedOptions],
) -> tuple[Array, Predecessors, Predecessors]: ...
@answers_alike
def minimax_paths(
    w: GraphLike,
    *,
    directed: bool = True,
    return_predecessors: bool = False,
    overwrite: bool = False,
    indices: ArrayLike | None = None,
    targets: ArrayLike | None = None,
    limit: float | None = None,
    min_only: bool = False,
    weight: Weight = "weight",
    progress: Progress = None,
) -> Paths:
    """Return the heights of the lowest paths; the greatest weight is a path's height.

    Parameters
    ----------
    w : array_like (..., n, n), sparse array (n, n) or networkx graph
        Heights of the edges. In an array +inf means no edge (in an integer array the greatest value
        of the dtype). Otherwise as in `shortest_paths`.
    directed, return_predecessors, overwrite, indices, targets, min_only, weight, progress
        As in `shortest_paths`.
    limit : float, optional
        The greatest height; a higher path is none.

    Returns
    -------
    heights : ndarray, (..., n, n), or ``(..., *indices.shape, n)``
        +inf (the greatest integer) where there is no path, -inf (the least) from a vertex to
        itself.
    predecessors, sources : ndarray of int32
        As in `shortest_paths`.

    Raises
    ------
    ValueError, TypeError, NotInstalledError
        As in `shortest_paths`.

    Notes
    -----
    The (min, max) star. In an undirected graph these are the paths in a minimum spanning tree
    (T. C. Hu, "The maximum capacity route problem", Operations Research 9, 1961).

    Examples
    --------
    >>> import numpy as np
    >>> from tropical.graph import minimax_paths
    >>> inf = np.inf
    >>> pass_heights = [[inf, 2500, 900], [inf, inf, inf], [inf, 1300, inf]]
    >>> minimax_paths(pass_heights, indices=0)
    array([ -inf, 1300.,  900.])
    """
    bounds = (indices, targets, limit, min_only)
    ring = semirings.minmax
    found = star_paths(w, ring, directed, return_predecessors, overwrite, bounds, weight, progress)
    return found.answer(w)


def star_paths(
    w: GraphLike,
    ring: Semiring,
    directed: bool,
    predecessors: bool,
    overwrite: bool,
    bounds: Bounds,
    weight: Weight,
    progress: Progress,
) -> Found:
    """Return the wanted rows of a graph's star, and of the predecessors."""
    graph = read(w, ring, weight, keep=True)
    want = wanted(graph, *bounds)
    if not directed:
        graph = both_ways(graph, ring)
    in_place = overwrite and graph is w
    two_way = leads_both_ways(graph, directed)
    choice = None if in_place else _choice(graph, ring, want, predecessors, two_way)
    if choice is not None and choice.method != "FW":
        edges, core = choice.counted.edges or edges_of(graph, ring), choice.counted.core
        if choice.method == "E":
            return eliminated_paths(edges, ring, want, predecessors, progress, two_way, core)
        return Search(edges, ring).find(want, predecessors, progress)
    found = all_pairs(graph, ring, in_place, predecessors, progress, symmetric=not directed)
    return want.select(*found, ring)


def _choice(
    graph: Array | Edges, ring: Semiring, want: Wanted, predecessors: bool, two_way: bool
) -> Choice | None:
    """Return how to find the paths; None for the closure, which also finds cycles that improve."""
    if not isinstance(graph, Edges) and (graph.ndim > 2 or not is_kind(graph.dtype, "floating")):
        return None
    if improves(edges_of(graph, ring), ring):
        return None
    if want.limit is not None or want.min_only:
        return Choice("D", "a limit or the best source bounds the search")
    return cheapest(Task(graph, ring, want, predecessors, two_way), "D")


@overload
def longest_paths(
    w: GraphLike,
    *,
    return_predecessors: Literal[False] = False,
    min_only: bool = False,
    **options: Unpack[PathOptions],
) -> Array: ...
@overload
def longest_paths(
    w: GraphLike,
    *,
    return_predecessors: Literal[True],
    min_only: Literal[False] = False,
    **options: Unpack[PathOptions],
) -> tuple[Array, Predecessors]: ...
@overload
def longest_paths(
    w: GraphLike,
    *,
    return_predecessors: Literal[True],
    min_only: Literal[True],
    **options: Unpack[PathOptions],
) -> tuple[Array, Predecessors, Predecessors]: ...
@answers_alike
def longest_paths(
    w: GraphLike,
    *,
    return_predecessors: bool = False,
    overwrite: bool = False,
    indices: ArrayLike | None = None,
    targets: ArrayLike | None = None,
    limit: float | None = None,
    min_only: bool = False,
    weight: Weight = "weight",
    progress: Progress = None,
) -> Paths:
    """Return the lengths of the longest paths of graphs without cycles.

    Parameters
    ----------
    w : array_like (..., n, n), sparse array (n, n) or networkx graph
        Weights of the edges. In an array -inf means no edge (in an integer array the least value of
        the dtype), also on the diagonal. Otherwise as in `shortest_paths`.
    return_predecessors, overwrite, indices, targets, min_only, weight, progress
        As in `shortest_paths`; with `min_only` the longest of the paths from any of `indices`.
    limit : float, optional
        The least length; a shorter path is none.

    Returns
    -------
    lengths : ndarray, (..., n, n), or ``(..., *indices.shape, n)``
        -inf (the least integer) where there is no path, 0 from a vertex to itself. A length beyond
        the dtype saturates; below the least number it also means "no path".
    predecessors, sources : ndarray of int32
        As in `shortest_paths`.

    Raises
    ------
    CycleError
        If there is a cycle, whatever its weight; the error carries a cycle.
    ValueError, TypeError, NotInstalledError
        As in `shortest_paths`. If predecessors are asked for within a `limit`: a path within the
        limit may pass vertices beyond it.

    Notes
    -----
    In a sparse graph, each row takes every edge once, in topological order.

    Examples
    --------
    The edges of a plan say how long a step waits for another. When can each step begin?

    >>> import numpy as np
    >>> from tropical.graph import longest_paths
    >>> none = -np.inf
    >>> wait = [[none, 2, 5, none], [none, none, 4, none], [none, none, none, 1], [none] * 4]
    >>> longest_paths(wait, indices=0)
    array([0., 2., 6., 7.])
    """
    ring = semirings.maxplus
    graph = read(w, ring, weight)
    bounds = (indices, targets, limit, min_only)
    want = wanted(graph, *bounds)
    want.check_limit(return_predecessors)
    if isinstance(graph, Edges):
        return acyclic_paths(graph, ring, want, return_predecessors, progress).answer(w)
    refuse_cycles(graph, ring)
    in_place = overwrite and graph is w
    found = star_paths(graph, ring, True, return_predecessors, in_place, bounds, None, progress)
    return found.answer(w)

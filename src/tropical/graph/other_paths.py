"""Widest, minimax and longest paths: `shortest_paths` over other semirings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias, overload

from numpy.typing import ArrayLike

from tropical import semirings
from tropical.arrays import Array

from .all_pairs import all_pairs, select, sources_of
from .cycles import refuse_cycles
from .edges import Edges, both_ways, dense_of, read
from .predecessors import Predecessors

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from tropical.semirings import Semiring

    from .edges import GraphLike, Weight
    from .paths import DirectedOptions, PathOptions
    from .progress import Progress

Paths: TypeAlias = Array | tuple[Array, Predecessors]

__all__ = ["longest_paths", "minimax_paths", "widest_paths"]


@overload
def widest_paths(
    w: GraphLike,
    *,
    return_predecessors: Literal[False] = False,
    **options: Unpack[DirectedOptions],
) -> Array: ...
@overload
def widest_paths(
    w: GraphLike, *, return_predecessors: Literal[True], **options: Unpack[DirectedOptions]
) -> tuple[Array, Predecessors]: ...
def widest_paths(
    w: GraphLike,
    *,
    directed: bool = True,
    return_predecessors: bool = False,
    overwrite: bool = False,
    indices: ArrayLike | None = None,
    weight: Weight = "weight",
    progress: Progress = None,
) -> Paths:
    """Return the capacities of the widest paths; the narrowest edge is a path's capacity.

    Parameters
    ----------
    w : array_like (..., n, n), sparse array (n, n) or networkx graph
        Capacities of the edges. In an array -inf means no edge (in an integer array the least value
        of the dtype; a capacity of 0 also serves). Otherwise as in `shortest_paths`.
    directed, return_predecessors, overwrite, indices, weight, progress
        As in `shortest_paths`; the greater of two capacities counts.

    Returns
    -------
    capacities : ndarray, (..., n, n), or ``(..., *indices.shape, n)``
        -inf (the least integer) where there is no path, +inf (the greatest) from a vertex to
        itself.
    predecessors : ndarray of int32
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
    return star_paths(
        w, semirings.maxmin, directed, return_predecessors, overwrite, indices, weight, progress
    )


@overload
def minimax_paths(
    w: GraphLike,
    *,
    return_predecessors: Literal[False] = False,
    **options: Unpack[DirectedOptions],
) -> Array: ...
@overload
def minimax_paths(
    w: GraphLike, *, return_predecessors: Literal[True], **options: Unpack[DirectedOptions]
) -> tuple[Array, Predecessors]: ...
def minimax_paths(
    w: GraphLike,
    *,
    directed: bool = True,
    return_predecessors: bool = False,
    overwrite: bool = False,
    indices: ArrayLike | None = None,
    weight: Weight = "weight",
    progress: Progress = None,
) -> Paths:
    """Return the heights of the lowest paths; the greatest weight is a path's height.

    Parameters
    ----------
    w : array_like (..., n, n), sparse array (n, n) or networkx graph
        Heights of the edges. In an array +inf means no edge (in an integer array the greatest value
        of the dtype). Otherwise as in `shortest_paths`.
    directed, return_predecessors, overwrite, indices, weight, progress
        As in `shortest_paths`.

    Returns
    -------
    heights : ndarray, (..., n, n), or ``(..., *indices.shape, n)``
        +inf (the greatest integer) where there is no path, -inf (the least) from a vertex to
        itself.
    predecessors : ndarray of int32
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
    return star_paths(
        w, semirings.minmax, directed, return_predecessors, overwrite, indices, weight, progress
    )


def star_paths(
    w: GraphLike,
    ring: Semiring,
    directed: bool,
    predecessors: bool,
    overwrite: bool,
    indices: ArrayLike | None,
    weight: Weight,
    progress: Progress,
) -> Paths:
    """Return the wanted rows of a graph's star, and of the predecessors."""
    graph = read(w, ring, weight)
    sources = sources_of(indices, graph)
    if not directed:
        graph = both_ways(graph, ring)
    in_place = overwrite and graph is w
    values, before = select(*all_pairs(graph, ring, in_place, predecessors, progress), sources)
    return values if before is None else (values, before)


@overload
def longest_paths(
    w: GraphLike, *, return_predecessors: Literal[False] = False, **options: Unpack[PathOptions]
) -> Array: ...
@overload
def longest_paths(
    w: GraphLike, *, return_predecessors: Literal[True], **options: Unpack[PathOptions]
) -> tuple[Array, Predecessors]: ...
def longest_paths(
    w: GraphLike,
    *,
    return_predecessors: bool = False,
    overwrite: bool = False,
    indices: ArrayLike | None = None,
    weight: Weight = "weight",
    progress: Progress = None,
) -> Paths:
    """Return the lengths of the longest paths of graphs without cycles.

    Parameters
    ----------
    w : array_like (..., n, n), sparse array (n, n) or networkx graph
        Weights of the edges. In an array -inf means no edge (in an integer array the least value of
        the dtype), also on the diagonal. Otherwise as in `shortest_paths`.
    return_predecessors, overwrite, indices, weight, progress
        As in `shortest_paths`.

    Returns
    -------
    lengths : ndarray, (..., n, n), or ``(..., *indices.shape, n)``
        -inf (the least integer) where there is no path, 0 from a vertex to itself. A length beyond
        the dtype saturates; below the least number it also means "no path".
    predecessors : ndarray of int32
        As in `shortest_paths`.

    Raises
    ------
    CycleError
        If there is a cycle, whatever its weight; the error carries a cycle.
    ValueError, TypeError, NotInstalledError
        As in `shortest_paths`.

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
    a = dense_of(graph, ring)
    refuse_cycles(a, ring)
    in_place = isinstance(graph, Edges) or (overwrite and a is w)
    return star_paths(a, ring, True, return_predecessors, in_place, indices, None, progress)

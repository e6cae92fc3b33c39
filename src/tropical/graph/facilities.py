"""What lies near: accessibility within a distance, the nearest of some facilities."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tropical.arrays import check_real, unmasked

from .folds import count_of, distances_in
from .paths import shortest_paths
from .progress import shown

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from .edges import GraphLike, Weight
    from .factor import Factor
    from .folds import Distances
    from .progress import Progress


def accessibility(
    graph: GraphLike | Factor,
    radius: ArrayLike,
    amounts: ArrayLike | None = None,
    vertices: ArrayLike | None = None,
    *,
    directed: bool = True,
    weight: Weight = "weight",
    progress: Progress = None,
) -> NDArray[np.float64]:
    """Return how much is near each vertex, such as people or jobs within a walk of ten minutes.

    Parameters
    ----------
    graph, vertices, directed, weight, progress
        As in `eccentricity`.
    radius : float or array_like of float
        The greatest length of a path; several at once take less time than one after the other.
    amounts : array_like of float, (n,), optional
        What is at each vertex; 1 by default, so that vertices are counted.

    Returns
    -------
    ndarray of float64, ``(*vertices.shape, *radius.shape)``
        The sum of the amounts of the vertices to which a path leads that is at most as long as
        the radius, the vertex itself included.

    Raises
    ------
    ValueError
        If `radius` holds a NaN, `amounts` has another shape or a number that is not finite, or for
        a wrong graph, as in `shortest_paths`.
    TypeError
        If `radius` or `amounts` are no real numbers.

    Examples
    --------
    >>> import networkx as nx
    >>> from tropical.graph import accessibility
    >>> accessibility(nx.path_graph(4), [1, 2], amounts=[10, 0, 0, 5])
    array([[10., 10.],
           [10., 15.],
           [ 5., 15.],
           [ 5.,  5.]])
    """
    radii = _numbers("radius", radius)
    if np.isnan(radii).any():
        raise ValueError("radius: expected numbers, got a NaN")
    found = distances_in(graph, directed, weight, count_of(vertices))
    weights = None if amounts is None else _amounts(found, amounts)
    wanted = found.vertices(vertices)
    sums = found.fold("within", wanted, progress, weights=weights, radii=radii.ravel())
    return np.ascontiguousarray(sums.T).reshape((*wanted.shape, *radii.shape))


def _amounts(found: Distances, amounts: ArrayLike) -> NDArray[np.float64]:
    given = _numbers("amounts", amounts)
    if given.shape != (found.n,):
        raise ValueError(f"amounts: expected shape ({found.n},), got {given.shape}")
    if not np.isfinite(given).all():
        raise ValueError(f"amounts: expected finite numbers, got {given[~np.isfinite(given)][0]}")
    return given


def _numbers(name: str, values: ArrayLike) -> NDArray[np.float64]:
    given = unmasked(name, values)
    check_real(name, given)
    return np.ascontiguousarray(given, np.float64).reshape(given.shape)


def nearest_facilities(
    graph: GraphLike | Factor,
    facilities: ArrayLike,
    *,
    outward: bool = False,
    directed: bool = True,
    weight: Weight = "weight",
    progress: Progress = None,
) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    """Return the length of the path from each vertex to the nearest facility, and which it is.

    Parameters
    ----------
    graph, directed, weight, progress
        As in `eccentricity`.
    facilities : int or array_like of int
        Vertices.
    outward : bool, default False
        Paths lead from the facilities to the vertices, as those of an ambulance. In a graph that is
        not directed, they are the same.

    Returns
    -------
    lengths : ndarray of float64, (n,)
        +inf where there is no path.
    nearest : ndarray of intp, (n,)
        The position in ``facilities.ravel()`` of the nearest facility, or of one of those equally
        near; -1 where there is no path. The service area of facility k is
        ``np.flatnonzero(nearest == k)``.

    Raises
    ------
    TypeError, ValueError
        If a facility is no vertex, or for a wrong graph, as in `shortest_paths`.

    Examples
    --------
    >>> import networkx as nx
    >>> from tropical.graph import nearest_facilities
    >>> lengths, nearest = nearest_facilities(nx.path_graph(6), [4, 0])
    >>> lengths
    array([0., 1., 2., 1., 0., 1.])
    >>> nearest
    array([1, 1, 0, 0, 0, 0])
    """
    found = distances_in(graph, directed, weight, count_of(facilities))
    starts = found.vertices(facilities, "facilities").ravel()
    lengths, nearest = np.full(found.n, np.inf), np.full(found.n, -1, np.intp)
    if not starts.size:
        return lengths, nearest
    if found.factor is None:  # one search from all facilities at once
        lengths, _, first = shortest_paths(
            found.ways(not outward),
            indices=starts,
            return_predecessors=True,
            min_only=True,
            progress=progress,
        )
        position = np.full(found.n, -1, np.intp)
        position[starts[::-1]] = np.arange(len(starts))[::-1]
        return lengths.astype(np.float64), np.where(first >= 0, position[np.maximum(first, 0)], -1)
    with shown(progress) as report:
        for start, rows in found.rows(starts, not outward, report):
            best = rows.min(axis=0)
            better = best < lengths
            lengths[better] = best[better]
            nearest[better] = start + rows[:, better].argmin(axis=0)
    return lengths, nearest

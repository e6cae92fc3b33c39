"""Measures of the lengths of all shortest paths: how far vertices are from each other."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .folds import count_of, distances_in

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from .edges import GraphLike, Weight
    from .factor import Factor
    from .progress import Progress


def eccentricity(
    graph: GraphLike | Factor,
    vertices: ArrayLike | None = None,
    *,
    directed: bool = True,
    weight: Weight = "weight",
    progress: Progress = None,
) -> NDArray[np.float64]:
    """Return how far the farthest vertex is from each vertex.

    Parameters
    ----------
    graph : sparse array (n, n), networkx graph, array_like (n, n), or Factor over minplus
        The edges, as in `shortest_paths`. Several measures of one graph take less time with a
        `Factor`, see `factorize`.
    vertices : int or array_like of int, optional
        The vertices that are measured; all by default.
    directed, weight
        As in `shortest_paths`; a factor has its own.
    progress : callable or bool, optional
        A function that is called now and then with the share that is done, up to 1; True draws a
        bar (needs rich).

    Returns
    -------
    ndarray of float64, of the shape of `vertices`, or (n,)

    Raises
    ------
    ValueError
        If there is no path from one of the vertices to some vertex, or for a wrong graph, as in
        `shortest_paths`.
    NegativeCycleError
        If there is a cycle of negative weight.

    Examples
    --------
    >>> import networkx as nx
    >>> from tropical.graph import eccentricity
    >>> eccentricity(nx.path_graph(5))
    array([4., 3., 2., 3., 4.])
    """
    found = distances_in(graph, directed, weight, count_of(vertices))
    wanted = found.vertices(vertices)
    _, count, greatest = found.fold("lengths", wanted, progress)
    if (count < found.n).any():
        lonely = wanted.ravel()[int(np.argmax(count < found.n))]
        raise ValueError(
            f"graph: expected paths between all vertices, got none from {lonely} to some vertex"
        )
    return greatest.reshape(wanted.shape)


def diameter(
    graph: GraphLike | Factor,
    *,
    directed: bool = True,
    weight: Weight = "weight",
    progress: Progress = None,
) -> float:
    """Return the greatest length of the shortest paths.

    Parameters
    ----------
    graph, directed, weight, progress
        As in `eccentricity`.

    Returns
    -------
    float

    Raises
    ------
    ValueError, NegativeCycleError
        As `eccentricity` does, and for a graph without vertices.

    Examples
    --------
    >>> import networkx as nx
    >>> from tropical.graph import diameter
    >>> diameter(nx.grid_2d_graph(3, 5))
    6.0
    """
    return float(_of_some(graph, directed, weight, progress).max())


def radius(
    graph: GraphLike | Factor,
    *,
    directed: bool = True,
    weight: Weight = "weight",
    progress: Progress = None,
) -> float:
    """Return the least eccentricity: how far the farthest vertex is from the best center.

    Parameters
    ----------
    graph, directed, weight, progress
        As in `eccentricity`.

    Returns
    -------
    float

    Raises
    ------
    ValueError, NegativeCycleError
        As `diameter` does.

    Examples
    --------
    >>> import networkx as nx
    >>> from tropical.graph import radius
    >>> radius(nx.grid_2d_graph(3, 5))
    3.0
    """
    return float(_of_some(graph, directed, weight, progress).min())


def _of_some(
    graph: GraphLike | Factor, directed: bool, weight: Weight, progress: Progress
) -> NDArray[np.float64]:
    """Return the eccentricity of every vertex, at least one."""
    found = eccentricity(graph, directed=directed, weight=weight, progress=progress)
    if not found.size:
        raise ValueError("graph: expected a vertex, got none")
    return found


def wiener_index(
    graph: GraphLike | Factor,
    *,
    directed: bool = True,
    weight: Weight = "weight",
    progress: Progress = None,
) -> float:
    """Return the sum of the lengths of the shortest paths between all pairs of vertices.

    Parameters
    ----------
    graph, directed, weight, progress
        As in `eccentricity`.

    Returns
    -------
    float
        +inf if there is no path between some vertices. In a graph that is not directed, each pair
        counts once.

    Raises
    ------
    ValueError, NegativeCycleError
        For a wrong graph, as in `shortest_paths`.

    Examples
    --------
    >>> import networkx as nx
    >>> from tropical.graph import wiener_index
    >>> wiener_index(nx.path_graph(3))
    4.0
    """
    found = distances_in(graph, directed, weight)
    total, count, _ = found.fold("lengths", found.vertices(None), progress)
    if (count < found.n).any():
        return float("inf")
    return float(total.sum()) / (1 if found.directed else 2)

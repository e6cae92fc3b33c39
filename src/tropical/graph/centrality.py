"""How central the vertices of a graph are: near all others, or on the paths between them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .folds import count_of, distances_in

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from .edges import GraphLike, Weight
    from .factor import Factor
    from .progress import Progress


def closeness(
    graph: GraphLike | Factor,
    vertices: ArrayLike | None = None,
    *,
    wf_improved: bool = True,
    directed: bool = True,
    weight: Weight = "weight",
    progress: Progress = None,
) -> NDArray[np.float64]:
    """Return the closeness of vertices: 1 over the mean length of the shortest paths to each.

    Parameters
    ----------
    graph, vertices, directed, weight, progress
        As in `eccentricity`.
    wf_improved : bool, default True
        Multiply by the share of the other vertices from which there is a path (S. Wasserman and K.
        Faust, "Social network analysis", 1994). Without it, vertices of small components seem
        central.

    Returns
    -------
    ndarray of float64, of the shape of `vertices`, or (n,)
        0 for a vertex to which no path leads, or paths of length 0 alone. In a directed graph the
        paths lead to the vertex; the paths from it are those of the transposed graph.

    Raises
    ------
    ValueError
        For a negative weight, or for a wrong graph, as in `shortest_paths`.

    Notes
    -----
    As ``networkx.closeness_centrality``: L. C. Freeman, "Centrality in networks: I. Conceptual
    clarification", Social Networks 1, 1979.

    Examples
    --------
    >>> import networkx as nx
    >>> from tropical.graph import closeness
    >>> closeness(nx.star_graph(3)).round(2)
    array([1. , 0.6, 0.6, 0.6])
    """
    found = distances_in(graph, directed, weight, count_of(vertices))
    found.check_lengths()
    wanted = found.vertices(vertices)
    total, count, _ = found.fold("lengths", wanted, progress, inward=True)
    others = count - 1
    result: NDArray[np.float64] = np.divide(
        others, total, out=np.zeros(len(total)), where=total > 0
    )
    if wf_improved and found.n > 1:
        result *= others / (found.n - 1)
    return result.reshape(wanted.shape)


def harmonic(
    graph: GraphLike | Factor,
    vertices: ArrayLike | None = None,
    *,
    directed: bool = True,
    weight: Weight = "weight",
    progress: Progress = None,
) -> NDArray[np.float64]:
    """Return the harmonic centrality of vertices: the sum of 1 / length over the paths to each.

    Parameters
    ----------
    graph, vertices, directed, weight, progress
        As in `eccentricity`.

    Returns
    -------
    ndarray of float64, of the shape of `vertices`, or (n,)
        Where there is no path, and for paths of length 0, the sum has no term. In a directed graph
        the paths lead to the vertex.

    Raises
    ------
    ValueError
        For a negative weight, or for a wrong graph, as in `shortest_paths`.

    Notes
    -----
    As ``networkx.harmonic_centrality``: P. Boldi and S. Vigna, "Axioms for centrality", Internet
    Mathematics 10, 2014.

    Examples
    --------
    >>> import networkx as nx
    >>> from tropical.graph import harmonic
    >>> harmonic(nx.star_graph(3))
    array([3., 2., 2., 2.])
    """
    found = distances_in(graph, directed, weight, count_of(vertices))
    found.check_lengths()
    wanted = found.vertices(vertices)
    (result,) = found.fold("reciprocals", wanted, progress, inward=True)
    return result.reshape(wanted.shape)

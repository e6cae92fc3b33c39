"""`factorize`: what users call to get a `Factor`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .factor import Factor

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from tropical.semirings import Semiring

    from .edges import GraphLike, Weight
    from .progress import Progress


def factorize(
    graph: GraphLike,
    semiring: str | Semiring = "minplus",
    *,
    directed: bool = True,
    ordering: str | ArrayLike = "auto",
    weight: Weight = "weight",
    progress: Progress = None,
) -> Factor:
    """Return a factor of a sparse graph, from which the best paths from many vertices are fast.

    The vertices are eliminated one after the other: an edge is added between two neighbors of an
    eliminated vertex where the path through the vertex is better. In a road network, few edges are
    added. Then a row of lengths takes one operation for each edge.

    Parameters
    ----------
    graph : sparse array (n, n), networkx graph or array_like (n, n)
        The edges, as in `shortest_paths`, of dtype float32, float64, int16, int32 or int64. For
        orand an edge is an edge, whatever its weight.
    semiring : str or Semiring, default "minplus"
        An idempotent semiring: minplus for shortest paths, maxmin for widest paths, orand for
        reachability, and so on.
    directed : bool, default True
        False: each edge leads in both directions, with the better of two weights. Then the factor
        takes half of the time and memory. Undirected networkx graphs are always undirected.
    ordering : {"auto", "metis"} or array_like of int, (n,), default "auto"
        The order in which vertices are eliminated: the vertices in that order; "auto" for an
        approximate minimum degree order; "metis" for nested dissection by METIS, which takes longer
        and may give a lower tree.
    weight : str, callable or None, default "weight"
        As in `shortest_paths`.
    progress : callable or bool, optional
        As in `shortest_paths`.

    Returns
    -------
    Factor

    Raises
    ------
    NegativeCycleError
        If there is a cycle of negative weight, over minplus; the error carries a cycle.
    DivergenceError
        If a cycle improves with every round, over another semiring.
    ValueError
        If the graph is not square or holds a NaN, the semiring is not idempotent, or `ordering` is
        no order of the vertices.
    TypeError
        If the semiring is not defined for the dtype.
    MemoryError
        If elimination adds so many edges that they do not fit into the memory that is available, as
        in a large random graph. The error comes before the memory is taken.
    NotInstalledError
        If `ordering` is "metis" and pymetis is not installed.

    Notes
    -----
    B. Carre, "An algebra for network routing problems", Journal of the Institute of Mathematics and
    its Applications 7, 1971. R. E. Tarjan, "A unified approach to path problems", Journal of the
    ACM 28, 1981. J. Dibbelt, B. Strasser and D. Wagner, "Customizable contraction hierarchies", ACM
    Journal of Experimental Algorithmics 21, 2016. The order: P. R. Amestoy, T. A. Davis and I. S.
    Duff, "An approximate minimum degree ordering algorithm", SIAM Journal on Matrix Analysis and
    Applications 17, 1996.

    Examples
    --------
    >>> import numpy as np
    >>> import scipy.sparse as sp
    >>> from tropical.graph import factorize
    >>> roads = sp.csr_array([[0, 7.0, 0, 2], [0, 0, 1, 0], [4, 0, 0, 0], [0, 3, 0, 0]])
    >>> factor = factorize(roads)
    >>> factor.lengths(0)
    array([0., 5., 6., 2.])
    >>> factor.lengths([0, 2], targets=[1, 3])
    array([[5., 2.],
           [9., 6.]])
    """
    return Factor(
        graph, semiring, directed=directed, ordering=ordering, weight=weight, progress=progress
    )

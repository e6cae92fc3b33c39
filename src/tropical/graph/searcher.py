"""A graph that is read once, for many short searches."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from tropical import semirings
from tropical.arrays import Array, is_kind

from .all_pairs import vertex_of
from .bellman_ford import potentials
from .edge_arrays import Compressed, compressed
from .edges import Edges, both_ways, edges_of, read
from .predecessors import path
from .search import Search, improves
from .wanted import wanted

if TYPE_CHECKING:
    from tropical.semirings import Semiring

    from .edges import GraphLike, Weight


class Searcher:
    """A graph that is read once, for many short searches.

    `shortest_paths` reads and checks all edges in each call. A search from a ``Searcher`` to near
    targets, or within a limit, takes time for the vertices that it visits alone.

    Parameters
    ----------
    graph : array_like (n, n), sparse array (n, n) or networkx graph
        As in `shortest_paths`. The edges are copied.
    semiring : str or Semiring, default "minplus"
        A selective one: minplus for shortest paths, maxmin for widest paths, minmax for minimax
        paths, maxtimes for most probable paths.
    directed : bool, default True
        False: each edge leads in both directions, with the better of two weights.
    weight : str, callable or None, default "weight"
        As in `shortest_paths`.

    Attributes
    ----------
    n : int
        Number of vertices.
    semiring : Semiring
    dtype : numpy.dtype
        Of the lengths, float32 or float64. Integers become float64.

    Raises
    ------
    ValueError, TypeError
        As in `shortest_paths`; or if an edge improves paths, as one of positive weight over
        maxplus. Over minplus, negative weights are welcome, but lengths are rounded as much as
        the largest sum of negative weights is.
    NegativeCycleError
        If there is a cycle of negative weight.

    Notes
    -----
    E. W. Dijkstra, "A note on two problems in connexion with graphs", Numerische Mathematik 1,
    1959, with a radix heap, over a semiring.

    Examples
    --------
    >>> import networkx as nx
    >>> from tropical.graph import Searcher
    >>> city = Searcher(nx.grid_2d_graph(300, 300))
    >>> city.lengths(0, targets=[1, 302])
    array([1., 3.])
    >>> city.path(0, 302)
    [0, 1, 2, 302]
    >>> int((city.lengths(45150, limit=10) < float("inf")).sum())  # vertices within 10 steps
    221
    """

    def __init__(
        self,
        graph: GraphLike,
        semiring: str | Semiring = "minplus",
        *,
        directed: bool = True,
        weight: Weight = "weight",
    ) -> None:
        ring = semirings.get(semiring)
        if not ring.selective:
            raise ValueError(f"semiring: expected a selective one, got {ring.name}")
        found = read(graph, ring, weight, name="graph")
        if not isinstance(found, Edges) and found.ndim != 2:
            raise ValueError(f"graph: expected (n, n), got {found.shape}")
        edges = edges_of(found if directed else both_ways(found, ring), ring)
        dtype = edges.dtype if is_kind(edges.dtype, "floating") else np.dtype(np.float64)
        own = compressed(edges)
        own.check()
        own = Compressed(own.n, own.start.copy(), own.head.copy(), own.weight.astype(dtype))
        h = None
        if improves(own, ring):
            if ring is not semirings.minplus:
                raise ValueError(f"graph: expected edges that improve no path of {ring.name}")
            h = potentials(own)
        self.n: int = own.n
        self.semiring = ring
        self.dtype = dtype
        self._edges = own
        self._search = Search(own, ring, h)

    def __repr__(self) -> str:
        m = len(self._edges.weight)
        return f"<Searcher of {self.n:,} vertices, {m:,} edges, {self.semiring.name}, {self.dtype}>"

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_search": self._search.potentials}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._search = Search(self._edges, self.semiring, state["_search"])

    def lengths(
        self,
        sources: ArrayLike | None = None,
        targets: ArrayLike | None = None,
        *,
        limit: float | None = None,
        min_only: bool = False,
        return_predecessors: bool = False,
    ) -> Array | tuple[Array, ...]:
        """Return the lengths of the best paths from some vertices to some vertices.

        Parameters
        ----------
        sources, targets : int or array_like of int, optional
            Vertices; all by default. Negative numbers count from the end.
        limit, min_only, return_predecessors
            As in `shortest_paths`, `widest_paths` and so on. A path that is worse than the limit
            is none.

        Returns
        -------
        lengths : ndarray, ``(*sources.shape, *targets.shape)``
            The semiring's zero where there is no path. With `min_only` without the axes of sources.
        predecessors : ndarray of int32, ``(*sources.shape, n)``
            If they are asked for, as in `shortest_paths`.
        sources : ndarray of int32
            With `min_only`, as in `shortest_paths`.

        Raises
        ------
        TypeError, ValueError
            As in `shortest_paths`.

        Examples
        --------
        >>> import scipy.sparse as sp
        >>> from tropical.graph import Searcher
        >>> roads = Searcher(sp.csr_array([[0, 7.0, 0], [0, 0, 2.0], [1.0, 0, 0]]))
        >>> roads.lengths([1, 2], min_only=True)
        array([1., 0., 0.])
        """
        want = wanted(self._edges, sources, targets, limit, min_only, "sources")
        return self._search.find(want, return_predecessors).answer()

    def path(self, source: int, target: int) -> list[int]:
        """Return the vertices of the best path; empty if there is none.

        Parameters
        ----------
        source, target : int
            The first and the last vertex.

        Raises
        ------
        TypeError, ValueError
            As in `lengths`.
        """
        i, j = vertex_of(source, self._edges, "source"), vertex_of(target, self._edges, "target")
        _, before, _ = self._search.find(wanted(self._edges, i, j, None, False, "source"), True)
        return path(np.asarray(before), i, j)

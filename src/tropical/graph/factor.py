"""Best paths in sparse graphs by the elimination of vertices, as Gauss eliminates unknowns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tropical import _core, semirings
from tropical.arrays import Array

from .all_pairs import sources_of
from .bellman_ford import potentials
from .edges import Edges, edges_of, read
from .result import Result
from .star import DivergenceError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tropical.semirings import Semiring

    from .edges import GraphLike, Weight
    from .predecessors import Predecessors

# The most edges that an elimination may add, but for their weights: more do not fit 16 GiB.
MOST_ENTRIES = 1 << 30
DTYPES = ("float32", "float64", "int16", "int32", "int64", "bool")


@dataclass(frozen=True)
class Elimination:
    """What the elimination of a graph's vertices costs; `Factor.explain` returns it.

    Attributes
    ----------
    vertices, edges : int
        Of the graph.
    entries : int
        Pairs of vertices between which there is an edge at some time of the elimination. A row of
        lengths takes at most two operations for each entry.
    height : int
        The greatest number of vertices that a path of the elimination tree passes.
    operations : int
        Sums and products that the weights of the factor take.
    nbytes : int
        Bytes of the weights of the factor.
    """

    vertices: int
    edges: int
    entries: int
    height: int
    operations: int
    nbytes: int

    def __str__(self) -> str:
        return (
            f"{self.vertices:,} vertices, {self.edges:,} edges; elimination makes "
            f"{self.entries:,} entries, a tree of height {self.height:,}\n"
            f"  factor: {self.operations:,} operations, {self.nbytes:,} bytes"
        )


class Factor:
    """Weights from which the best paths from any vertex are two short sweeps.

    ``Factor`` takes the arguments of `factorize`.

    Attributes
    ----------
    n : int
        Number of vertices.
    semiring : Semiring
    dtype : numpy.dtype
        Of the lengths.
    directed : bool
    """

    def __init__(
        self,
        graph: GraphLike,
        semiring: str | Semiring = "minplus",
        *,
        directed: bool = True,
        ordering: str | ArrayLike = "auto",
        weight: Weight = "weight",
    ) -> None:
        ring = semirings.get(semiring)
        if not ring.idempotent:
            raise ValueError(f"semiring: expected an idempotent one, got {ring.name}")
        pattern = ring.dtypes == ("bool",)
        found = read(graph, semirings.minplus if pattern else ring, weight)
        if not isinstance(found, Edges) and found.ndim != 2:
            raise ValueError(f"graph: expected (n, n), got {found.shape}")
        edges = edges_of(found, semirings.minplus if pattern else ring)
        if edges.dtype.name not in DTYPES:
            raise TypeError(f"graph: expected a dtype of {', '.join(DTYPES)}, got {edges.dtype}")
        if _is_undirected(graph) and not callable(weight):
            directed = False  # and the second half of the edges leads back
            edges = edges.where(np.arange(len(edges.weight) // 2))
        values = np.ones(len(edges.weight), np.bool_) if pattern else edges.weight
        edges = Edges(edges.n, edges.source, edges.target, np.ascontiguousarray(values))
        self._eliminate(edges, ring, bool(directed), _order(ordering, edges))

    def _eliminate(self, edges: Edges, ring: Semiring, directed: bool, order: Array | None) -> None:
        self.n = edges.n
        self.semiring = ring
        self.dtype = edges.dtype
        self.directed = directed
        self._edges = edges
        try:
            self._elimination = _core.Elimination(
                edges.n, edges.source, edges.target, order, MOST_ENTRIES
            )
        except OverflowError:
            raise MemoryError(
                f"graph: elimination adds more than {MOST_ENTRIES:,} edges; shortest_paths finds "
                "paths in such a graph without elimination"
            ) from None
        self._up, self._down = self._weigh(edges.weight)

    def _weigh(self, weights: Array) -> tuple[Array, Array]:
        """Return the weights of the factor, in both directions, or raise DivergenceError."""
        entries = self._elimination.entries
        up = np.empty(entries, self.dtype)
        down = np.empty(entries, self.dtype) if self.directed else up
        name = self.semiring.name
        vertex = self._elimination.eliminate(weights, up, down, name)
        if vertex is None:
            return up, down
        if self.semiring is not semirings.minplus:
            raise DivergenceError(
                f"graph: has no {name} star, a cycle through vertex {vertex} improves with every "
                "round"
            )
        edges = Edges(self.n, self._edges.source, self._edges.target, weights)
        potentials(edges if self.directed else edges.both_ways())  # raises NegativeCycleError
        # Only rounding makes the cycle seem negative.
        self._elimination.eliminate(weights, up, down, name, False)
        return up, down

    def __repr__(self) -> str:
        kind = "directed" if self.directed else "undirected"
        return f"<Factor of {self.n:,} vertices, {kind}, {self.semiring.name}, {self.dtype}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (self._edges, self.semiring, self.directed, self._elimination.order)

    @property
    def nbytes(self) -> int:
        """Bytes of the weights."""
        return int(self._up.nbytes + (self._down.nbytes if self.directed else 0))

    def explain(self) -> Elimination:
        """Return what the elimination cost.

        Returns
        -------
        Elimination
        """
        parent = self._elimination.parent
        height = np.ones(self.n, np.int64)
        for rank in range(self.n - 1, -1, -1):  # parents have higher ranks
            if parent[rank] >= 0:
                height[rank] = height[parent[rank]] + 1
        degree = np.diff(self._elimination.start)
        return Elimination(
            vertices=self.n,
            edges=len(self._edges.weight),
            entries=self._elimination.entries,
            height=int(height.max(initial=0)),
            operations=int((degree * (degree + 1)).sum()) * (2 if self.directed else 1),
            nbytes=self.nbytes,
        )

    def lengths(
        self,
        sources: ArrayLike | None = None,
        targets: ArrayLike | None = None,
        out: Array | None = None,
    ) -> Array:
        """Return the lengths of the best paths from some vertices to some vertices.

        Parameters
        ----------
        sources, targets : int or array_like of int, optional
            Vertices; all by default. Negative numbers count from the end. Few targets take less
            time than all, because the sweeps visit only the ancestors of sources and targets in the
            elimination tree.
        out : ndarray, optional
            An array for the result, of the same shape and dtype, such as a `numpy.memmap`.

        Returns
        -------
        ndarray, ``(*sources.shape, *targets.shape)``
            `out`, if that is given. The semiring's zero where there is no path, the semiring's one
            from a vertex to itself.

        Raises
        ------
        TypeError
            If vertices are no integers, or `out` has another dtype.
        ValueError
            If a vertex is out of range, or `out` has another shape or is read-only.

        Notes
        -----
        The operations round as along the path, but a path is not added up from its beginning, so
        that the last bits of sums of floats may differ from those of other algorithms. The result
        has the same bits for every number of threads.

        Examples
        --------
        >>> import networkx as nx
        >>> from tropical.graph import factorize
        >>> factor = factorize(nx.grid_2d_graph(100, 100))
        >>> factor.lengths(0, [1, 9999])
        array([  1., 198.])
        """
        rows, columns = (
            self._vertices(vertices, name)
            for vertices, name in ((sources, "sources"), (targets, "targets"))
        )
        result = Result("out", out, (*rows.shape, *columns.shape), self.dtype)
        self._elimination.rows(
            self._up,
            self._down,
            self.semiring.name,
            rows.ravel(),
            None if targets is None else columns.ravel(),
            result.table(rows.size, columns.size),
        )
        return result.finished()

    @overload
    def predecessors(
        self,
        sources: ArrayLike | None = None,
        out: Array | None = None,
        *,
        return_lengths: Literal[False] = False,
    ) -> Predecessors: ...
    @overload
    def predecessors(
        self,
        sources: ArrayLike | None = None,
        out: tuple[Array | None, Array | None] | None = None,
        *,
        return_lengths: Literal[True],
    ) -> tuple[Array, Predecessors]: ...
    def predecessors(
        self, sources: ArrayLike | None = None, out: Any = None, *, return_lengths: bool = False
    ) -> Any:
        """Return the vertex before each vertex on the best paths from some vertices.

        Parameters
        ----------
        sources : int or array_like of int, optional
            Vertices; all by default. Negative numbers count from the end.
        out : ndarray or tuple, optional
            An array of int32 for the result; with `return_lengths`, a pair of arrays for both
            results, each of which may be None.
        return_lengths : bool, default False
            Also return the lengths, which `lengths` would return. They take no further time.

        Returns
        -------
        lengths : ndarray, ``(*sources.shape, n)``
            Only with `return_lengths`.
        predecessors : ndarray of int32, ``(*sources.shape, n)``
            The format of SciPy: the vertex before j on the best path to j; -9999 where there is no
            path, and for the source itself. `path` finds the vertices of a path in it.

        Raises
        ------
        TypeError, ValueError
            As for `lengths`.

        Notes
        -----
        The predecessors of a source are a tree, also round cycles of weight zero. A path through a
        vertex to which integers cannot express the length may have no predecessors.

        Examples
        --------
        >>> import networkx as nx
        >>> from tropical.graph import factorize, path
        >>> factor = factorize(nx.cycle_graph(5))
        >>> lengths, predecessors = factor.predecessors(0, return_lengths=True)
        >>> lengths
        array([0., 1., 2., 2., 1.])
        >>> predecessors
        array([-9999,     0,     1,     4,     0], dtype=int32)
        >>> path(predecessors, 0, 3)
        [0, 4, 3]
        """
        vertices = self._vertices(sources, "sources")
        shape = (*vertices.shape, self.n)
        first, second = _pair(out) if return_lengths else (None, out)
        lengths = Result("out", first, shape, self.dtype)
        before = Result("out", second, shape, np.dtype(np.int32))
        self._elimination.trees(
            self._up,
            self._down,
            self.semiring.name,
            vertices.ravel(),
            lengths.table(vertices.size, self.n),
            self._edges.weight,
            before.table(vertices.size, self.n),
        )
        if return_lengths:
            return lengths.finished(), before.finished()
        return before.finished()

    def closure(self, out: Array | None = None) -> Array:
        """Return the lengths of the best paths between all pairs of vertices, (n, n).

        Parameters
        ----------
        out : ndarray, (n, n), optional
            As for `lengths`.

        Returns
        -------
        ndarray, (n, n)
        """
        return self.lengths(out=out)

    def rows(
        self, sources: ArrayLike | None = None, block: int = 256
    ) -> Iterator[tuple[NDArray[np.intp], Array]]:
        """Yield the lengths from some vertices to all, some rows at a time, in one buffer.

        Parameters
        ----------
        sources : array_like of int, optional
            Vertices; all by default.
        block : int, default 256
            The greatest number of rows at a time.

        Yields
        ------
        sources : ndarray of intp, (k,)
            Vertices, k at most `block`.
        lengths : ndarray, (k, n)
            Their rows. The next step writes the next rows into the same memory.

        Raises
        ------
        TypeError, ValueError
            As for `lengths`, or if `block` is less than 1.

        Examples
        --------
        The eccentricity of each vertex, without n x n memory:

        >>> import networkx as nx
        >>> from tropical.graph import factorize
        >>> factor = factorize(nx.path_graph(5))
        >>> [int(x) for _, lengths in factor.rows() for x in lengths.max(axis=1)]
        [4, 3, 2, 3, 4]
        """
        if block < 1:
            raise ValueError(f"block: expected at least 1, got {block}")
        vertices = self._vertices(sources, "sources").ravel()
        return self._blocks(vertices, block)

    def _blocks(
        self, vertices: NDArray[np.intp], block: int
    ) -> Iterator[tuple[NDArray[np.intp], Array]]:
        buffer = np.empty((min(block, vertices.size), self.n), self.dtype)
        for first in range(0, vertices.size, block):
            some = vertices[first : first + block]
            yield some, self.lengths(some, out=buffer[: some.size])

    def update(self, weights: ArrayLike) -> None:
        """Compute the factor for other weights of the same edges, much faster than `factorize`.

        Parameters
        ----------
        weights : array_like, (m,)
            A weight for each edge, in the order in which the graph lists its edges: that of
            ``scipy.sparse.csr_array(graph).data`` for a sparse array, of ``graph.edges`` for a
            networkx graph, and by rows for an array.

        Raises
        ------
        ValueError
            If there is another number of weights, or `weights` are none of the semiring; see
            `factorize`.
        DivergenceError
            As `factorize`. The factor is unchanged then.

        Examples
        --------
        >>> import scipy.sparse as sp
        >>> from tropical.graph import factorize
        >>> roads = sp.csr_array([[0, 7.0, 0], [0, 0, 2.0], [1.0, 0, 0]])
        >>> factor = factorize(roads)
        >>> factor.update([3.0, 2.0, 1.0])
        >>> factor.lengths(0)
        array([0., 3., 5.])
        """
        given = np.asarray(weights)
        count = len(self._edges.weight)
        if given.shape != (count,):
            raise ValueError(f"weights: expected shape ({count},), got {given.shape}")
        edges = Edges(
            self.n,
            self._edges.source,
            self._edges.target,
            np.ascontiguousarray(given.astype(self.dtype)),
        )
        checked = read(edges, self.semiring)
        assert isinstance(checked, Edges)
        if len(checked.weight) != count:
            raise ValueError(
                f"weights: expected numbers but {self.semiring.zero(self.dtype)}, which says that "
                "there is no edge"
            )
        self._up, self._down = self._weigh(edges.weight)
        self._edges = edges

    def _vertices(self, vertices: ArrayLike | None, name: str) -> NDArray[np.intp]:
        found = sources_of(vertices, self._edges, name)
        return np.arange(self.n) if found is None else found


def factorize(
    graph: GraphLike,
    semiring: str | Semiring = "minplus",
    *,
    directed: bool = True,
    ordering: str | ArrayLike = "auto",
    weight: Weight = "weight",
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
    ordering : {"auto"} or array_like of int, (n,), default "auto"
        The order in which vertices are eliminated: the vertices in that order, or "auto" for an
        approximate minimum degree order.
    weight : str, callable or None, default "weight"
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
        If elimination adds so many edges that they do not fit into memory, as in a large random
        graph.

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
    return Factor(graph, semiring, directed=directed, ordering=ordering, weight=weight)


def _restored(edges: Edges, ring: Semiring, directed: bool, order: Array) -> Factor:
    factor = Factor.__new__(Factor)
    factor._eliminate(edges, ring, directed, order)
    return factor


def _pair(out: Any) -> tuple[Any, Any]:
    if out is None:
        return None, None
    if not isinstance(out, tuple) or len(out) != 2:
        raise TypeError(f"out: expected a pair (lengths, predecessors), got {type(out).__name__}")
    if all(isinstance(array, np.ndarray) for array in out) and np.may_share_memory(*out):
        raise ValueError("out: expected two arrays, got two that share memory")
    return out


def _is_undirected(graph: Any) -> bool:
    """Return whether `graph` is an undirected networkx graph."""
    return hasattr(graph, "is_directed") and not graph.is_directed()


def _order(ordering: str | ArrayLike, edges: Edges) -> Array | None:
    """Return the order as the vertices of a permutation, or None for the order of the core."""
    if isinstance(ordering, str):
        if ordering != "auto":
            raise ValueError(
                f"ordering: expected 'auto' or the vertices in order, got {ordering!r}"
            )
        return None
    order = sources_of(ordering, edges, "ordering")
    if order is None:
        raise TypeError("ordering: expected 'auto' or the vertices in order, got None")
    if order.shape != (edges.n,) or len(np.unique(order)) != edges.n:
        raise ValueError(f"ordering: expected each of {edges.n} vertices once, got {ordering!r}")
    return order

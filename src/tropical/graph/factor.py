"""Factors of sparse graphs: best paths by elimination, as Gauss eliminates unknowns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tropical import semirings
from tropical.arrays import Array, read_count

from . import factor_files
from .all_pairs import sources_of, vertex_of
from .elimination import FactorCost, cost_of, order_of, read_edges
from .result import Result
from .weights import Weights

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tropical.npz import PathLike
    from tropical.semirings import Semiring

    from .edges import GraphLike, Weight
    from .predecessors import Predecessors
    from .progress import Progress


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
        progress: Progress = None,
    ) -> None:
        ring = semirings.get(semiring)
        edges, directed = read_edges(graph, ring, directed, weight, keep=True)
        self._take(Weights(edges, ring, directed, order_of(ordering, edges), progress))

    def _take(self, weights: Weights) -> None:
        self._weights = weights
        self.n: int = weights.edges.n
        self.semiring: Semiring = weights.ring
        self.dtype: np.dtype[Any] = weights.edges.dtype
        self.directed: bool = weights.directed

    @classmethod
    def _of(cls, weights: Weights) -> Factor:
        factor = cls.__new__(cls)
        factor._take(weights)
        return factor

    def _as_it_is(self) -> Factor:
        """Return a factor that keeps the weights when `update` replaces those of this one."""
        return Factor._of(self._weights)

    def __repr__(self) -> str:
        kind = "directed" if self.directed else "undirected"
        return f"<Factor of {self.n:,} vertices, {kind}, {self.semiring.name}, {self.dtype}>"

    def __getstate__(self) -> dict[str, Any]:
        w = self._weights
        return {**vars(self), "_weights": (w.edges, w.ring, w.directed, w.elimination.order)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._weights = Weights(*state["_weights"])

    @property
    def nbytes(self) -> int:
        """Bytes of the weights."""
        return self._weights.nbytes

    def explain(self) -> FactorCost:
        """Return what the elimination cost, and what rows of lengths cost.

        Returns
        -------
        FactorCost
        """
        return cost_of(self._weights.elimination, self._weights.edges, self.directed)

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
        result = Result(out, (*rows.shape, *columns.shape), self.dtype)
        table, ends = result.table(rows.size, columns.size), columns.ravel()
        self._weights.elimination.rows(
            *self._weights.arrays, rows.ravel(), None if targets is None else ends, table
        )
        keep_one(table, self.semiring, rows.ravel(), None if targets is None else ends)
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
        lengths = Result(first, shape, self.dtype)
        before = Result(second, shape, np.dtype(np.int32))
        table = lengths.table(vertices.size, self.n)
        weights = self._weights  # another thread may update the factor
        weights.elimination.trees(
            *weights.arrays,
            vertices.ravel(),
            table,
            weights.edges.weight,
            before.table(vertices.size, self.n),
        )
        if return_lengths:
            keep_one(table, self.semiring, vertices.ravel())
            return lengths.finished(), before.finished()
        return before.finished()

    def path(self, i: int, j: int) -> list[int]:
        """Return the vertices of the best path from one vertex to another.

        Parameters
        ----------
        i, j : int
            The first and the last vertex. Negative numbers count from the end.

        Returns
        -------
        list of int
            From `i` to `j`, both included, each vertex once; ``[i]`` if they are the same, empty if
            there is no path.

        Raises
        ------
        TypeError, ValueError
            As for `lengths`.

        Notes
        -----
        Only the ancestors of both vertices in the elimination tree are searched. The path along the
        entries of the factor that is found there is unpacked, as in customizable contraction
        hierarchies (see `factorize`): an entry is an edge, or the product of two entries to a
        vertex that was eliminated before. Predecessors of whole rows, which `predecessors` returns,
        may have another one of equal paths.

        Examples
        --------
        >>> import networkx as nx
        >>> from tropical.graph import factorize
        >>> factor = factorize(nx.grid_2d_graph(3, 3))
        >>> len(factor.path(0, 8))
        5
        """
        first, last = (vertex_of(v, self._weights.edges, n) for v, n in ((i, "i"), (j, "j")))
        weights = self._weights
        return weights.elimination.path(*weights.arrays, weights.edges.weight, first, last).tolist()

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
        block = read_count("block", block, 1)
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
            A weight for each edge; the semiring's zero (+inf for minplus) closes an edge. The order
            is that in which the graph lists its edges: that of
            ``scipy.sparse.csr_array(graph).data`` for a sparse array, of ``graph.edges`` for a
            networkx graph, and by rows for an array. If the weights were those of a function, see
            `edge_betweenness`.

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
        given = self._weights.checked(weights, "weights")
        count = len(self._weights.edges.weight)
        if given.shape != (count,):
            raise ValueError(f"weights: expected shape ({count},), got {given.shape}")
        self._weights = self._weights.replaced(given)

    def update_edges(self, i: ArrayLike, j: ArrayLike, w: ArrayLike) -> None:
        """Compute the factor for new weights of some edges, the faster the fewer they are.

        Parameters
        ----------
        i, j : int or array_like of int
            The vertices that the edges leave, and those that they enter. All edges from i to j get
            the weight; in an undirected factor, all edges between i and j.
        w : scalar or array_like
            The weights, of a shape to which `i`, `j` and `w` broadcast. The semiring's zero (+inf
            for minplus) closes an edge; another weight opens the edge again. If an edge is named
            twice, the last weight counts.

        Raises
        ------
        ValueError
            If there is no such edge in the graph, or `w` are none of the semiring; see `factorize`.
        DivergenceError
            As `factorize`. The factor is unchanged then, also if Ctrl-C ends the call.

        Notes
        -----
        The new factor has the same bits as after `update`. Changes spread from entry to entry along
        the ancestors of the edges in the elimination tree. No other thread may use the factor
        meanwhile, because it is changed in place.

        Examples
        --------
        >>> import networkx as nx
        >>> import numpy as np
        >>> from tropical.graph import factorize
        >>> factor = factorize(nx.cycle_graph(5))
        >>> factor.update_edges(0, 1, np.inf)
        >>> factor.lengths(0)
        array([0., 4., 3., 2., 1.])
        """
        sources, targets = self._vertices(i, "i"), self._vertices(j, "j")
        given = self._weights.checked(w, "w")
        try:
            sources, targets, given = np.broadcast_arrays(sources, targets, given)
        except (ValueError, RuntimeError):  # the latter of more than 32 axes
            shapes = f"{sources.shape}, {targets.shape} and {given.shape}"
            wanted = "expected shapes that NumPy broadcasts"
            raise ValueError(f"i, j, w: {wanted}, got {shapes}") from None
        edges, counts = self._weights.edges_between(sources.ravel(), targets.ravel())
        values = np.repeat(given.ravel(), counts)
        self._weights = self._weights.some_replaced(edges, values)

    def save(self, path: PathLike) -> None:
        """Write the factor to an ``.npz`` file, without pickle; replace the file in one step.

        The file contains the edges and the order of the elimination, from which `load` computes the
        factor: that takes less time than finding the order.

        Parameters
        ----------
        path : str or path-like

        Raises
        ------
        OSError
            If the file cannot be written. The old file is unchanged then.

        Examples
        --------
        >>> import tempfile
        >>> from pathlib import Path
        >>> import networkx as nx
        >>> from tropical.graph import Factor, factorize
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     file = Path(folder) / "path.npz"
        ...     factorize(nx.path_graph(4)).save(file)
        ...     Factor.load(file).lengths(0)
        array([0., 1., 2., 3.])
        """
        factor_files.write(path, self._weights)

    @classmethod
    def load(cls, path: PathLike) -> Factor:
        """Read a factor from a file that `save` wrote.

        Parameters
        ----------
        path : str or path-like

        Returns
        -------
        Factor

        Raises
        ------
        ValueError
            If the file is none of a factor, is damaged, or a newer version wrote it; the message
            names the file.
        OSError
            If the file cannot be opened.
        """
        return cls._of(factor_files.read(path))

    def _vertices(self, vertices: ArrayLike | None, name: str) -> NDArray[np.intp]:
        found = sources_of(vertices, self._weights.edges, name)
        return np.arange(self.n) if found is None else found


def keep_one(
    table: Array,
    ring: Semiring,
    sources: NDArray[np.intp],
    targets: NDArray[np.intp] | None = None,
) -> None:
    """Let paths from a vertex to itself have no edges: rounding makes some cycles seem better.

    The columns of `table` are the targets, by default all vertices.
    """
    one = ring.one(table.dtype)
    if targets is None:
        table[np.arange(len(sources)), sources] = one
        return
    rows = max(1, (1 << 20) // max(targets.size, 1))  # whose comparisons take a megabyte
    for i in range(0, sources.size, rows):
        table[i : i + rows][sources[i : i + rows, None] == targets] = one


def _pair(out: Any) -> tuple[Any, Any]:
    if out is None:
        return None, None
    if not isinstance(out, tuple) or len(out) != 2:
        raise TypeError(f"out: expected a pair (lengths, predecessors), got {type(out).__name__}")
    if all(isinstance(array, np.ndarray) for array in out) and np.may_share_memory(*out):
        raise ValueError("out: expected two arrays, got two that share memory")
    return out

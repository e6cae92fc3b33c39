"""Powers of matrices, and best paths of a given number of edges."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tropical import _core, semirings
from tropical.arrays import Array, check_square, narrowed, read_count, stored_dtype, widened
from tropical.foreign import answers_alike

from .edge_arrays import Edges, in_core
from .edges import matrix_of, number_of_vertices, read
from .predecessors import Predecessors, check_vertices, place_in
from .progress import Progress, Report, shown
from .wanted import EVERYTHING, Found, Wanted, wanted

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from tropical.semirings import Semiring

    from .edges import GraphLike

STAY = -1


@answers_alike
def matrix_power(a: GraphLike, n: int, semiring: str | Semiring | None = None) -> Array:
    """Return the n-th power of square matrices, as ``np.linalg.matrix_power`` does.

    Parameters
    ----------
    a : array_like (..., m, m), sparse array (m, m) or networkx graph
        Of a dtype of the semiring, `Semiring.stored` included: the products of float16 and bfloat16
        are float32, and the power is rounded once. As in `closure`, a sparse array and a networkx
        graph are read as by `shortest_paths`.
    n : int
        At least 0. The power 0 is the identity: the semiring's one on the diagonal, the semiring's
        zero elsewhere.
    semiring : str or Semiring
        Without a semiring, a DeprecationWarning says that "maxplus" is taken.

    Returns
    -------
    ndarray, (..., m, m)
        Of the dtype of `a`.

    Raises
    ------
    ValueError
        If `a` is not square or `n` is negative.
    TypeError
        If the dtype is not one of the semiring's, `a` is a masked array, or `n` is no integer.

    Notes
    -----
    Repeated squaring: about log2(n) products, at most twice as many.

    Examples
    --------
    >>> from tropical.graph import matrix_power
    >>> matrix_power([[0.0, 3.0], [2.0, 1.0]], 3, "maxplus")
    array([[6., 8.],
           [7., 6.]])
    """
    if semiring is None:
        warnings.warn(
            "semiring: expected a semiring, got none; maxplus is taken, while other functions of "
            "tropical.graph take minplus",
            DeprecationWarning,
            stacklevel=3,  # the caller of `matrix_power`
        )
    ring = semirings.get(semiring or "maxplus")
    given = matrix_of(a, ring)
    check_square("a", given)
    left = read_count("n", n)
    return narrowed(_power(widened(given, ring), left, ring), stored_dtype(given))


def _power(base: Array, left: int, ring: Semiring) -> Array:
    """Return the power `left` of square matrices."""
    zero = ring.zero(base.dtype)  # raises TypeError where the semiring has no such dtype
    if left == 1:
        return np.array(base, base.dtype.newbyteorder("="))
    power: Array | None = None
    while True:
        if left & 1:
            power = base if power is None else _core.gemm(power, base, semiring=ring)
        left >>= 1
        if not left:
            break
        base = _core.gemm(base, base, semiring=ring)
    if power is None:
        power = np.full(base.shape, zero, base.dtype.newbyteorder("="))
        i = np.arange(base.shape[-1])
        power[..., i, i] = ring.one(base.dtype)
    return power


@dataclass(frozen=True)
class KEdgePaths:
    """Best paths of k edges; `k_edge_paths` returns them.

    Attributes
    ----------
    values : (..., n, n) array
        The best values; the semiring's zero where there is no such path. With `indices` and
        `targets`, these replace the last axes, as in `shortest_paths`.
    predecessors : (k, ..., n, n) int32 array
        ``predecessors[h - 1, ..., i, j]`` is the vertex before j on the best path of h edges from
        i to j; -1 if the path of at most h edges has fewer edges. The last axis has all vertices.
    none : float
        The semiring's zero.
    wanted : Wanted
        The sources and targets.
    """

    values: Array
    predecessors: Predecessors
    none: float
    wanted: Wanted = EVERYTHING

    def path(self, i: int, j: int, item: tuple[int, ...] = ()) -> list[int]:
        """Return the vertices of the best path from `i` to `j`; empty if there is no path.

        Parameters
        ----------
        i, j : int
            The first and the last vertex. A path of exactly k edges may pass a vertex twice.
        item : tuple of int, optional
            The position of the graph in a batch.

        Raises
        ------
        IndexError
            If there is no such graph or vertex.
        TypeError
            If `i` or `j` is no integer.
        ValueError
            If paths from `i` or to `j` were not asked for; or, with `min_only`, if the best path to
            `j` begins at another vertex.
        """
        n = self.predecessors.shape[-1]
        rows = self.wanted.rows(n)
        batch = self.predecessors.shape[1 : self.predecessors.ndim - 1 - len(rows)]
        if len(item) != len(batch):
            raise IndexError(f"item: expected a graph of a batch {batch}, got {item}")
        check_vertices(n, i=i, j=j)
        row = 0 if self.wanted.min_only else place_in(self.wanted.starts(n), "indices", "i", i)
        ends = np.arange(n) if self.wanted.targets is None else self.wanted.targets
        column = place_in(ends.ravel(), "targets", "j", j)
        if self.values[item].reshape(-1, ends.size)[row, column] == self.none:
            return []
        vertices = [int(j)]
        for table in self.predecessors[::-1]:
            before = int(table[item].reshape(-1, n)[row, vertices[-1]])
            if before != STAY:
                vertices.append(before)
        if vertices[-1] != i:
            raise ValueError(f"i: expected {vertices[-1]}, where the path begins, got {i}")
        return vertices[::-1]


def k_edge_paths(
    w: GraphLike,
    k: int,
    *,
    semiring: str | Semiring = "minplus",
    at_most: bool = False,
    indices: ArrayLike | None = None,
    targets: ArrayLike | None = None,
    limit: float | None = None,
    min_only: bool = False,
    weight: str | None = "weight",
    progress: Progress = None,
) -> KEdgePaths:
    """Return the best paths of exactly, or at most, k edges.

    Parameters
    ----------
    w : array_like (..., n, n), sparse array (n, n) or networkx graph
        Edges, the semiring's zero where there is no edge; see `shortest_paths`.
    k : int
        At least 0.
    semiring : str or Semiring, default "minplus"
        A selective one, such as minplus or maxmin.
    at_most : bool, default False
        Whether paths of fewer edges count too. Of equally good paths, one of the fewest edges wins.
    indices, targets, min_only, weight, progress
        As in `shortest_paths`.
    limit : float, optional
        The worst value; a path of k edges whose value is worse is none.

    Returns
    -------
    KEdgePaths
        The values of the paths, and `KEdgePaths.path`.

    Raises
    ------
    ValueError
        If `w` is not square or holds a NaN, `k` is negative, or the semiring is not selective.
    TypeError
        If the dtype is not one of the semiring's.

    Notes
    -----
    The first k rounds of R. Bellman, "On a routing problem", Quarterly of Applied Mathematics 16,
    1958: for an array k products with argmax, of n^2 operations for each source. In a sparse graph,
    a round looks at each edge once for each source, and sums are those of float64.

    Examples
    --------
    >>> import numpy as np
    >>> from tropical.graph import k_edge_paths
    >>> inf = np.inf
    >>> fares = [[inf, 9.0, 2.0], [9.0, inf, 3.0], [2.0, 3.0, inf]]
    >>> two = k_edge_paths(fares, 2)
    >>> float(two.values[0, 1]), two.path(0, 1)
    (5.0, [0, 2, 1])
    """
    ring = semirings.get(semiring)
    if not ring.selective:
        raise ValueError(f"semiring: expected a selective one, got {ring.name}")
    k = read_count("k", k)
    graph = read(w, ring, weight)
    want = wanted(graph, indices, targets, limit, min_only)
    n = number_of_vertices(graph)
    with shown(progress) as report:
        if isinstance(graph, Edges):
            values, before = _sparse_rounds(graph, ring, want, k, at_most, report)
        else:
            values, before = _dense_rounds(graph, ring, want, k, at_most, report)
    batch = values.shape[:-2]
    shape = (*batch, *want.rows(n), n)
    found = want.restrict(Found(values.reshape(shape)), ring)
    values = narrowed(found.values, stored_dtype(w))
    return KEdgePaths(values, before.reshape((k, *shape)), ring.zero(graph.dtype), want)


def _dense_rounds(
    a: Array, ring: Semiring, want: Wanted, k: int, at_most: bool, report: Report
) -> tuple[Array, Predecessors]:
    """Return values (..., rows, n) and predecessors (k, ..., rows, n)."""
    values = matrix_power(a, 0, ring)[..., want.starts(a.shape[-1]), :]
    if want.min_only:
        values = ring.add_ufunc.reduce(values, axis=-2, keepdims=True)
    predecessors = _rounds_of(k, *values.shape)
    for edge in range(k):
        further, before = _core.gemm(values, a, semiring=ring, return_argmax=True)
        if at_most:
            further = ring.add_ufunc(further, values)
            before[further == values] = STAY
        values = further
        predecessors[edge] = before
        report((edge + 1) / k)
    return values, predecessors


def _rounds_of(k: int, *shape: int) -> Predecessors:
    try:
        return np.empty((k, *shape), np.int32)
    except ValueError:  # more bytes than an address has
        raise MemoryError(f"k: no memory for predecessors of shape {(k, *shape)}") from None


def _sparse_rounds(
    edges: Edges, ring: Semiring, want: Wanted, k: int, at_most: bool, report: Report
) -> tuple[Array, Predecessors]:
    """Return values (rows, n) and predecessors (k, rows, n)."""
    starts = want.starts(edges.n)
    shape = (1 if want.min_only else len(starts), edges.n)
    values, predecessors = np.empty(shape), _rounds_of(k, *shape)
    in_core(edges).rounds(ring.name, starts, want.min_only, k, at_most, values, predecessors)
    report(1.0)
    with np.errstate(over="ignore"):  # in float32
        return values.astype(edges.dtype, copy=False), predecessors

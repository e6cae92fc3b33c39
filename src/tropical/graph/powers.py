"""Powers of matrices, and best paths of a given number of edges."""

from __future__ import annotations

import operator
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tropical import _core, semirings
from tropical.arrays import Array, check_square

from .edges import dense_of, matrix_of, read
from .predecessors import Predecessors, check_vertices
from .progress import shown

if TYPE_CHECKING:
    from tropical.semirings import Semiring

    from .edges import GraphLike
    from .progress import Progress

STAY = -1


def matrix_power(a: GraphLike, n: int, semiring: str | Semiring | None = None) -> Array:
    """Return the n-th power of square matrices, as ``np.linalg.matrix_power`` does.

    Parameters
    ----------
    a : array_like (..., m, m), sparse array (m, m) or networkx graph
        Of a dtype of the semiring. As in `closure`, a sparse array and a networkx graph are read as
        by `shortest_paths`.
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
            stacklevel=2,
        )
    ring = semirings.get(semiring or "maxplus")
    base = matrix_of(a, ring)
    check_square("a", base)
    zero = ring.zero(base.dtype)  # raises TypeError where the semiring has no such dtype
    left = _count("n", n)
    if left == 1:
        return np.array(base)
    power: Array | None = None
    while True:
        if left & 1:
            power = base if power is None else _core.gemm(power, base, semiring=ring)
        left >>= 1
        if not left:
            break
        base = _core.gemm(base, base, semiring=ring)
    if power is None:
        power = np.full(base.shape, zero, base.dtype)
        i = np.arange(base.shape[-1])
        power[..., i, i] = ring.one(base.dtype)
    return power


def _count(name: str, number: int) -> int:
    try:
        count = operator.index(number)
    except TypeError:
        raise TypeError(f"{name}: expected an integer, got {number!r}") from None
    if count < 0:
        raise ValueError(f"{name}: expected 0 or more, got {count}")
    return count


@dataclass(frozen=True)
class KEdgePaths:
    """Best paths of k edges; `k_edge_paths` returns them.

    Attributes
    ----------
    values : (..., n, n) array
        The best values; the semiring's zero where there is no such path.
    predecessors : (k, ..., n, n) int32 array
        ``predecessors[h - 1, ..., i, j]`` is the vertex before j on the best path of h edges from
        i to j; -1 if the path of at most h edges has fewer edges.
    none : float
        The semiring's zero.
    """

    values: Array
    predecessors: Predecessors
    none: float

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
        """
        values = self.values[item]
        if values.ndim != 2:
            raise IndexError(
                f"item: expected a graph of a batch {self.values.shape[:-2]}, got {item}"
            )
        check_vertices(len(values), i=i, j=j)
        if values[i, j] == self.none:
            return []
        vertices = [int(j)]
        for table in self.predecessors[::-1]:
            before = int(table[item][i, vertices[-1]])
            if before != STAY:
                vertices.append(before)
        return vertices[::-1]


def k_edge_paths(
    w: GraphLike,
    k: int,
    *,
    semiring: str | Semiring = "minplus",
    at_most: bool = False,
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
    weight, progress
        As in `shortest_paths`.

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
    k products with argmax, of n^3 operations each: the first k rounds of R. Bellman, "On a routing
    problem", Quarterly of Applied Mathematics 16, 1958, from all vertices.

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
    k = _count("k", k)
    a = dense_of(read(w, ring, weight), ring)
    values = matrix_power(a, 0, ring)
    predecessors = np.empty((k, *a.shape), np.int32)
    with shown(progress) as report:
        for edge in range(k):
            further, before = _core.gemm(values, a, semiring=ring, return_argmax=True)
            if at_most:
                further = ring.add_ufunc(further, values)
                before[further == values] = STAY
            values = further
            predecessors[edge] = before
            report((edge + 1) / k)
    return KEdgePaths(values, predecessors, ring.zero(a.dtype))

"""Powers of matrices, and best paths of so many edges."""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tropical import _core, semirings
from tropical.arrays import unmasked

from .inputs import Edges, read
from .progress import shown
from .trees import check_vertices

if TYPE_CHECKING:
    from tropical.semirings import Semiring

    from .inputs import GraphLike
    from .progress import Progress

Array: TypeAlias = NDArray[Any]

STAY = -1


def matrix_power(a: ArrayLike, n: int, semiring: str | Semiring = "maxplus") -> Array:
    """Return square matrices multiplied n times with themselves, as ``np.linalg.matrix_power``.

    Parameters
    ----------
    a : array_like, (..., m, m)
        Of a dtype that the semiring has.
    n : int
        At least 0; the power 0 is the identity: the semiring's one on the diagonal, its zero
        elsewhere.
    semiring : str or Semiring, default "maxplus"

    Returns
    -------
    ndarray, (..., m, m)
        Of the dtype of `a`.

    Raises
    ------
    ValueError
        If `a` is not square or `n` negative.
    TypeError
        For a dtype that the semiring does not have, a masked array, and `n` that is no integer.

    Notes
    -----
    Squared repeatedly: about log2(n) products, twice as many at most.

    Examples
    --------
    >>> from tropical.graph import matrix_power
    >>> matrix_power([[0.0, 3.0], [2.0, 1.0]], 3)
    array([[6., 8.],
           [7., 6.]])
    """
    ring = semirings.get(semiring)
    base = unmasked("a", a)
    if base.ndim < 2 or base.shape[-1] != base.shape[-2]:
        raise ValueError(f"a: has shape {base.shape}, (..., m, m) is wanted")
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
        raise TypeError(f"{name}: an integer is wanted, got {number!r}") from None
    if count < 0:
        raise ValueError(f"{name}: {count} is negative")
    return count


@dataclass(frozen=True)
class Legs:
    """Best paths of k edges; `k_leg_paths` makes them.

    Attributes
    ----------
    values : (..., n, n) array
        The best values; the semiring's zero where there is no such path.
    predecessors : (k, ..., n, n) int32 array
        ``predecessors[h - 1, ..., i, j]`` is the vertex before j on the best path of h edges from
        i to j; -1 where a path of at most h edges has fewer.
    none : float
        The semiring's zero.
    """

    values: Array
    predecessors: NDArray[np.int32]
    none: float

    def path(self, i: int, j: int, item: tuple[int, ...] = ()) -> list[int]:
        """Return the vertices of the best path from `i` to `j`; empty where there is none.

        Parameters
        ----------
        i, j : int
            From where, and to where. A path of exactly k edges may pass a vertex more than once.
        item : tuple of int, optional
            Which graph of a batch.

        Raises
        ------
        IndexError
            If there is no such graph or vertex.
        """
        values = self.values[item]
        if values.ndim != 2:
            raise IndexError(f"item: {item} is no graph of a batch {self.values.shape[:-2]}")
        check_vertices(len(values), i=i, j=j)
        if values[i, j] == self.none:
            return []
        stops = [int(j)]
        for table in self.predecessors[::-1]:
            before = int(table[item][i, stops[-1]])
            if before != STAY:
                stops.append(before)
        return stops[::-1]


def k_leg_paths(
    w: GraphLike,
    k: int,
    *,
    semiring: str | Semiring = "minplus",
    at_most: bool = False,
    weight: str | None = "weight",
    progress: Progress = None,
) -> Legs:
    """Return the best paths of exactly, or at most, k edges.

    Parameters
    ----------
    w : array_like (..., n, n), sparse array (n, n) or networkx graph
        Edges, the semiring's zero where there is none; see `shortest_paths`.
    k : int
        At least 0.
    semiring : str or Semiring, default "minplus"
        A selective one: minplus, maxplus, maxtimes, maxmin, minmax.
    at_most : bool, default False
        Whether fewer edges will do; of equally good paths, one of the fewest edges is found.
    weight, progress
        As in `shortest_paths`.

    Returns
    -------
    Legs
        Their values, and `Legs.path`.

    Raises
    ------
    ValueError
        If `w` is not square, holds a NaN, `k` is negative, or the semiring does not select.
    TypeError
        For a dtype that the semiring does not have.

    Notes
    -----
    k products with argmax, of n^3 each: the first k rounds of R. Bellman, "On a routing problem",
    Quarterly of Applied Mathematics 16, 1958, from all vertices.

    Examples
    --------
    >>> import numpy as np
    >>> from tropical.graph import k_leg_paths
    >>> inf = np.inf
    >>> fares = [[inf, 9.0, 2.0], [9.0, inf, 3.0], [2.0, 3.0, inf]]
    >>> two = k_leg_paths(fares, 2)
    >>> float(two.values[0, 1]), two.path(0, 1)
    (5.0, [0, 2, 1])
    """
    ring = semirings.get(semiring)
    if not ring.selective:
        raise ValueError(f"semiring: {ring.name} does not select a best path")
    k = _count("k", k)
    graph = read(w, ring, weight)
    a = graph.dense(ring) if isinstance(graph, Edges) else graph
    values = matrix_power(a, 0, ring)
    better = np.minimum if ring.add == "min" else np.maximum
    predecessors = np.empty((k, *a.shape), np.int32)
    with shown(progress) as report:
        for leg in range(k):
            further, before = _core.gemm(values, a, semiring=ring, return_argmax=True)
            if at_most:
                further = better(further, values)
                before[further == values] = STAY
            values = further
            predecessors[leg] = before
            report((leg + 1) / k)
    return Legs(values, predecessors, ring.zero(a.dtype))

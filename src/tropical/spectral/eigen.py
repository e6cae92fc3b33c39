"""Eigenvectors of irreducible matrices, and when their powers become periodic."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

import tropical
from tropical import semirings
from tropical.arrays import Array, is_kind
from tropical.graph import closure
from tropical.graph.components import strong_components
from tropical.graph.edges import dense_of, edges_of

from .cycles import best_classes, classes, to_whole
from .operands import plus_ring, square_matrix

if TYPE_CHECKING:
    from tropical.graph.edges import Edges, GraphLike
    from tropical.semirings import Semiring

    from .cycles import Class


class Eigenspace(NamedTuple):
    """The eigenvalue of an irreducible matrix, and a basis of its eigenvectors.

    Attributes
    ----------
    value : float
        The eigenvalue: the maximum cycle mean.
    vectors : ndarray, (n, d), float64
        One column for each of the d strong components of the critical graph. Every eigenvector is a
        sum, in the semiring, of multiples of the columns (a multiple adds a number to a column).
    """

    value: float
    vectors: NDArray[np.float64]


def eigenvectors(a: GraphLike, semiring: str | Semiring = "maxplus") -> Eigenspace:
    """Return the eigenvalue of an irreducible matrix and a basis of its eigenspace.

    ``a (x) v = value (x) v``: for a timed event graph v is a timetable in which each event happens
    once in every ``value``, as early as possible.

    Parameters
    ----------
    a : array_like, sparse array or networkx graph, (n, n)
        As for `maximum_cycle_mean`; every vertex must reach every other.
    semiring : {"maxplus", "minplus"}

    Returns
    -------
    Eigenspace
        ``(value, vectors)``; in each column a vertex of the critical graph has 0.

    Raises
    ------
    ValueError
        As for `maximum_cycle_mean`, and if `a` is reducible or has no edge, or if sums along paths
        could leave float64.
    TypeError
        As for `maximum_cycle_mean`.

    Notes
    -----
    The eigenvectors are columns of the star of `a` over its eigenvalue (Baccelli et al. 1992,
    sections 3.2.4 and 3.7; Butkovic 2010, chapter 4). Each column holds the weights of the best
    paths to one critical vertex; each round lengthens the paths by an edge. With the eigenvalue
    p / q, the sums are those of ``q a - p``, and the end divides by q: whole numbers are rounded
    only once.

    Examples
    --------
    >>> import numpy as np
    >>> import tropical
    >>> from tropical.spectral import eigenvectors
    >>> a = np.array([[3.0, 7.0], [2.0, 4.0]])
    >>> value, vectors = eigenvectors(a)
    >>> value, vectors
    (4.5, array([[ 0. ],
           [-2.5]]))
    >>> tropical.gemm(a, vectors) - vectors
    array([[4.5],
           [4.5]])
    """
    ring = plus_ring(semiring)
    matrix = square_matrix(a, ring)
    part = _irreducible(matrix, ring)
    n, length = len(matrix), len(part.cycle)
    none = matrix == ring.zero(matrix.dtype)
    numbers = np.where(none, 0, matrix).astype(np.float64)
    if abs(numbers).max() > np.finfo(np.float64).max / (4 * n**2):
        most = abs(numbers).max()
        raise ValueError(f"a: expected numbers small enough for sums of paths, got {most}")
    normal = np.where(none, ring.zero("float64"), _normal(matrix, none, part.mean, length))
    roots = [vertices[0] for vertices, _, _ in strong_components(part.critical)]
    at_roots = roots, np.arange(len(roots))
    paths = np.full((n, len(roots)), ring.zero("float64"))
    paths[at_roots] = 0
    for _ in range(n):
        longer = tropical.gemm(normal, paths, semiring=ring, out=paths.copy(), accumulate=True)
        longer[at_roots] = 0  # without rounding it is 0
        if np.array_equal(longer, paths):
            break
        paths = longer
    return Eigenspace(float(part.mean), paths / length)


def _normal(matrix: Array, none: Array, mean: Fraction, length: int) -> Array:
    """Return ``length * (matrix - mean)``, of integers exactly before it is float64."""
    weight = mean * length
    if not is_kind(matrix.dtype, "integer"):
        return length * np.where(none, 0, matrix).astype(np.float64) - float(weight)
    whole = np.where(none, 0, matrix)
    most = length * max(abs(int(whole.min())), abs(int(whole.max()))) + abs(int(weight))
    exact = whole.astype(np.int64 if most < 2**63 else object)
    return (length * exact - int(weight)).astype(np.float64)


def cyclicity(a: GraphLike, semiring: str | Semiring = "maxplus") -> int:
    """Return the period with which powers of an irreducible matrix end up growing.

    Each strong component of the critical graph has a period, the greatest common divisor of the
    lengths of its cycles. The cyclicity is the least common multiple of the periods.

    Parameters
    ----------
    a : array_like, sparse array or networkx graph, (n, n)
        As for `maximum_cycle_mean`.
    semiring : {"maxplus", "minplus"}

    Returns
    -------
    int
        1 if there is no cycle.

    Raises
    ------
    ValueError, TypeError
        As for `maximum_cycle_mean`.

    Notes
    -----
    Baccelli et al. (1992), section 3.7.

    Examples
    --------
    Trains that meet every second round:

    >>> import numpy as np
    >>> from tropical.spectral import cyclicity
    >>> cyclicity([[1.0, 4.0], [6.0, 2.0]])
    2
    """
    ring = plus_ring(semiring)
    matrix = square_matrix(a, ring)
    return _cyclicity(best_classes(classes(matrix, ring), ring))


def _cyclicity(found: list[Class]) -> int:
    parts = (edges for own in found for _, edges, _ in strong_components(own.critical))
    return math.lcm(*map(_period, parts))


def _period(edges: Edges) -> int:
    """Return the greatest common divisor of the lengths of a strongly connected graph's cycles.

    The period is the greatest common divisor of ``level[source] + 1 - level[target]`` of all edges,
    for the levels of a breadth-first search (E. V. Denardo, "Periods of connected networks and
    powers of nonnegative matrices", Mathematics of Operations Research 2, 1977).
    """
    levels = np.full(edges.n, -1)
    front = np.array([0])
    for level in range(edges.n):
        levels[front] = level
        reached = edges.target[np.isin(edges.source, front)]
        front = np.unique(reached[levels[reached] < 0])
    return int(np.gcd.reduce(levels[edges.source] + 1 - levels[edges.target]))


def transient(a: GraphLike, semiring: str | Semiring = "maxplus") -> int:
    """Return after how many steps an irreducible matrix is in its periodic regime at the latest.

    The transient is the least k from which on all powers obey ``a^(k + c) = value^c a^k``, with c
    the cyclicity of `a` and ``value`` its eigenvalue. For every x(0), from the k-th step of
    ``x(k + 1) = a (x) x(k)`` on, the system repeats every c steps, c times the eigenvalue later.

    Parameters
    ----------
    a : array_like, sparse array or networkx graph, (n, n)
        As for `eigenvectors`. The numbers must be multiples of a common unit, and the weight of n^3
        edges in that unit must fit 64 bits.
    semiring : {"maxplus", "minplus"}

    Returns
    -------
    int
        The transient, also called coupling time.

    Raises
    ------
    ValueError
        As for `eigenvectors`, and if there is no such unit.
    TypeError
        As for `maximum_cycle_mean`.

    Notes
    -----
    Baccelli et al. (1992), section 3.7. No bound of a transient depends on n alone. Squaring and
    bisection find k in about ``4 log2 k`` products.

    Examples
    --------
    >>> from tropical.spectral import transient
    >>> transient([[3, 7], [2, 4]]), transient([[5, 1], [0, 4]])
    (2, 9)
    """
    ring = plus_ring(semiring)
    matrix = square_matrix(a, ring)
    part = _irreducible(matrix, ring)
    normal = _whole_normal(matrix, part, ring)
    one = np.full_like(normal, semirings.maxplus.zero(normal.dtype))
    np.fill_diagonal(one, 0)
    period = one
    for bit in f"{_cyclicity([part]):b}":
        period = tropical.gemm(period, period)
        period = tropical.gemm(period, normal) if bit == "1" else period

    def is_periodic(power: Array) -> bool:
        return np.array_equal(tropical.gemm(power, period), power)

    if is_periodic(one):
        return 0
    squares = [normal]
    while not is_periodic(squares[-1]):
        squares.append(tropical.gemm(squares[-1], squares[-1]))
    last, steps = one, 0  # the last power known not to be periodic
    for j in reversed(range(len(squares) - 1)):
        power = tropical.gemm(last, squares[j])
        if not is_periodic(power):
            last, steps = power, steps + 2**j
    return steps + 1


def _irreducible(matrix: Array, ring: Semiring) -> Class:
    """Return the one class of an irreducible matrix; raise ValueError for other matrices."""
    found = classes(matrix, ring)
    if not found:
        raise ValueError("a: expected a cycle, got a graph without one, whose eigenvalue is zero")
    if len(found[0].vertices) < len(matrix):
        reached = closure(matrix != ring.zero(matrix.dtype), "orand")
        i, j = np.argwhere(~reached)[0]
        raise ValueError(
            f"a: expected an irreducible matrix, but no path leads from {i} to {j}; "
            "cycle_times takes such matrices"
        )
    return found[0]


def _whole_normal(matrix: Array, part: Class, ring: Semiring) -> NDArray[np.int64]:
    """Return a multiple of ``a`` over its eigenvalue, whole and for maxplus; raise if none fits.

    The powers of a matrix of weights up to M, divided by its eigenvalue, are within 2 n^3 M.
    """
    n, length = len(matrix), len(part.cycle)
    edges = edges_of(matrix, ring)
    numbers, exact = to_whole(edges.weight, 58 - 3 * n.bit_length(), ring)
    if not exact:
        raise ValueError(
            "a: expected multiples of a unit that allows exact powers in 64 bits; round the numbers"
        )
    normal = dense_of(replace(edges, weight=length * numbers), semirings.maxplus)
    cycle = sum(normal[edge].item() for edge in pairwise([*part.cycle, part.cycle[0]]))
    normal[edges.source, edges.target] -= cycle // length
    return normal

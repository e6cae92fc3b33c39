"""Eigenvectors of irreducible matrices, and when their powers become periodic."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

import tropical
from tropical import semirings
from tropical.graph import closure

from .cycles import best_classes, classes, parts, to_whole
from .operands import Arcs, Array, arcs_of, plus_ring, square_matrix

if TYPE_CHECKING:
    from tropical.semirings import Semiring

    from .cycles import Class


class Eigenspace(NamedTuple):
    """The eigenvalue of an irreducible matrix, and a basis of its eigenvectors.

    Attributes
    ----------
    value : float
        The eigenvalue: the maximum cycle mean.
    vectors : ndarray, (n, d), float64
        One column for each of the d strongly connected parts of the critical graph. Their sums,
        in the semiring, of multiples (a number added to a column) are all eigenvectors.
    """

    value: float
    vectors: NDArray[np.float64]


def eigenvectors(a: ArrayLike, semiring: str | Semiring = "maxplus") -> Eigenspace:
    """Return the eigenvalue of an irreducible matrix and a basis of its eigenspace.

    ``a (x) v = value (x) v``: for a timed event graph v is a timetable, in which everything
    happens once in every ``value``, as early as possible.

    Parameters
    ----------
    a : array_like, (n, n)
        As for `maximum_cycle_mean`; every vertex must reach every other.
    semiring : {"maxplus", "minplus"}

    Returns
    -------
    Eigenspace
        ``(value, vectors)``; in each column a vertex of the critical graph has 0.

    Raises
    ------
    ValueError
        As `maximum_cycle_mean`, and if `a` is reducible, or has no arc.
    TypeError
        As `maximum_cycle_mean`.

    Notes
    -----
    Columns of the star of `a` divided by its eigenvalue (Baccelli et al. 1992, sections 3.2.4
    and 3.7; Butkovic 2010, chapter 4), each the weights of the best paths to one critical vertex,
    lengthened by an arc at a time. They are summed from ``q a - p`` and divided by q in the end,
    where p / q is the eigenvalue: for whole numbers one rounding is all.

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
        raise ValueError(f"a: holds {abs(numbers).max()}, which is too large to add up paths")
    normal = np.where(none, ring.zero("float64"), length * numbers - float(part.mean * length))
    roots = [vertices[0] for vertices, _, _ in parts(n, part.critical)]
    at_roots = roots, np.arange(len(roots))
    paths = np.full((n, len(roots)), ring.zero("float64"))
    paths[at_roots] = 0
    for _ in range(n):
        longer = tropical.gemm(normal, paths, semiring=ring, out=paths.copy(), accumulate=True)
        longer[at_roots] = 0  # as it is but for rounding
        if np.array_equal(longer, paths):
            break
        paths = longer
    return Eigenspace(float(part.mean), paths / length)


def cyclicity(a: ArrayLike, semiring: str | Semiring = "maxplus") -> int:
    """Return the period with which powers of an irreducible matrix end up growing.

    Each strongly connected part of the critical graph has the greatest common divisor of the
    lengths of its cycles; the cyclicity is the least common multiple of these.

    Parameters
    ----------
    a : array_like, (n, n)
        As for `maximum_cycle_mean`.
    semiring : {"maxplus", "minplus"}

    Returns
    -------
    int
        1 where there is no cycle.

    Raises
    ------
    ValueError, TypeError
        As `maximum_cycle_mean`.

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
    return _cyclicity(len(matrix), best_classes(classes(matrix, ring), ring))


def _cyclicity(n: int, found: list[Class]) -> int:
    critical = (part for own in found for part in parts(n, own.critical))
    return math.lcm(*(_period(len(vertices), arcs) for vertices, arcs, _ in critical))


def _period(n: int, arcs: Arcs) -> int:
    """Return the greatest common divisor of the lengths of a connected graph's cycles.

    It divides ``level[tail] + 1 - level[head]`` for levels by a breadth-first search, and nothing
    greater does (E. V. Denardo, "Periods of connected networks and powers of nonnegative matrices",
    Mathematics of Operations Research 2, 1977).
    """
    levels = np.full(n, -1)
    front = np.array([0])
    for level in range(n):
        levels[front] = level
        heads = arcs.heads[np.isin(arcs.tails, front)]
        front = np.unique(heads[levels[heads] < 0])
    return int(np.gcd.reduce(levels[arcs.tails] + 1 - levels[arcs.heads]))


def transient(a: ArrayLike, semiring: str | Semiring = "maxplus") -> int:
    """Return how many steps an irreducible matrix takes at most to its periodic regime.

    It is the least k from which on all powers obey ``a^(k + c) = value^c a^k``, with c the
    cyclicity of `a` and ``value`` its eigenvalue: whatever x(0), from the k-th step of ``x(k + 1) =
    a (x) x(k)`` on everything repeats itself every c steps, c times the eigenvalue later.

    Parameters
    ----------
    a : array_like, (n, n)
        As for `eigenvectors`. Its numbers must be multiples of a common unit, of which 64 bits can
        count the weights of n^3 arcs.
    semiring : {"maxplus", "minplus"}

    Returns
    -------
    int
        The transient, also called coupling time.

    Raises
    ------
    ValueError
        As `eigenvectors`, and if there is no such unit.
    TypeError
        As `maximum_cycle_mean`.

    Notes
    -----
    Baccelli et al. (1992), section 3.7. A transient has no bound in n alone; it is found in about
    ``4 log2 k`` products, by squaring and bisection.

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
    for bit in f"{_cyclicity(len(matrix), [part]):b}":
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
    """Return the one class of an irreducible matrix; raise if it is not."""
    found = classes(matrix, ring)
    if not found:
        raise ValueError("a: has no cycle, so no eigenvalue but the semiring's zero")
    if len(found[0].vertices) < len(matrix):
        reached = closure(matrix != ring.zero(matrix.dtype), "orand")
        i, j = np.argwhere(~reached)[0]
        raise ValueError(
            f"a: is reducible, as no path leads from {i} to {j}; cycle_times takes such matrices"
        )
    return found[0]


def _whole_normal(matrix: Array, part: Class, ring: Semiring) -> NDArray[np.int64]:
    """Return a multiple of ``a`` over its eigenvalue, whole and for maxplus; raise if none fits.

    Divided by its eigenvalue, a matrix of weights up to M has powers of any order within 2 n^3 M.
    """
    n, length = len(matrix), len(part.cycle)
    tails, heads, weights = arcs_of(matrix, ring)
    numbers, exact = to_whole(weights, 58 - 3 * n.bit_length(), ring)
    if not exact:
        raise ValueError(
            "a: its numbers are multiples of no unit that is large enough for exact powers in 64 "
            "bits; round them"
        )
    normal = np.full((n, n), semirings.maxplus.zero(np.int64), np.int64)
    normal[tails, heads] = length * numbers
    cycle = sum(normal[arc].item() for arc in pairwise([*part.cycle, part.cycle[0]]))
    normal[tails, heads] -= cycle // length
    return normal

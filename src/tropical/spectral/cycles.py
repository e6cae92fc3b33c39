"""Maximum cycle means, class by class, and the critical graph."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tropical.graph import closure

from .howard import howard
from .karp import karp
from .operands import Arcs, Array, arcs_of, plus_ring, square_matrix

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tropical.semirings import Semiring

Index: TypeAlias = NDArray[np.intp]
Solver: TypeAlias = "Callable[[int, Arcs], tuple[int, list[int], Array]]"

_METHODS: dict[str, Solver] = {"howard": howard, "karp": karp}


class CycleMean(NamedTuple):
    """A maximum cycle mean and where it is attained.

    Attributes
    ----------
    mean : float
        The mean, rounded once; the semiring's zero (-inf for maxplus) where there is no cycle.
    cycle : list of int
        The vertices of a cycle of that mean in order, the least first; empty where there is none.
    exact : Fraction or None
        The mean as it is: the cycle's weight over its number of arcs.
    """

    mean: float
    cycle: list[int]
    exact: Fraction | None


class Class(NamedTuple):
    """A strongly connected set of vertices with at least one arc among them."""

    vertices: NDArray[np.intp]
    mean: Fraction
    cycle: list[int]
    critical: Arcs  # those on cycles of that mean


def maximum_cycle_mean(
    a: ArrayLike, semiring: str | Semiring = "maxplus", *, method: str = "howard"
) -> CycleMean:
    """Return the greatest mean weight of a cycle, and a cycle that has it.

    It is the rate at which powers of `a` grow: of an irreducible matrix the only eigenvalue, of
    a timed event graph the cycle time.

    Parameters
    ----------
    a : array_like, (n, n)
        Element (i, j) is the weight of the arc from i to j, the semiring's zero where there is
        none. float32, float64, int8, int16, int32 or int64.
    semiring : {"maxplus", "minplus"}
        minplus has the least mean.
    method : {"howard", "karp"}
        Howard's policy iteration, of few rounds of n^2 operations each in practice, or Karp's
        formula, of n^3. Both find the same mean, but perhaps another of its cycles.

    Returns
    -------
    CycleMean
        ``(mean, cycle, exact)``.

    Raises
    ------
    ValueError
        If `a` is not square, or holds NaN or the infinity that is not zero, or for an unknown
        method.
    TypeError
        If its dtype is not one of the semiring's.

    Notes
    -----
    The mean is exact for every dtype: numbers that are no multiples of a common unit that 64 bits
    hold are rounded to such ones first, and the few arcs which may be on a best cycle then
    compared as they are, by Howard's algorithm in integers of any size.

    Sources: F. Baccelli, G. Cohen, G. J. Olsder and J.-P. Quadrat, "Synchronization and
    Linearity", Wiley, 1992, section 3.2.4; P. Butkovic, "Max-linear Systems", Springer, 2010,
    section 1.6; the algorithms', Karp (1978) and Cochet-Terrasson et al. (1998).

    Examples
    --------
    >>> import numpy as np
    >>> from tropical.spectral import maximum_cycle_mean
    >>> none = -np.inf
    >>> maximum_cycle_mean([[2.0, 5.0, none], [3.0, none, 3.0], [none, 6.0, 1.0]])
    CycleMean(mean=4.5, cycle=[1, 2], exact=Fraction(9, 2))
    """
    ring = plus_ring(semiring)
    if method not in _METHODS:
        raise ValueError(f"method: is {method!r}, 'howard' or 'karp' is wanted")
    matrix = square_matrix(a, ring)
    best = best_classes(classes(matrix, ring, method), ring)
    if not best:
        return CycleMean(float("-inf" if ring.add == "max" else "inf"), [], None)
    return CycleMean(float(best[0].mean), best[0].cycle, best[0].mean)


def cycle_times(a: ArrayLike, semiring: str | Semiring = "maxplus") -> NDArray[np.float64]:
    """Return at what rate each component of ``x(k + 1) = a (x) x(k)`` grows in the long run.

    Component i follows the greatest cycle mean among the cycles that i reaches: as x(k + 1)[i]
    waits for x(k)[j] wherever there is an arc from i to j, the slowest of these sets its pace.

    Parameters
    ----------
    a : array_like, (n, n)
        As for `maximum_cycle_mean`.
    semiring : {"maxplus", "minplus"}

    Returns
    -------
    ndarray, (n,), float64
        The limit of ``x(k)[i] / k`` for finite x(0); zero where i reaches no cycle, and x(k)[i]
        becomes zero itself. Of an irreducible matrix all are its eigenvalue.

    Raises
    ------
    ValueError, TypeError
        As `maximum_cycle_mean`.

    Notes
    -----
    B. Heidergott, G. J. Olsder and J. van der Woude, "Max Plus at Work", Princeton University
    Press, 2006, chapter 3.

    Examples
    --------
    >>> import numpy as np
    >>> from tropical.spectral import cycle_times
    >>> cycle_times([[2.0, 0.0], [-np.inf, 3.0]])
    array([3., 3.])
    """
    ring = plus_ring(semiring)
    matrix = square_matrix(a, ring)
    means = np.full(len(matrix), ring.zero("float64"))
    for part in classes(matrix, ring):
        means[part.vertices] = float(part.mean)
    reached = closure(matrix != ring.zero(matrix.dtype), "orand")
    extreme = np.max if ring.add == "max" else np.min
    rates: NDArray[np.float64] = extreme(
        np.where(reached, means, ring.zero("float64")), axis=1, initial=ring.zero("float64")
    )
    return rates


def critical_graph(a: ArrayLike, semiring: str | Semiring = "maxplus") -> NDArray[np.bool_]:
    """Return which arcs are on cycles of the greatest mean.

    Parameters
    ----------
    a : array_like, (n, n)
        As for `maximum_cycle_mean`.
    semiring : {"maxplus", "minplus"}

    Returns
    -------
    ndarray, (n, n), bool
        The critical graph; nothing is rounded in finding it.

    Raises
    ------
    ValueError, TypeError
        As `maximum_cycle_mean`.

    Notes
    -----
    Baccelli et al. (1992), section 3.7; Butkovic (2010), section 1.6.

    Examples
    --------
    >>> import numpy as np
    >>> from tropical.spectral import critical_graph
    >>> none = -np.inf
    >>> critical_graph([[2.0, 5.0, none], [3.0, none, 3.0], [none, 6.0, 1.0]]).astype(int)
    array([[0, 0, 0],
           [0, 0, 1],
           [0, 1, 0]])
    """
    ring = plus_ring(semiring)
    matrix = square_matrix(a, ring)
    graph = np.zeros(matrix.shape, np.bool_)
    for part in best_classes(classes(matrix, ring), ring):
        graph[part.critical.tails, part.critical.heads] = True
    return graph


def best_classes(found: list[Class], ring: Semiring) -> list[Class]:
    """Return those of the greatest mean (for minplus the least)."""
    extreme = max if ring.add == "max" else min
    best = extreme((own.mean for own in found), default=None)
    return [own for own in found if own.mean == best]


def classes(matrix: Array, ring: Semiring, method: str = "howard") -> list[Class]:
    """Return the strongly connected sets of a graph, with their means and critical arcs."""
    found = []
    for vertices, arcs, _ in parts(len(matrix), arcs_of(matrix, ring)):
        local, critical = _critical(len(vertices), arcs, ring, _METHODS[method])
        cycle = vertices[local].tolist()
        around = pairwise([*cycle, cycle[0]])
        weight = sum((Fraction(matrix[arc].item()) for arc in around), Fraction(0))
        tails, heads, weights = arcs.where(critical)
        graph = Arcs(vertices[tails], vertices[heads], weights)
        found.append(Class(vertices, weight / len(cycle), cycle, graph))
    return found


def parts(n: int, arcs: Arcs) -> Iterator[tuple[Index, Arcs, Index]]:
    """Yield the vertices of each strongly connected set that has arcs, these, their positions.

    In the arcs that it yields the set's vertices are numbered from 0.
    """
    reached = np.zeros((n, n), np.bool_)
    reached[arcs.tails, arcs.heads] = True
    closure(reached, "orand", overwrite=True)
    labels = (reached & reached.T).argmax(axis=1) if n else np.zeros(0, np.intp)
    owners = np.where(labels[arcs.tails] == labels[arcs.heads], labels[arcs.tails], n)
    numbers = np.empty(n, np.intp)
    for label in np.flatnonzero(np.bincount(owners, minlength=n)[:n]):
        vertices, chosen = np.flatnonzero(labels == label), np.flatnonzero(owners == label)
        numbers[vertices] = np.arange(len(vertices))
        tails, heads, weights = arcs.where(chosen)
        yield vertices, Arcs(numbers[tails], numbers[heads], weights), chosen


def _critical(n: int, arcs: Arcs, ring: Semiring, solver: Solver) -> tuple[list[int], Index]:
    """Return a cycle of the greatest mean of a strongly connected set, and all critical arcs."""
    numbers, exact = to_whole(arcs.weights, 59 - 2 * n.bit_length(), ring)
    _, cycle, slack = _solve(n, arcs._replace(weights=numbers), solver)
    tight = np.flatnonzero(slack == 0)
    if not exact:
        # Rounding changes no weight by more than a unit, so on a cycle of L arcs that has the
        # greatest mean the slacks add up to -L q or more; none is above 0, so each is at least
        # -n q.
        near = np.flatnonzero(slack >= -n * len(cycle))
        integers = arcs.where(near)._replace(weights=_to_integers(arcs.weights[near], ring))
        found = []
        for vertices, part, chosen in parts(n, integers):
            mean, local, slack = _solve(len(vertices), part, howard)
            found.append((mean, vertices[local].tolist(), near[chosen[slack == 0]]))
        best, cycle, _ = max(found, key=lambda own: own[0])
        tight = np.sort(np.concatenate([own for mean, _, own in found if mean == best]))
    on_cycles = [tight[chosen] for _, _, chosen in parts(n, arcs.where(tight))]
    return cycle, np.sort(np.concatenate(on_cycles))


def _solve(n: int, arcs: Arcs, solver: Solver) -> tuple[Fraction, list[int], Array]:
    """Return the greatest mean, its cycle, and each arc's slack: 0 where critical, never above."""
    weight, cycle, values = solver(n, arcs)
    slack = len(cycle) * arcs.weights - weight + values[arcs.heads] - values[arcs.tails]
    return Fraction(weight, len(cycle)), cycle, slack


def to_whole(weights: Array, bits: int, ring: Semiring) -> tuple[NDArray[np.int64], bool]:
    """Return weights as multiples of a unit, below 2^bits and to be maximised; whether exact."""
    greatest = max(abs(weights.max().item()), abs(weights.min().item()))
    if weights.dtype.kind == "f":
        exponent = bits - math.frexp(greatest)[1]
        scaled = np.rint(np.ldexp(weights.astype(np.float64), exponent))
        with np.errstate(over="ignore"):  # rounded up to infinity, which is not exact
            exact = np.array_equal(np.ldexp(scaled, -exponent), weights)
        numbers = scaled.astype(np.int64)
    else:
        shift = max(0, greatest.bit_length() - bits)
        numbers = weights.astype(np.int64) >> shift
        exact = np.array_equal(numbers << shift, weights)
    return numbers if ring.add == "max" else -numbers, exact


def _to_integers(weights: Array, ring: Semiring) -> Array:
    """Return weights as exact multiples of a unit, Python's integers, to be maximised."""
    sign = 1 if ring.add == "max" else -1
    exact = [Fraction(weight) for weight in weights.tolist()]
    unit = max(weight.denominator for weight in exact)  # powers of two
    return np.array([sign * int(weight * unit) for weight in exact], dtype=object)

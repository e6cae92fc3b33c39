"""Maximum cycle means, class by class, and the critical graph."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tropical.arrays import Array, is_kind
from tropical.graph import closure
from tropical.graph.components import strong_components
from tropical.graph.edges import Edges, edges_of

from .howard import howard
from .karp import karp
from .operands import plus_ring, square_matrix

if TYPE_CHECKING:
    from collections.abc import Callable

    from tropical.graph.edges import GraphLike
    from tropical.semirings import Semiring

Index: TypeAlias = NDArray[np.intp]
Solver: TypeAlias = "Callable[[Edges], tuple[int, list[int], Array]]"

_METHODS: dict[str, Solver] = {"howard": howard, "karp": karp}


class CycleMean(NamedTuple):
    """A maximum cycle mean and a cycle that attains it.

    Attributes
    ----------
    mean : float
        The mean, rounded once; the semiring's zero (-inf for maxplus) if there is no cycle.
    cycle : list of int
        The vertices of a cycle of that mean in order, the least first; empty if there is no cycle.
    exact : Fraction or None
        The exact mean: the weight of the cycle over its number of edges.
    """

    mean: float
    cycle: list[int]
    exact: Fraction | None


@dataclass(frozen=True)
class Class:
    """A strong component with at least one edge, and its maximum cycle mean."""

    vertices: Index
    mean: Fraction
    cycle: list[int]
    critical: Edges  # the edges on cycles of that mean


def maximum_cycle_mean(
    a: GraphLike, semiring: str | Semiring = "maxplus", *, method: str = "howard"
) -> CycleMean:
    """Return the greatest mean weight of a cycle, and a cycle that has it.

    The mean is the rate at which powers of `a` grow: the only eigenvalue of an irreducible matrix,
    the cycle time of a timed event graph.

    Parameters
    ----------
    a : array_like, sparse array or networkx graph, (n, n)
        Element (i, j) is the weight of the edge from i to j, the semiring's zero if there is no
        edge. The dtype is one of the semiring's. Elements that a sparse array does not store are no
        edges.
    semiring : {"maxplus", "minplus"}
        minplus returns the least mean.
    method : {"howard", "karp"}
        Howard's policy iteration takes few rounds of n^2 operations in practice, Karp's formula
        takes n^3 operations. Both find the same mean, but perhaps different cycles of that mean.

    Returns
    -------
    CycleMean
        ``(mean, cycle, exact)``.

    Raises
    ------
    ValueError
        If `a` is not square, holds NaN or the infinity that is not zero, or the method is unknown.
    TypeError
        If the dtype is not one of the semiring's.

    Notes
    -----
    The mean is exact for every dtype. The algorithms work on multiples of a common unit in 64 bits.
    If the weights are no such multiples, they are rounded first. Howard's algorithm in integers of
    any size then compares the exact weights of the few edges that may be on a best cycle.

    Sources: F. Baccelli, G. Cohen, G. J. Olsder and J.-P. Quadrat, "Synchronization and
    Linearity", Wiley, 1992, section 3.2.4; P. Butkovic, "Max-linear Systems", Springer, 2010,
    section 1.6. Sources of the algorithms: Karp (1978), Cochet-Terrasson et al. (1998).

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
        raise ValueError(f"method: expected 'howard' or 'karp', got {method!r}")
    matrix = square_matrix(a, ring)
    best = best_classes(classes(matrix, ring, method), ring)
    if not best:
        return CycleMean(ring.zero("float64"), [], None)
    return CycleMean(float(best[0].mean), best[0].cycle, best[0].mean)


def cycle_times(a: GraphLike, semiring: str | Semiring = "maxplus") -> NDArray[np.float64]:
    """Return the rate at which each component of ``x(k + 1) = a (x) x(k)`` grows in the long run.

    The rate of component i is the greatest cycle mean among the cycles that i reaches: x(k + 1)[i]
    waits for x(k)[j] if there is an edge from i to j, so the slowest of these cycles sets the pace.

    Parameters
    ----------
    a : array_like, sparse array or networkx graph, (n, n)
        As for `maximum_cycle_mean`.
    semiring : {"maxplus", "minplus"}

    Returns
    -------
    ndarray, (n,), float64
        The limit of ``x(k)[i] / k`` for finite x(0); zero if i reaches no cycle, and then x(k)[i]
        becomes zero itself. All rates of an irreducible matrix are its eigenvalue.

    Raises
    ------
    ValueError, TypeError
        As for `maximum_cycle_mean`.

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
    return ring.add_ufunc.reduce(
        np.where(reached, means, ring.zero("float64")), axis=1, initial=ring.zero("float64")
    )


def critical_graph(a: GraphLike, semiring: str | Semiring = "maxplus") -> NDArray[np.bool_]:
    """Return which edges are on cycles of the greatest mean.

    Parameters
    ----------
    a : array_like, sparse array or networkx graph, (n, n)
        As for `maximum_cycle_mean`.
    semiring : {"maxplus", "minplus"}

    Returns
    -------
    ndarray, (n, n), bool
        The critical graph, computed without rounding.

    Raises
    ------
    ValueError, TypeError
        As for `maximum_cycle_mean`.

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
        graph[part.critical.source, part.critical.target] = True
    return graph


def best_classes(found: list[Class], ring: Semiring) -> list[Class]:
    """Return the classes of the greatest mean (for minplus the least)."""
    best = max((ring.direction * own.mean for own in found), default=None)
    return [own for own in found if ring.direction * own.mean == best]


def classes(matrix: Array, ring: Semiring, method: str = "howard") -> list[Class]:
    """Return the strong components of a graph, with their means and critical edges."""
    found = []
    for vertices, edges, _ in strong_components(edges_of(matrix, ring)):
        local, critical = _critical(edges, ring, _METHODS[method])
        cycle = vertices[local].tolist()
        around = pairwise([*cycle, cycle[0]])
        weight = sum((Fraction(matrix[arc].item()) for arc in around), Fraction(0))
        own = edges.where(critical)
        ends = vertices[own.source], vertices[own.target]
        graph = Edges(len(matrix), *ends, own.weight)
        found.append(Class(vertices, weight / len(cycle), cycle, graph))
    return found


def _critical(edges: Edges, ring: Semiring, solver: Solver) -> tuple[list[int], Index]:
    """Return a cycle of the greatest mean of a strong component, and all its critical edges."""
    n = edges.n
    numbers, exact = to_whole(edges.weight, 59 - 2 * n.bit_length(), ring)
    _, cycle, slack = _solve(replace(edges, weight=numbers), solver)
    tight = np.flatnonzero(slack == 0)
    if not exact:
        # Rounding changes no weight by more than a unit. So on a cycle of L edges that has the
        # greatest mean the slacks add up to -L q or more. No slack is above 0, so each is at least
        # -n q.
        near = np.flatnonzero(slack >= -n * len(cycle))
        integers = replace(edges.where(near), weight=_to_integers(edges.weight[near], ring))
        found = []
        for vertices, part, chosen in strong_components(integers):
            mean, local, slack = _solve(part, howard)
            found.append((mean, vertices[local].tolist(), near[chosen[slack == 0]]))
        best, cycle, _ = max(found, key=lambda own: own[0])
        tight = np.sort(np.concatenate([own for mean, _, own in found if mean == best]))
    on_cycles = [tight[chosen] for _, _, chosen in strong_components(edges.where(tight))]
    return cycle, np.sort(np.concatenate(on_cycles))


def _solve(edges: Edges, solver: Solver) -> tuple[Fraction, list[int], Array]:
    """Return the greatest mean, its cycle, and each edge's slack: 0 if critical, never above 0."""
    weight, cycle, values = solver(edges)
    slack = len(cycle) * edges.weight - weight + values[edges.target] - values[edges.source]
    return Fraction(weight, len(cycle)), cycle, slack


def to_whole(weights: Array, bits: int, ring: Semiring) -> tuple[NDArray[np.int64], bool]:
    """Return weights as multiples of a unit, below 2^bits and to be maximized; whether exact."""
    greatest = max(abs(weights.max().item()), abs(weights.min().item()))
    if is_kind(weights.dtype, "floating"):
        exponent = bits - math.frexp(greatest)[1]
        scaled = np.rint(np.ldexp(weights.astype(np.float64), exponent))
        with np.errstate(over="ignore"):  # a weight rounded up to infinity is not exact
            exact = np.array_equal(np.ldexp(scaled, -exponent), weights)
        numbers = scaled.astype(np.int64)
    else:
        shift = max(0, greatest.bit_length() - bits)
        numbers = weights.astype(np.int64) >> shift
        exact = np.array_equal(numbers << shift, weights)
    return ring.direction * numbers, exact


def _to_integers(weights: Array, ring: Semiring) -> Array:
    """Return weights as exact multiples of a unit, Python's integers, to be maximized."""
    exact = [Fraction(weight) for weight in weights.tolist()]
    unit = max(weight.denominator for weight in exact)  # powers of two
    return np.array([ring.direction * int(weight * unit) for weight in exact], dtype=object)

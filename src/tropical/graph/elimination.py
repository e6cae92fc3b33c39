"""The steps of `factorize`: the order, the entries that the elimination makes, their weights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tropical import _core, extras, semirings
from tropical.arrays import Array

from .all_pairs import sources_of
from .available import available_bytes
from .bellman_ford import potentials
from .edges import Edges, Mirrored, edges_of, read
from .star import DivergenceError

if TYPE_CHECKING:
    from tropical.semirings import Semiring

    from .edges import GraphLike, Weight
    from .progress import Report

DTYPES = ("float32", "float64", "int16", "int32", "int64", "bool")
# Bytes that the elimination takes for each entry, beside its weights.
ENTRY_BYTES = 28
# Sums and products a second of float32 on one core, of which `row_seconds` is a rough estimate.
RATE = 16e9
# Shares of the time of a factorization: until the order is known, until its entries are.
ORDER_SHARE, ENTRIES_SHARE = 0.75, 0.95


@dataclass(frozen=True)
class FactorCost:
    """What a factor and its rows cost; `Factor.explain` returns it.

    Attributes
    ----------
    vertices, edges : int
        Of the graph.
    entries : int
        Pairs of vertices between which there is an edge at some time of the elimination.
    height : int
        The greatest number of vertices that a path of the elimination tree passes.
    operations : int
        Sums and products that the weights of the factor take.
    nbytes : int
        Bytes of the weights of the factor.
    row_operations : int
        Sums and products that the lengths from one vertex to all take, at most.
    row_nbytes : int
        Bytes of a row of lengths, and of the memory in which it is computed.
    row_seconds : float
        A rough estimate of the time of such a row on one core, one of many rows.
    """

    vertices: int
    edges: int
    entries: int
    height: int
    operations: int
    nbytes: int
    row_operations: int
    row_nbytes: int
    row_seconds: float

    def __str__(self) -> str:
        return (
            f"{self.vertices:,} vertices, {self.edges:,} edges; elimination makes "
            f"{self.entries:,} entries, a tree of height {self.height:,}\n"
            f"  factor: {self.operations:,} operations, {self.nbytes:,} bytes\n"
            f"  a row of lengths: {self.row_operations:,} operations, {self.row_nbytes:,} bytes, "
            f"about {1000 * self.row_seconds:.2g} ms"
        )


def cost_of(elimination: _core.Elimination, edges: Edges, directed: bool) -> FactorCost:
    """Return what the factor of a graph costs."""
    size, entries = edges.dtype.itemsize, elimination.entries
    row_operations = 4 * entries  # two for each entry, in both sweeps
    return FactorCost(
        vertices=edges.n,
        edges=len(edges.weight),
        entries=entries,
        height=elimination.height,
        operations=operations_of(elimination) * (2 if directed else 1),
        nbytes=size * entries * (2 if directed else 1),
        row_operations=row_operations,
        row_nbytes=2 * size * edges.n,
        row_seconds=(row_operations + edges.n) * size / 4 / RATE,
    )


def operations_of(elimination: _core.Elimination) -> int:
    """Return the sums and products that the weights of an undirected factor take."""
    degree = np.diff(elimination.start)
    return int((degree * (degree + 1)).sum())


def read_edges(
    graph: GraphLike, ring: Semiring, directed: bool, weight: Weight, keep: bool = False
) -> tuple[Edges, bool]:
    """Return the edges of a graph as `factorize` takes it, and whether they have a direction.

    `keep`: with those whose weight is the semiring's zero.
    """
    if not ring.idempotent:
        raise ValueError(f"semiring: expected an idempotent one, got {ring.name}")
    pattern = ring.dtypes == ("bool",)
    of_weights = semirings.minplus if pattern else ring
    found = read(graph, of_weights, weight, keep, "graph")
    if not isinstance(found, Edges) and found.ndim != 2:
        raise ValueError(f"graph: expected (n, n), got {found.shape}")
    edges = edges_of(found, of_weights)
    if edges.dtype.name not in DTYPES:
        raise TypeError(f"graph: expected a dtype of {', '.join(DTYPES)}, got {edges.dtype}")
    if isinstance(edges, Mirrored):
        directed, edges = False, edges.once()
    if pattern:
        edges = edges.with_weight(edges.weight != of_weights.zero(edges.dtype))
    return edges, bool(directed)


def order_of(ordering: str | ArrayLike, edges: Edges) -> Array | None:
    """Return the order as the vertices of a permutation, or None for the order of the core."""
    if isinstance(ordering, str):
        if ordering not in ("auto", "metis"):
            raise ValueError(
                f"ordering: expected 'auto', 'metis' or the vertices in order, got {ordering!r}"
            )
        return _dissection(edges) if ordering == "metis" else None
    order = sources_of(ordering, edges, "ordering")
    if order is None:
        raise TypeError("ordering: expected 'auto', 'metis' or the vertices in order, got None")
    if order.shape != (edges.n,) or len(np.unique(order)) != edges.n:
        raise ValueError(f"ordering: expected each of {edges.n} vertices once, got {ordering!r}")
    return order


def _dissection(edges: Edges) -> NDArray[np.intp]:
    """Return the order of nested dissection, by METIS."""
    pymetis = extras.require("pymetis", "'tropical-blas[metis]'")
    n = edges.n
    apart = edges.where(edges.source != edges.target)
    source, target = apart.source.astype(np.int64), apart.target.astype(np.int64)
    pairs = np.unique(np.append(source * n + target, target * n + source))
    if not len(pairs):
        return np.arange(n)
    source, target = np.divmod(pairs, n)
    start = np.append(0, np.cumsum(np.bincount(source, minlength=n)))
    order, _ = pymetis.nested_dissection(pymetis.CSRAdjacency(start, target))
    return np.array(order, np.intp)


def most_entries(dtype: np.dtype[Any], directed: bool) -> int:
    """Return how many entries fit into the memory that is available."""
    return available_bytes() // (ENTRY_BYTES + dtype.itemsize * (2 if directed else 1))


def eliminated(
    edges: Edges, order: Array | None, directed: bool, report: Report
) -> _core.Elimination:
    """Eliminate the vertices of a graph, or raise MemoryError before there is too little memory."""

    def ordered(share: float) -> None:
        report(ORDER_SHARE * share)

    most = most_entries(edges.dtype, directed)
    try:
        return _core.Elimination(edges.n, edges.source, edges.target, order, most, ordered)
    except OverflowError:
        raise MemoryError(
            f"graph: elimination adds more than {most:,} edges, which do not fit into the memory "
            "that is available; shortest_paths finds paths in such a graph without elimination"
        ) from None


def weighed(
    elimination: _core.Elimination, edges: Edges, ring: Semiring, directed: bool
) -> tuple[Array, Array]:
    """Return the weights of the factor, in both directions, or raise DivergenceError."""
    up = np.empty(elimination.entries, edges.dtype)
    down = np.empty(elimination.entries, edges.dtype) if directed else up
    vertex = elimination.eliminate(edges.weight, up, down, ring.name)
    if vertex is not None:
        refuse_cycle(vertex, edges, ring, directed)
        elimination.eliminate(edges.weight, up, down, ring.name, False)
    return up, down


def refuse_cycle(vertex: int, edges: Edges, ring: Semiring, directed: bool) -> None:
    """Raise DivergenceError for a cycle through `vertex`, unless only rounding improves it."""
    if ring is not semirings.minplus:
        raise DivergenceError(
            f"graph: has no {ring.name} star, a cycle through vertex {vertex} improves with every "
            "round"
        )
    there = edges.where(edges.weight != ring.zero(edges.dtype))
    potentials(there if directed else there.both_ways())  # raises NegativeCycleError

"""Sums over the rows of lengths of a graph: from a factor, or from blocks of rows.

No more than a block of rows is in memory, and from a factor not even that: the core sums up where
the sweeps leave the lengths.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tropical import semirings
from tropical.arrays import Array, is_kind

from .all_pairs import sources_of
from .edges import Edges, Mirrored, edges_of, read
from .factor import Factor, keep_one
from .method import RING, cheapest_of_rows
from .paths import shortest_paths
from .progress import Progress, share_of, shown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .edges import GraphLike, Weight
    from .progress import Report

Kind: TypeAlias = Literal["lengths", "reciprocals", "within"]
Sums: TypeAlias = NDArray[np.float64]

# Sources of one call of the core, after which progress is reported, and bytes of a block of rows.
CALL_SOURCES, BLOCK_BYTES = 4096, 1 << 26


@dataclass(frozen=True)
class Distances:
    """A graph whose shortest paths are wanted: with a factor where elimination pays.

    Attributes
    ----------
    edges : Edges
        If the graph is not directed, each edge stands there once and leads in both directions.
    directed : bool
    factor : Factor or None
    method : str
        If there is no factor: "FW" for a closure, else searches.
    """

    edges: Edges
    directed: bool
    factor: Factor | None
    method: str = "D"

    @property
    def n(self) -> int:
        """The number of vertices."""
        return self.edges.n

    def vertices(self, wanted: ArrayLike | None, name: str = "vertices") -> NDArray[np.intp]:
        """Return the wanted vertices, from 0 to n - 1; all by default."""
        found = sources_of(wanted, self.edges, name)
        return np.arange(self.n) if found is None else found

    def check_lengths(self) -> None:
        """Raise ValueError for a negative weight."""
        if (least := self.edges.weight.min(initial=0)) < 0:
            raise ValueError(f"graph: expected weights of 0 or more, got {least}")

    def fold(
        self,
        kind: Kind,
        vertices: NDArray[np.intp],
        progress: Progress,
        *,
        inward: bool = False,
        weights: Sums | None = None,
        radii: Sums | None = None,
    ) -> Sums:
        """Return sums over the lengths from each vertex, or to each if `inward`.

        Parameters
        ----------
        kind : str
            "lengths": the sum of the lengths, the number of vertices with a path, the greatest
            length. "reciprocals": the sum of 1 / length over lengths that are not 0. "within": for
            each of the `radii`, the sum of `weights` (n,) of the vertices that are so near.

        Returns
        -------
        ndarray of float64, (3, vertices.size), (1, vertices.size) or (len(radii), vertices.size)
        """
        vertices, radii = vertices.ravel(), np.empty(0) if radii is None else radii
        height = {"lengths": 3, "reciprocals": 1, "within": len(radii)}[kind]
        sums = np.empty((height, len(vertices)))
        with shown(progress) as report:
            if self.factor is None:
                for first, rows in self.rows(vertices, inward, report):
                    sums[:, first : first + len(rows)] = _sums(rows, kind, weights, radii)
                return sums
            ways, fold = _ways(self.factor, inward), self.factor._weights.elimination.fold
            order = _near_each_other(self.factor, vertices)
            for first in range(0, len(order), CALL_SOURCES):
                some = order[first : first + CALL_SOURCES]
                sums[:, some] = fold(*ways, vertices[some], kind, weights, radii.tolist())
                report((first + len(some)) / len(order))
        return sums

    def rows(
        self, vertices: NDArray[np.intp], inward: bool, report: Report
    ) -> Iterator[tuple[int, Array]]:
        """Yield the lengths (k, n) from the vertices, or to them if `inward`, in blocks.

        The number before a block is the position of its first vertex.
        """
        step = max(BLOCK_BYTES // max(self.n * self.edges.dtype.itemsize, 1), 1)
        blocks = range(0, len(vertices), step)
        block_of = self._rows_by_factor if self.factor is not None else self._rows_by_search
        for number, first in enumerate(blocks):
            some, share = vertices[first : first + step], share_of(report, number, len(blocks))
            yield first, block_of(some, inward, share)
            share(1.0)

    def _rows_by_factor(self, vertices: NDArray[np.intp], inward: bool, _: Report) -> Array:
        assert self.factor is not None
        out = np.empty((len(vertices), self.n), self.factor.dtype)
        up, down = _ways(self.factor, inward)
        self.factor._weights.elimination.rows(up, down, RING.name, vertices, None, out)
        keep_one(out, RING, vertices)
        if is_kind(out.dtype, "integer"):
            return np.where(out == RING.zero(out.dtype), np.inf, out)
        return out

    def _rows_by_search(self, vertices: NDArray[np.intp], inward: bool, report: Report) -> Array:
        ways = self.ways(inward)
        if self.method == "FW":
            return shortest_paths(ways, "FW", progress=report)[vertices]
        return shortest_paths(ways, "J", indices=vertices, progress=report)

    def ways(self, inward: bool) -> Edges:
        """Return every edge in each direction in which it leads, the opposite if `inward`."""
        edges = self.edges if self.directed else self.edges.both_ways()
        return Edges(edges.n, edges.target, edges.source, edges.weight) if inward else edges


def _ways(factor: Factor, inward: bool) -> tuple[Array, Array]:
    """Return the weights of the factor, or of that of the transposed graph."""
    up, down, _ = factor._weights.arrays
    return (down, up) if inward else (up, down)


def _near_each_other(factor: Factor, vertices: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return the positions in `vertices` in the order of elimination.

    Neighbors in this order have almost the same ancestors, so that a sweep up visits few ranks.
    """
    rank = np.empty(factor.n, np.intp)
    rank[factor._weights.elimination.order] = np.arange(factor.n)
    return np.argsort(rank[vertices], kind="stable")


def _sums(lengths: Array, kind: Kind, weights: Sums | None, radii: Sums) -> Sums:
    """Return what `Distances.fold` returns, from rows of lengths."""
    there = np.isfinite(lengths)
    if kind == "lengths":
        total = np.sum(lengths, axis=1, dtype=np.float64, where=there)
        return np.stack([total, there.sum(axis=1), np.max(lengths, 1, where=there, initial=0)])
    if kind == "reciprocals":
        counts = there & (lengths != 0)
        inverse = np.zeros(lengths.shape)
        np.divide(1.0, lengths, out=inverse, where=counts, dtype=np.float64)
        return inverse.sum(axis=1)[None]
    weights = np.ones(lengths.shape[1]) if weights is None else weights
    sums = [((lengths <= radius) & there) @ weights for radius in radii.tolist()]
    return np.array(sums, np.float64).reshape(len(sums), len(lengths))


def count_of(vertices: ArrayLike | None) -> int | None:
    """Return how many vertices there are, None for all."""
    return None if vertices is None else int(np.size(np.asarray(vertices)))


def distances_in(
    graph: GraphLike | Factor, directed: bool, weight: Weight, sources: int | None = None
) -> Distances:
    """Return the shortest paths of a graph, from so many vertices, all by default.

    Elimination pays where its count says so: where it adds few edges. Integers become float64.
    """
    if isinstance(graph, Factor):
        if graph.semiring is not semirings.minplus:
            raise ValueError(f"graph: expected a factor over minplus, got {graph.semiring.name}")
        graph = graph._as_it_is()
        return Distances(graph._weights.open_edges(), graph.directed, graph)
    found = read(graph, RING, weight, name="graph")
    if not isinstance(found, Edges) and found.ndim != 2:
        raise ValueError(f"graph: expected (n, n), got {found.shape}")
    edges = edges_of(found, RING)
    if isinstance(edges, Mirrored):
        directed, edges = False, edges.once()
    if is_kind(edges.dtype, "integer"):
        edges = edges.with_weight(edges.weight.astype(np.float64))
    count = edges.n if sources is None else sources
    factor, method = None, "D"
    if count:
        choice = cheapest_of_rows(edges, RING, directed, count)
        core, method = choice.counted.core, choice.method
        if method == "E" and core is not None:
            factor = Factor(edges, directed=directed, ordering=core.order)
    return Distances(edges, bool(directed), factor, method)

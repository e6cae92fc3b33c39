"""Best-first search: Dijkstra's algorithm over each semiring in which no edge improves a path."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tropical import semirings
from tropical.arrays import Array

from .edge_arrays import Edges, compressed, in_core
from .predecessors import NO_PREDECESSOR
from .progress import Progress, shown
from .wanted import Found, Wanted

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tropical.semirings import Semiring

# Edges that one call of the core looks at, between two reports of progress.
CALL_EDGES = 1 << 24


def improves(edges: Edges, ring: Semiring) -> bool:
    """Return whether an edge makes a path better that it is added to: a search is not for these."""
    if not len(edges.weight) or ring.multiply_ufunc in (np.minimum, np.maximum):
        return False
    if ring is semirings.minplus:
        return bool(edges.least < 0)
    one = ring.one(edges.dtype)
    return bool(ring.add_ufunc(ring.add_ufunc.reduce(edges.weight), one) != one)


class Search:
    """A graph in the core, in the order in which searches read it.

    Parameters
    ----------
    edges : Edges
        None of which improves a path, unless there are potentials.
    ring : Semiring
    potentials : (n,) array, optional
        Of a minplus graph with negative weights. With the potentials h, each edge from i to j
        becomes h[i] - h[j] longer, thus not negative, and so does each path (D. B. Johnson,
        "Efficient algorithms for shortest paths in sparse networks", Journal of the ACM 24, 1977).
    """

    def __init__(
        self, edges: Edges, ring: Semiring, potentials: NDArray[np.float64] | None = None
    ) -> None:
        by_source, weight = compressed(edges), None
        if potentials is not None:
            shift = potentials[by_source.source] - potentials[by_source.target]
            weight = np.maximum(by_source.weight + shift, 0)  # rounding can make it negative
        self.n: int = edges.n
        self.dtype: np.dtype[Any] = edges.dtype
        self.ring = ring
        self.edges_a_row: int = len(edges.weight) + edges.n
        self.potentials = potentials
        self._core = in_core(by_source, weight, check=False)

    def find(self, wanted: Wanted, predecessors: bool = False, progress: Progress = None) -> Found:
        """Return the wanted best paths; with `predecessors` also the vertices before.

        Sums are those of float64, rounded once to the dtype of the edges.
        """
        if self.potentials is None:
            out = self._run(wanted, self.dtype, predecessors, progress)
        else:
            wanted.check_limit(predecessors)
            out = self._shifted(self.potentials, wanted, predecessors, progress)
        values, before, first = out
        if before is not None and wanted.targets is None and values.dtype == np.float32:
            # sums beyond float32
            before[values == self.ring.zero(values.dtype)] = NO_PREDECESSOR
        if first is not None and wanted.targets is not None:
            first = first[wanted.targets]
        return Found(values, before, first)

    def count(self, wanted: Wanted, progress: Progress = None) -> tuple[Array, Array]:
        """Return the wanted lengths, and the numbers of shortest paths, of float64."""
        counts = np.empty((len(wanted.starts(self.n)), wanted.width(self.n)))
        values, *_ = self._run(wanted, self.dtype, False, progress, counts=counts)
        return values, counts.reshape(values.shape)

    def _run(
        self,
        wanted: Wanted,
        dtype: Any,
        predecessors: bool,
        progress: Progress,
        at_sources: NDArray[np.float64] | None = None,
        counts: Array | None = None,
    ) -> Found:
        """Search; the values at the sources are `at_sources`, by default the semiring's one."""
        n, starts, ends = self.n, wanted.starts(self.n), wanted.ends()
        height = 1 if wanted.min_only else len(starts)
        out = np.empty((height, wanted.width(n)), dtype)
        before = np.empty((height, n), np.int32) if predecessors else None
        first = np.empty((height, n), np.int32) if predecessors and wanted.min_only else None
        limit = self.ring.zero("float64") if wanted.limit is None else wanted.limit
        step = height if progress is None else max(CALL_EDGES // max(self.edges_a_row, 1), 64)
        with shown(progress) as report:
            for begin in range(0, height, max(step, 1)):
                part = slice(begin, begin + step)
                rest: list[Any] = [None if t is None else t[part] for t in (before, first, counts)]
                self._core.best_first(
                    self.ring.name,
                    starts if wanted.min_only else starts[part],
                    at_sources,
                    wanted.min_only,
                    ends,
                    float(limit),
                    out[part],
                    *rest,
                )
                report(min(begin + step, height) / height)
        rows = wanted.rows(n)
        return Found(
            out.reshape((*rows, *wanted.columns(n))),
            None if before is None else before.reshape(*rows, n),
            None if first is None else first[0],
        )

    def _shifted(
        self, h: NDArray[np.float64], wanted: Wanted, predecessors: bool, progress: Progress
    ) -> Found:
        """Search among weights that `h` made positive, and undo what it did to the lengths."""
        free = Wanted(wanted.sources, wanted.targets, None, wanted.min_only)
        at_start = h[wanted.starts(self.n)]
        at_end = h if wanted.targets is None else h[wanted.targets]
        if wanted.min_only:
            highest = at_start.max()  # so that no source begins below 0
            begin = highest - at_start
            values, before, first = self._run(free, np.float64, predecessors, progress, begin)
            values += at_end - highest
        else:
            values, before, first = self._run(free, np.float64, predecessors, progress)
            values += at_end - at_start.reshape((*wanted.rows(self.n), *(1,) * at_end.ndim))
        with np.errstate(over="ignore"):  # in float32
            lengths = values.astype(self.dtype, copy=False)
        if wanted.limit is not None:
            lengths[lengths > wanted.limit] = np.inf
        return Found(lengths, before, first)

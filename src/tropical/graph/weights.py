"""The weights of a factor: other weights of many edges make new ones, of few edges change them."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tropical import _core
from tropical.arrays import Array, check_real, unmasked

from .edges import Edges, check_weights, converted
from .elimination import ENTRIES_SHARE, eliminated, refuse_cycle, weighed
from .progress import shown

if TYPE_CHECKING:
    from tropical.semirings import Semiring

    from .progress import Progress

# Where more than one of so many edges change, all weights are computed again.
MOST_SHARE = 1000


class Weights:
    """The elimination of a graph, and the weights of its entries in both directions.

    Parameters
    ----------
    edges : Edges
    ring : Semiring
    directed : bool
    order : ndarray of int, (n,), Elimination or None
        The order of the elimination, which the core finds for None; or the elimination itself.
    progress : callable or bool, optional
    """

    def __init__(
        self,
        edges: Edges,
        ring: Semiring,
        directed: bool,
        order: Array | _core.Elimination | None,
        progress: Progress = None,
    ) -> None:
        # some_replaced writes to the weights, which are therefore a copy.
        self.edges: Edges = Edges(edges.n, edges.source, edges.target, np.array(edges.weight))
        self.ring = ring
        self.directed = directed
        with shown(progress) as report:
            self.elimination: _core.Elimination = (
                order
                if isinstance(order, _core.Elimination)
                else eliminated(edges, order, directed, report)
            )
            report(ENTRIES_SHARE)
            self._up, self._down = weighed(self.elimination, self.edges, ring, directed)
            report(1.0)

    @property
    def arrays(self) -> tuple[Array, Array, str]:
        """Both directions and the semiring, as the core takes them."""
        return self._up, self._down, self.ring.name

    @property
    def nbytes(self) -> int:
        """Bytes of the weights."""
        return self._up.nbytes * (2 if self.directed else 1)

    def open_edges(self) -> Edges:
        """Return the edges that are not closed, as those of a graph."""
        return self.edges.without(self.ring.zero(self.edges.dtype))

    def checked(self, weights: ArrayLike, name: str) -> Array:
        """Return new weights in the dtype of the factor, or raise ValueError or TypeError."""
        given = unmasked(name, weights)
        check_real(name, given)
        dtype = self.edges.dtype
        zero = self.ring.zero(dtype)
        closed = np.asarray(given == zero)  # as the dtype of the factor says it, too
        found = np.full(given.shape, zero, dtype)
        found[~closed] = converted(given[~closed], self.ring, dtype, name)
        check_weights(found, self.ring, name=name)
        return found

    def edges_between(
        self, sources: NDArray[np.intp], targets: NDArray[np.intp]
    ) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Return the edges between pairs of vertices, and how many there are of each pair."""
        edges, counts = self.elimination.edges_between(sources, targets, self.directed)
        (missing,) = np.nonzero(counts == 0)
        if len(missing):
            first = f"from {sources[missing[0]]} to {targets[missing[0]]}"
            more = f", and {len(missing) - 1} more" if len(missing) > 1 else ""
            raise ValueError(f"i, j: expected edges of the graph, got {first}{more}")
        return edges, counts

    def replaced(self, weight: Array) -> Weights:
        """Return what other weights of the edges make; who uses these weights goes on with them."""
        return Weights(self.edges.with_weight(weight), self.ring, self.directed, self.elimination)

    def some_replaced(self, changed: NDArray[np.intp], values: Array) -> Weights:
        """Return what other weights of some edges make: of few edges, these weights, changed."""
        weight = self.edges.weight
        if len(changed) * MOST_SHARE > len(weight):
            every = weight.copy()
            every[changed] = values
            return self.replaced(every)
        before = weight[changed]
        weight[changed] = values
        update = partial(self.elimination.update, *self.arrays, weight, changed, before)
        try:
            vertex = update()
            if vertex is not None:
                refuse_cycle(vertex, self.edges, self.ring, self.directed)
                update(False)
        except BaseException:
            weight[changed] = before
            raise
        return self

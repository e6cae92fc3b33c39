"""Which paths are wanted: sources, targets, a limit, or the nearest source alone."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tropical.arrays import Array, narrowed, stored_dtype

from .all_pairs import sources_of
from .edges import Edges, number_of_vertices
from .predecessors import NO_PREDECESSOR, Predecessors

if TYPE_CHECKING:
    from tropical.semirings import Semiring


class Found(NamedTuple):
    """Best paths: their values, the vertex before each end, and the source of each path."""

    values: Array
    before: Predecessors | None = None
    first: Predecessors | None = None

    def answer(self, w: object = None) -> Array | tuple[Array, ...]:
        """Return what a function of paths of `w` returns: values in its dtype, rounded once."""
        rest = [table for table in (self.before, self.first) if table is not None]
        values = narrowed(self.values, stored_dtype(w))
        values = values if values.ndim else values[()]  # which is a scalar
        return (values, *rest) if rest else values


@dataclass(frozen=True)
class Wanted:
    """The paths that a call wants; `wanted` makes one from arguments.

    Attributes
    ----------
    sources, targets : ndarray of intp, or None for all vertices
    limit : float or None
        A path whose value is worse is none.
    min_only : bool
        Whether the best of the paths from all sources is wanted, not one from each.
    """

    sources: NDArray[np.intp] | None
    targets: NDArray[np.intp] | None
    limit: float | None
    min_only: bool

    @property
    def bounded(self) -> bool:
        """Whether a search may end before it has found the paths to all vertices."""
        return self.targets is not None or self.limit is not None or self.min_only

    def check_limit(self, predecessors: bool) -> None:
        """Raise ValueError if predecessors are asked for where an edge may improve a path."""
        if predecessors and self.limit is not None:
            raise ValueError(
                "limit: expected None with predecessors where edges improve paths, as a path "
                "within the limit may pass vertices beyond it"
            )

    def check_lengths(self) -> None:
        """Raise ValueError for a limit that no length is within."""
        if self.limit is not None and self.limit < 0:
            raise ValueError(f"limit: expected 0 or more, got {self.limit:g}")

    def starts(self, n: int) -> NDArray[np.int32]:
        """Return the sources in one row."""
        if self.sources is None:
            return np.arange(n, dtype=np.int32)
        return self.sources.astype(np.int32).ravel()

    def ends(self) -> NDArray[np.int32] | None:
        """Return the targets in one row."""
        return None if self.targets is None else self.targets.astype(np.int32).ravel()

    def rows(self, n: int) -> tuple[int, ...]:
        """Return the shape of all axes of a result but the last."""
        if self.min_only:
            return ()
        return (n,) if self.sources is None else self.sources.shape

    def columns(self, n: int) -> tuple[int, ...]:
        """Return the shape of the last axes of the values."""
        return (n,) if self.targets is None else self.targets.shape

    def width(self, n: int) -> int:
        """Return the number of targets."""
        return n if self.targets is None else self.targets.size

    def select(self, values: Array, before: Predecessors | None, ring: Semiring) -> Found:
        """Return what is wanted of the paths between all pairs of vertices, (..., n, n)."""
        if self.sources is not None:
            values = values[..., self.sources, :]
            before = None if before is None else before[..., self.sources, :]
        return self._finish(values, before, ring)

    def of_rows(
        self, values: Array, before: Predecessors | None, ring: Semiring, chosen: bool
    ) -> Found:
        """Return what is wanted of a row for each source.

        `chosen` says that the columns are the targets, not all vertices.
        """
        rows = (len(values),) if self.sources is None else self.sources.shape
        if chosen:
            free = Wanted(self.sources, None, self.limit, self.min_only)
            return free._finish(values.reshape((*rows, *self.columns(0))), None, ring)
        before = None if before is None else before.reshape(*rows, before.shape[-1])
        return self._finish(values.reshape(*rows, values.shape[-1]), before, ring)

    def _finish(self, values: Array, before: Predecessors | None, ring: Semiring) -> Found:
        found = Found(values, before)
        if self.min_only:
            axes = 1 if self.sources is None else self.sources.ndim
            found = _nearest(values, before, self.starts(values.shape[-1]), axes, ring)
        return self.restrict(found, ring)

    def restrict(self, found: Found, ring: Semiring) -> Found:
        """Return what is wanted of the paths from the sources to all vertices."""
        values, before, first = found
        if self.limit is not None:
            worse = ring.add_ufunc(values, np.float64(self.limit)) != values
            values = np.where(worse, ring.zero(values.dtype), values)
            before, first = (
                None if table is None else np.where(worse, np.int32(NO_PREDECESSOR), table)
                for table in (before, first)
            )
        if self.targets is not None:
            values = values[..., self.targets]
            first = None if first is None else first[..., self.targets]
        return Found(values, before, first)


EVERYTHING = Wanted(None, None, None, False)


def number_of(limit: float | None) -> float | None:
    """Return a limit as a float, or None.

    Raises
    ------
    TypeError, ValueError
        If it is no number.
    """
    if limit is None:
        return None
    try:
        found = float(limit)
    except (TypeError, ValueError):
        raise TypeError(f"limit: expected a number, got {limit!r}") from None
    if math.isnan(found):
        raise ValueError("limit: expected a number, got nan")
    return found


def wanted(
    graph: Array | Edges,
    indices: ArrayLike | None,
    targets: ArrayLike | None,
    limit: float | None,
    min_only: bool,
    name: str = "indices",
) -> Wanted:
    """Return the wanted paths, or raise the errors of `shortest_paths`."""
    limit = number_of(limit)
    sources, ends = sources_of(indices, graph, name), sources_of(targets, graph, "targets")
    if min_only and not (number_of_vertices(graph) if sources is None else sources.size):
        raise ValueError(f"{name}: expected at least one vertex for min_only, got none")
    return Wanted(sources, ends, limit, bool(min_only))


def _nearest(
    values: Array, before: Predecessors | None, starts: NDArray[np.int32], axes: int, ring: Semiring
) -> Found:
    """Return the best of the rows of sources, which are `axes` axes before the last."""
    n = values.shape[-1]
    batch = values.shape[: values.ndim - 1 - axes]
    values = values.reshape(*batch, len(starts), n)
    best = ring.add_ufunc.reduce(values, axis=-2, keepdims=True)
    if before is None:
        return Found(best[..., 0, :])
    row = (values == best).argmax(axis=-2)[..., None, :]  # of equal sources the first: no cycles
    table = np.take_along_axis(before.reshape(values.shape), row, -2)[..., 0, :]
    none = best[..., 0, :] == ring.zero(values.dtype)
    return Found(best[..., 0, :], table, np.where(none, np.int32(NO_PREDECESSOR), roots(table)))


def roots(before: Predecessors) -> Predecessors:
    """Return the vertex at which the path of predecessors (..., n) to each vertex begins."""
    n = before.shape[-1]
    root = np.where(before < 0, np.arange(n, dtype=np.int32), before)
    for _ in range(n.bit_length()):  # each step is twice as long as the last
        root = np.take_along_axis(root, root, -1)
    return root

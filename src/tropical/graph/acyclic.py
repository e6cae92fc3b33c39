"""Best paths in sparse graphs without cycles, in topological order."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .components import component_numbers
from .cycles import cycle_error
from .edge_arrays import Edges, in_core
from .predecessors import NO_PREDECESSOR
from .progress import Progress, shown
from .wanted import Found, Wanted, roots

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tropical.semirings import Semiring

ROWS = 1 << 10  # of one call of the core, between two reports of progress


def topological_order(edges: Edges) -> NDArray[np.int32]:
    """Return the vertices, the source of each edge before its target; or raise CycleError."""
    numbers = component_numbers(edges)
    inside = numbers[edges.source] == numbers[edges.target]
    if inside.any():
        raise cycle_error(edges.where(inside))
    order = np.empty(edges.n, np.int32)
    order[edges.n - 1 - numbers] = np.arange(edges.n, dtype=np.int32)
    return order


def acyclic_paths(
    edges: Edges, ring: Semiring, wanted: Wanted, predecessors: bool, progress: Progress
) -> Found:
    """Return the wanted best paths of a graph without cycles, or raise CycleError.

    Each row takes every edge once. Sums are those of float64, rounded once to the dtype.
    """
    order = topological_order(edges)
    core, n, starts = in_core(edges), edges.n, wanted.starts(edges.n)
    height = 1 if wanted.min_only else len(starts)
    values = np.empty((height, n), edges.dtype)
    before = np.empty((height, n), np.int32) if predecessors else None
    with shown(progress) as report:
        for begin in range(0, height, ROWS):
            part = slice(begin, begin + ROWS)
            rows = np.empty(values[part].shape)
            own = starts if wanted.min_only else starts[part]
            before_part = None if before is None else before[part]
            core.sweep(ring.name, own, wanted.min_only, order, rows, before_part)
            with np.errstate(over="ignore"):  # in float32
                values[part] = rows
            report(min(begin + ROWS, height) / height)
    shape = (*wanted.rows(n), n)
    first = None
    if before is not None:
        before[values == ring.zero(values.dtype)] = NO_PREDECESSOR
        before = before.reshape(shape)
        if wanted.min_only:
            first = roots(before)
            first[values[0] == ring.zero(values.dtype)] = NO_PREDECESSOR
    return wanted.restrict(Found(values.reshape(shape), before, first), ring)

"""Paths by elimination: a factor of the graph, and rows from the factor."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .elimination import eliminated
from .factor import Factor
from .progress import Progress, shown
from .wanted import Found, Wanted
from .weights import Weights

if TYPE_CHECKING:
    from tropical import _core
    from tropical.semirings import Semiring

    from .edges import Edges

# Sources of one call of the core, after which progress is reported.
CALL_SOURCES = 4096


def eliminated_paths(
    edges: Edges,
    ring: Semiring,
    wanted: Wanted,
    predecessors: bool,
    progress: Progress,
    two_way: bool,
    core: _core.Elimination | None = None,
) -> Found:
    """Return the wanted best paths; `core` is the elimination of these edges, where it is known.

    `two_way` says that every edge leads in both directions. If it stands among `edges` twice, with
    the same weight, that is found out.
    """
    if core is None:
        core = eliminated(edges, None, not two_way, lambda share: None)
    two_way = two_way or _leads_back(core, edges, ring)
    factor = Factor._of(Weights(edges, ring, not two_way, core))
    starts = wanted.starts(edges.n).astype(np.intp)
    all_columns = predecessors or wanted.min_only
    ends = None if all_columns or wanted.targets is None else wanted.targets.ravel()
    values = np.empty((len(starts), edges.n if ends is None else len(ends)), edges.dtype)
    before = np.empty((len(starts), edges.n), np.int32) if predecessors else None
    with shown(progress) as report:
        for first in range(0, len(starts), CALL_SOURCES):
            part = slice(first, first + CALL_SOURCES)
            if before is None:
                factor.lengths(starts[part], ends, out=values[part])
            else:
                factor.predecessors(starts[part], (values[part], before[part]), return_lengths=True)
            report(min(first + CALL_SOURCES, len(starts)) / len(starts))
    return wanted.of_rows(values, before, ring, chosen=ends is not None)


def _leads_back(core: _core.Elimination, edges: Edges, ring: Semiring) -> bool:
    """Return whether there is an edge of the same weight back for each edge, and none twice."""
    rank = np.empty(edges.n, np.intp)
    rank[core.order] = np.arange(edges.n)
    entry, up = core.edge_entries, rank[edges.source] < rank[edges.target]
    down = ~up & (entry >= 0)  # -1 for loops
    if np.count_nonzero(up) != np.count_nonzero(down):
        return False
    zero = ring.zero(edges.dtype)
    there, back = (np.full(core.entries, zero, edges.dtype) for _ in range(2))
    there[entry[up]] = edges.weight[up]
    back[entry[down]] = edges.weight[down]
    each_once = np.count_nonzero(there != zero) == np.count_nonzero(up)
    return each_once and np.array_equal(there, back)

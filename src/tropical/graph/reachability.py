"""Which vertices a path leads to from which: the or-and star of matrices, on packed bits."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tropical import _core
from tropical.arrays import Array

from .progress import most_work, share_of, split

if TYPE_CHECKING:
    from .progress import Report

ROW_BITS = 1 << 33  # bits of rows that one call of the core looks at: a tenth of a second


def reach(edges: Array, paths: Array, progress: Report) -> None:
    """Set `paths` (..., n, n) to where a path of one edge or more leads; both are of bool.

    An element of the diagonal says whether its vertex is on a cycle. The or-and star has the same
    elements, and True on the diagonal. `paths` may be `edges`.
    """
    small = edges.shape[-1] <= _core.STAR_SIZE
    work = most_work(edges) if small else 0
    parts = list(zip(split(edges, work), split(paths, work), strict=True))
    for done, (edge, path) in enumerate(parts):
        if small:
            star = edge.copy()
            _core.star(star, "orand")
            path[...] = _core.gemm(edge, star, semiring="orand")
        elif edge.size:
            _reach(edge, path, share_of(progress, done, len(parts)))
        progress((done + 1) / len(parts))


def _reach(edges: Array, paths: Array, progress: Report) -> None:
    """Do the work of `reach` for one large graph: by components, else by Warshall's algorithm.

    Components take long where many edges lead between them. The time of Warshall's algorithm
    depends little on these edges; see Decisions.
    """
    if abs(edges.strides[0]) < abs(edges.strides[1]):  # walk along memory: paths of the transpose
        edges, paths = edges.T, paths.T
    n = len(edges)
    components = _core.Components(edges)
    while components.left and (rows := components.most_rows - components.rows) > 0:
        components.advance(min(max(ROW_BITS // n, 1), rows))
        progress(1 - components.left / n)
    if not components.left:
        components.store(paths)
        return
    known = 1 - components.left / n
    graph = _core.BitGraph(edges)
    for strip in range(graph.strips):
        graph.pass_(strip)
        progress(known + (1 - known) * strip / graph.strips)
    graph.store(paths)

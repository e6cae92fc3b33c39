"""Which vertices a path leads to from which: the or-and star of a graph, on packed bits."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tropical import _core
from tropical.arrays import Array

from .edges import read_pattern
from .progress import most_work, share_of, shown, split

if TYPE_CHECKING:
    from .edges import GraphLike
    from .progress import Progress, Report

ROW_BITS = 1 << 33  # bits of rows that one call of the core looks at: a tenth of a second


def transitive_closure(
    a: GraphLike,
    *,
    reflexive: bool | None = False,
    overwrite: bool = False,
    progress: Progress = None,
) -> NDArray[np.bool_]:
    """Return where there is a path from i to j.

    Parameters
    ----------
    a : array_like (..., n, n), sparse array (n, n) or networkx graph
        Where there is an edge from i to j: the elements of an array that are not 0, or the stored
        elements of a sparse array, also a stored 0. Leading axes of an array are a batch.
    reflexive : bool or None, default False
        The diagonal, as in networkx. False: whether the vertex is on a cycle; True: always True;
        None: whether the vertex has an edge to itself.
    overwrite : bool, default False
        Compute in `a` itself if `a` is an array of booleans; ignored for other graphs.
    progress : callable or bool, optional
        As in `shortest_paths`.

    Returns
    -------
    ndarray of bool, (..., n, n)
        In the memory layout of `a`.

    Raises
    ------
    ValueError
        If `a` is not square, or holds a NaN or an infinity, which may or may not mean an edge.
    TypeError
        If `a` holds neither numbers nor booleans.

    Notes
    -----
    Strong components on packed bits (P. Purdom, "A transitive closure algorithm", BIT 10, 1970).
    If too many edges lead between components, S. Warshall's loops take over ("A theorem on Boolean
    matrices", Journal of the ACM 9, 1962). Decisions gives the reasons.

    Examples
    --------
    >>> from tropical.graph import transitive_closure
    >>> transitive_closure([[0, 1, 0], [0, 0, 1], [0, 0, 0]]).astype(int)
    array([[0, 1, 1],
           [0, 0, 1],
           [0, 0, 0]])
    """
    there = read_pattern(a)
    paths = there if overwrite and there is a else np.empty_like(there)
    i = np.arange(there.shape[-1])
    loops = there[..., i, i]
    with shown(progress) as report:
        reach(there, paths, report)
    if reflexive is not False:
        paths[..., i, i] = reflexive or loops
    return paths


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

"""What every method would take to find some paths, elimination counted exactly.

How many edges elimination adds shows when the vertices are put into order. That takes as long as
some searches, so it begins only where it may pay, and is given up as soon as it takes a share of
the other methods, or as it is sure that more edges are added than pay.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tropical import _core, get_num_threads, semirings
from tropical.arrays import Array

from . import breadth_first, costs
from .edge_arrays import Compressed, compressed, in_core
from .edges import Edges, edges_of, number_of_vertices
from .elimination import DTYPES, most_entries, operations_of
from .search import Search
from .wanted import Wanted

if TYPE_CHECKING:
    from tropical.semirings import Semiring

# To order the vertices of a graph in the plane takes so many steps for each vertex and edge; for
# most random graphs, so many are too few.
GOOD_STEPS, GREAT_STEPS = 4, 20
# The share of the other methods that the order may take; and where it seems sure to be good.
SHARE, LIKELY_SHARE = 0.09, 0.5
# A method is chosen over another only if it takes less by this factor.
MARGIN = 1.1
# Elimination goes on only if it pays even where it takes longer than estimated by this factor.
RISK = 1.2
# One search for so many tells how much of a directed graph searches reach; of so many at most.
SAMPLE, MOST_SAMPLES = 32, 8
# Where the other methods take less seconds, the order would show in their time.
WORTH = 1.5e-3
# So many entries fit into memory, without a look at it.
FITS = 1 << 20
# A ball of so many vertices, of which this share has been reached last, is that of an expander.
BALL, BALL_LEVELS, SURFACE = 1000, 64, 0.42
# Elimination adds few edges where there are hardly more pairs of neighbors than vertices.
TREE_PAIRS = 1.1


@dataclass(frozen=True)
class Task:
    """Paths that are wanted.

    Attributes
    ----------
    graph : ndarray (n, n) or Edges
    ring : Semiring
    wanted : Wanted
    predecessors : bool
        Whether they are wanted too.
    two_way : bool
        Whether each edge is known to lead in both directions.
    """

    graph: Array | Edges
    ring: Semiring
    wanted: Wanted
    predecessors: bool = False
    two_way: bool = False

    @functools.cached_property
    def count(self) -> int:
        """The number of sources."""
        sources = self.wanted.sources
        return number_of_vertices(self.graph) if sources is None else sources.size


@dataclass(frozen=True)
class Counted:
    """Estimated seconds of each method, infinite where elimination is not counted.

    Attributes
    ----------
    closure, search, elimination : float
    why : str
        Why elimination is not counted.
    core : Elimination or None
        Of `edges`.
    edges : Edges or None
    operations : int
        Sums and products that the weights of the factor take.
    """

    closure: float
    search: float
    elimination: float = math.inf
    why: str = ""
    core: _core.Elimination | None = None
    edges: Edges | None = None
    operations: int = 0

    @property
    def others(self) -> float:
        """The seconds of the better one of the closure and the search."""
        return min(self.closure, self.search)

    @property
    def reason(self) -> str:
        """All estimates in words."""
        found = f"{self.closure:.1g} s by blocks, {self.search:.1g} s by search"
        if self.core is None:
            return f"{found}, as estimated; no elimination: {self.why}"
        return (
            f"{found}, {self.elimination:.1g} s by elimination, as estimated: it makes "
            f"{self.core.entries:,} entries with {self.operations:,} operations"
        )


def counted(task: Task) -> Counted:
    """Estimate what every method takes."""
    graph = task.graph
    n, m = number_of_vertices(graph), number_of_edges(graph, task.ring)
    closure = costs.closure_seconds(n, graph.dtype, task.predecessors)
    if isinstance(graph, Edges):
        closure += costs.DENSE * m
    found = Counted(closure, _searches(task, n, m, 1.0))
    if why := _hopeless(task, found, n, m, _factor_seconds(n, like_tree=True)):
        return replace(found, why=why)
    edges = compressed(edges_of(graph, task.ring))
    # Where each edge leads both ways, as many edges enter each vertex as leave it.
    balanced = task.two_way or np.array_equal(
        np.bincount(edges.head, minlength=n), np.diff(edges.start)
    )
    search = found.search
    if not balanced and found.others >= 4 * WORTH:
        search = _searches(task, n, m, _reached(edges, task))
    if _may_go_at_once(task, n) and _expands(edges, _some(task, 2), balanced):
        search *= costs.at_once_share(n, m)
    found = replace(found, search=search, edges=edges)
    like_tree = (m // 2 if balanced else m) < TREE_PAIRS * n
    if why := _hopeless(task, found, n, m, _factor_seconds(n, like_tree)):
        return replace(found, why=why)
    return _with_elimination(task, found, edges, balanced, like_tree)


def _searches(task: Task, n: int, m: int, share: float) -> float:
    """Estimate the seconds of searches that reach this share of the vertices and edges."""
    parallel = max(min(task.count, get_num_threads()), 1)
    one = costs.search_seconds(math.ceil(n * share), math.ceil(m * share))
    if task.wanted.bounded:
        one /= 2  # ends at the last target
    elif isinstance(task.graph, Edges) and breadth_first.fits(task.graph):
        many = not task.predecessors and task.count >= 64 and task.ring is semirings.minplus
        one /= breadth_first.GAIN if many else breadth_first.GAIN_OF_ONES
    return costs.CALL + one * task.count / parallel


def _may_go_at_once(task: Task, n: int) -> bool:
    """Return whether searches go from many sources at once where most vertices are few edges away.

    As `cpp/graph/search/many.cpp` decides.
    """
    rows_alone = not task.predecessors and not task.wanted.bounded
    enough = task.count >= costs.AT_ONCE_SOURCES * get_num_threads()
    return rows_alone and enough and n <= costs.AT_ONCE_VERTICES


def number_of_edges(graph: Array | Edges, ring: Semiring) -> int:
    """Return the number of edges."""
    if isinstance(graph, Edges):
        return len(graph.weight)
    return int(np.count_nonzero(graph != ring.zero(graph.dtype)))


def _hopeless(task: Task, found: Counted, n: int, m: int, each: float) -> str:
    """Return why elimination cannot pay, where this is known without an order; else "".

    `each` is what a factor takes at least, per vertex and edge.
    """
    if not task.count or not m:
        return "there is nothing to find"
    if found.others < MARGIN * WORTH:
        return "the others take little time"
    if task.graph.dtype.name not in DTYPES:
        return f"none for {task.graph.dtype}"
    size = task.graph.dtype.itemsize
    rows = costs.rows_seconds(task.count, 0, n, m, size, task.predecessors) / get_num_threads()
    least = costs.ELIMINATION_CALL + each * (n + m) + rows
    if least > found.others / MARGIN:
        return "an order of the vertices takes too long for so few paths"
    return ""


def _factor_seconds(n: int, like_tree: bool) -> float:
    """Return what a factor takes at least, per vertex and edge."""
    return (costs.TREE if like_tree else costs.PLANE) * costs.growth(n)


def _reached(edges: Compressed, task: Task) -> float:
    """Return the mean share of the vertices that a search reaches, from some of the sources."""
    count = max(min(task.count // SAMPLE, MOST_SAMPLES), 1)
    ones = edges.with_weight(np.ones(len(edges.weight), np.float32))
    wanted = Wanted(_some(task, count), None, None, False)
    lengths = Search(ones, semirings.minplus).find(wanted).values
    return float(np.isfinite(lengths).mean())


def _some(task: Task, count: int) -> NDArray[np.intp]:
    """Return so many of the sources, evenly spread."""
    places = (2 * np.arange(count) + 1) * task.count // (2 * count)
    sources = task.wanted.sources
    return places if sources is None else sources.ravel()[places]


def _with_elimination(
    task: Task, found: Counted, edges: Compressed, balanced: bool, like_tree: bool
) -> Counted:
    """Return `found` with the seconds of an elimination, or with the reason why there is none."""
    n, m, size = edges.n, len(edges.weight), edges.dtype.itemsize
    threads, growth, ways = get_num_threads(), costs.growth(n), 1 if balanced else 2
    steps = (SHARE * found.others / growth - costs.ORDER * (n + m)) / costs.STEP
    if steps < GREAT_STEPS * (n + m):
        if not like_tree and _expands(edges, _some(task, 2), balanced):
            return replace(found, why="it most likely adds too many edges for so few paths")
        steps = LIKELY_SHARE * found.others / growth / costs.STEP

    def rows(entries: int) -> float:
        seconds = costs.rows_seconds(task.count, entries, n, m, size, task.predecessors)
        batches = -(-task.count * size // costs.BATCH_BYTES)
        return seconds / max(min(threads, batches), 1)

    each = costs.PLACE + costs.ENTRY / threads + (rows(n) - rows(0)) / n
    spent = (costs.ORDER + GOOD_STEPS * costs.STEP) * growth * (n + m)
    most = max(int((found.others / RISK - spent - rows(0)) / each), 0)
    if most > FITS:
        most = min(most, most_entries(edges.dtype, True))
    operation = ways * (costs.OPERATION_BYTE * size + costs.SHORT / 2) / threads / each
    try:
        core = _core.Elimination(
            n, edges.source, edges.target, None, most, None, int(steps), operation
        )
    except OverflowError:
        return replace(found, why="it adds too many edges")
    operations = operations_of(core) * ways
    weights = costs.weight_seconds(core.entries, operations, size) / threads
    seconds = costs.ELIMINATION_CALL + weights + rows(core.entries)
    return replace(found, elimination=seconds, core=core, operations=operations)


def _expands(edges: Compressed, centers: NDArray[np.intp], balanced: bool) -> bool:
    """Return whether the balls around these vertices consist of their surface, for the most part.

    So it is in expanders, in which elimination adds almost all edges. In the plane, a ball of 1,000
    vertices has a surface of a tenth. Small balls say nothing if edges lead in one direction.
    """
    core = in_core(edges)
    for center in centers.tolist():
        size, surface = core.ball(center, BALL, BALL_LEVELS)
        if surface > SURFACE * size or (not balanced and not surface):
            return True
    return False

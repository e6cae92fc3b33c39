"""Several shortest paths between two vertices: one after the other, and how many there are."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from tropical import _core, semirings
from tropical.arrays import Array, is_kind, read_count
from tropical.foreign import answers_alike

from .all_pairs import vertex_of
from .bellman_ford import potentials
from .edge_arrays import Compressed, Edges, compressed, in_core
from .edges import edges_of
from .method import RING, prepare
from .search import Search
from .wanted import wanted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .edges import GraphLike, Weight
    from .progress import Progress


@answers_alike
def k_shortest_paths(
    w: GraphLike,
    source: int,
    target: int,
    k: int | None = None,
    *,
    directed: bool = True,
    unweighted: bool = False,
    weight: Weight = "weight",
) -> Iterator[tuple[float, list[int]]]:
    """Return the shortest paths without loops between two vertices, the shortest first.

    Parameters
    ----------
    w, directed, unweighted, weight
        As in `shortest_paths`, but no batch. Edges between the same vertices are one edge, the
        lightest.
    source, target : int
        The first and the last vertex. Negative numbers count from the end.
    k : int, optional
        At most so many paths; all by default.

    Returns
    -------
    iterator of (float, list of int)
        The length and the vertices of each path. Lengths rise, but for rounding. No path if the
        target cannot be reached. Each path is computed when it is asked for.

    Raises
    ------
    ValueError, TypeError
        As in `shortest_paths`; or if `k` is negative.
    NegativeCycleError
        If there is a cycle of negative weight.

    Notes
    -----
    J. Y. Yen, "Finding the k shortest loopless paths in a network", Management Science 17, 1971,
    with E. L. Lawler's partition of the paths, and searches that know how far each vertex is from
    the target.

    Examples
    --------
    >>> import networkx as nx
    >>> from tropical.graph import k_shortest_paths
    >>> for length, path in k_shortest_paths(nx.cycle_graph(5), 0, 2):
    ...     print(length, path)
    2.0 [0, 1, 2]
    3.0 [0, 4, 3, 2]
    """
    edges = _edges(prepare(w, directed, unweighted, weight))
    i, j = vertex_of(source, edges, "source"), vertex_of(target, edges, "target")
    if k is not None:
        k = read_count("k", k)
    own, lengths = edges, None
    if edges.least < 0:
        h = potentials(edges)
        shifted = np.maximum(edges.weight + (h[edges.source] - h[edges.target]), 0)
        own = edges.with_weight(shifted)
        lengths = edges
    own = Compressed(own.n, own.start.copy(), own.head.copy(), own.weight.astype(np.float64))
    back = Edges(own.n, own.target, own.source, own.weight)
    to_target = Search(back, semirings.minplus).find(wanted(back, j, None, None, False)).values
    return _paths(_core.LooplessPaths(in_core(own), to_target, i, j), k, lengths)


@answers_alike
def count_shortest_paths(
    w: GraphLike,
    *,
    directed: bool = True,
    unweighted: bool = False,
    indices: ArrayLike | None = None,
    targets: ArrayLike | None = None,
    limit: float | None = None,
    weight: Weight = "weight",
    progress: Progress = None,
) -> Array:
    """Return how many shortest paths lead from each vertex to each vertex.

    Parameters
    ----------
    w, directed, unweighted, indices, targets, limit, weight, progress
        As in `shortest_paths`, but no batch, and no negative weights. Edges between the same
        vertices are one edge, the lightest.

    Returns
    -------
    ndarray of float64, (n, n), or ``(*indices.shape, *targets.shape)``
        0 where there is no path, 1 from a vertex to itself. Numbers beyond 2**53 are rounded; those
        beyond float64 become +inf.

    Raises
    ------
    ValueError, TypeError
        As in `shortest_paths`; or if a weight is negative, or if there are infinitely many shortest
        paths, round a cycle of weight 0.

    Notes
    -----
    Two paths are equally long if the sums of their weights, each rounded to float64, are the same,
    as in networkx. With whole weights, and sums of up to 2**53, the counts are exact.

    Examples
    --------
    >>> import networkx as nx
    >>> from tropical.graph import count_shortest_paths
    >>> int(count_shortest_paths(nx.grid_2d_graph(4, 4), indices=0, targets=15))
    20
    """
    edges = _edges(prepare(w, directed, unweighted, weight))
    if edges.least < 0:
        raise ValueError(f"w: expected weights of 0 or more, got {edges.least}")
    if is_kind(edges.dtype, "integer"):
        edges = edges.with_weight(edges.weight.astype(np.float64))
    want = wanted(edges, indices, targets, limit, False)
    want.check_lengths()
    counts = Search(edges, semirings.minplus).count(want, progress)[1]
    return counts if counts.ndim else counts[()]


def _edges(graph: Array | Edges) -> Compressed:
    """Return the edges in the order of their ends, the lightest of parallel ones."""
    if not isinstance(graph, Edges) and graph.ndim != 2:
        raise ValueError(f"w: expected (n, n), got {graph.shape}")
    edges = edges_of(graph, RING)
    order = np.lexsort((edges.weight, edges.target, edges.source))
    edges = edges.where(order)
    first = (np.diff(edges.source, prepend=-1) != 0) | (np.diff(edges.target, prepend=-1) != 0)
    return compressed(edges.where(first))


def _paths(
    core: _core.LooplessPaths, k: int | None, edges: Compressed | None
) -> Iterator[tuple[float, list[int]]]:
    """Yield at most k paths; `edges` have the weights where those of the core are shifted."""
    while k is None or k > 0:
        found = core.next()
        if found is None:
            return
        length, path = found
        yield (length if edges is None else _length(edges, path)), path
        k = None if k is None else k - 1


def _length(edges: Compressed, path: list[int]) -> float:
    length = 0.0
    for tail, head in itertools.pairwise(path):
        start, stop = edges.start[tail], edges.start[tail + 1]
        length += float(edges.weight[start + np.searchsorted(edges.head[start:stop], head)])
    return length

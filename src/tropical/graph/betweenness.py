"""Betweenness: on how many of the shortest paths a vertex or an edge lies."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tropical import _core

from .all_pairs import sources_of
from .edges import Edges, Mirrored, edges_of, read
from .method import RING
from .progress import Progress, shown

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from tropical.arrays import Array

    from .edges import GraphLike, Weight

# Vertices and arcs that one call of the core visits, after which progress is reported.
CALL_STEPS = 1 << 24


def betweenness(
    graph: GraphLike,
    sources: ArrayLike | None = None,
    *,
    normalized: bool = True,
    endpoints: bool = False,
    unweighted: bool = False,
    directed: bool = True,
    weight: Weight = "weight",
    progress: Progress = None,
) -> NDArray[np.float64]:
    """Return the betweenness of all vertices: the share of the shortest paths that pass each.

    Parameters
    ----------
    graph : sparse array (n, n), networkx graph or array_like (n, n)
        The edges, as in `shortest_paths`, of weights above 0.
    sources : array_like of int, optional
        A sample of the vertices, from which alone paths begin: the result is an estimate, which
        takes less time. All vertices by default.
    normalized : bool, default True
        Divide by the number of pairs of vertices. Without it, paths are counted; in a graph that is
        not directed, once for both directions.
    endpoints : bool, default False
        The first and the last vertex lie on a path, too.
    unweighted : bool, default False
        Count edges: each edge weighs 1.
    directed, weight, progress
        As in `eccentricity`.

    Returns
    -------
    ndarray of float64, (n,)
        The same bits for each number of threads. NaN where the sample says nothing: for a sole
        source, which its own paths do not pass, and without sources.

    Raises
    ------
    ValueError
        For a weight of 0 or less, because paths round a cycle of weight 0 have no number; if a
        source is no vertex or stands twice; or for a wrong graph, as in `shortest_paths`.
    TypeError
        If sources are no integers.

    Notes
    -----
    As ``networkx.betweenness_centrality``. Of several equally short paths, each counts as one part
    of their number; sums of weights are compared as they are rounded in float64, so that whole
    weights are compared exactly. Parallel edges count as one.

    U. Brandes, "A faster algorithm for betweenness centrality", Journal of Mathematical Sociology
    25, 2001, and "On variants of shortest-path betweenness centrality and their generic
    computation", Social Networks 30, 2008.

    Examples
    --------
    >>> import networkx as nx
    >>> from tropical.graph import betweenness
    >>> betweenness(nx.path_graph(5))
    array([0.        , 0.5       , 0.66666667, 0.5       , 0.        ])
    """
    arcs = _read(graph, directed, unweighted, weight)
    starts = _sources(sources, arcs.edges)
    vertices, _ = arcs.add_up(starts, endpoints, False, progress)
    n, sampled = arcs.edges.n, len(starts) < arcs.edges.n
    others = n if endpoints else n - 1  # the vertices that may be the end of a path
    if others < 2:
        return vertices
    halves = 2 if arcs.undirected and not normalized else 1
    scale = (
        1 / (others - 1) if normalized else others / halves,
        len(starts) if sampled else others,
    )
    factor = np.full(n, _over(*scale))
    if sampled and not endpoints:
        factor[starts] = _over(scale[0], len(starts) - 1)  # a source is not between its own paths
    vertices *= factor
    return vertices


def edge_betweenness(
    graph: GraphLike,
    sources: ArrayLike | None = None,
    *,
    normalized: bool = True,
    unweighted: bool = False,
    directed: bool = True,
    weight: Weight = "weight",
    progress: Progress = None,
) -> NDArray[np.float64]:
    """Return the betweenness of all edges: the share of the shortest paths that pass each.

    Parameters
    ----------
    graph, sources, normalized, unweighted, directed, weight, progress
        As in `betweenness`.

    Returns
    -------
    ndarray of float64, (m,)
        In the order in which the graph lists its edges, as `Factor.update` takes weights. The best
        of parallel edges share their paths, in a graph that is not directed also with those of the
        other direction. A function as `weight` gives a weight to each pair of vertices, or to each
        direction where these differ; edges that it hides by None are not listed.

    Raises
    ------
    ValueError, TypeError
        As `betweenness` does.

    Examples
    --------
    >>> import networkx as nx
    >>> from tropical.graph import edge_betweenness
    >>> edge_betweenness(nx.path_graph(4)).round(2)
    array([0.5 , 0.67, 0.5 ])
    """
    arcs = _read(graph, directed, unweighted, weight)
    starts = _sources(sources, arcs.edges)
    _, passed = arcs.add_up(starts, False, True, progress)
    n, count = arcs.edges.n, len(starts)
    if n < 2:
        return passed
    halves = 2 if arcs.undirected else 1
    passed *= _over(1 / (n - 1), count) if normalized else _over(n / halves, count)
    return passed


def _over(value: float, count: int) -> float:
    return value / count if count else math.nan


@dataclass(frozen=True)
class _Arcs:
    """The arcs of a graph without loops, the best of parallel ones, as the core takes them."""

    edges: Edges
    undirected: bool
    pair: NDArray[np.intp]  # the number of the pair of vertices that each edge joins
    best: NDArray[np.bool_]  # whether an edge is one of the best of its pair
    start: NDArray[np.intp]
    target: NDArray[np.int32]
    weight: NDArray[np.float64] | None
    arc_pair: NDArray[np.intp]

    def add_up(
        self, sources: NDArray[np.int32], endpoints: bool, edges: bool, progress: Progress
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return how many shortest paths pass the vertices, and the edges if they are wanted."""
        vertices = np.zeros(self.edges.n)
        arcs = np.zeros(len(self.target)) if edges else None
        step = max(CALL_STEPS // (self.edges.n + len(self.target) + 1), 64)
        with shown(progress) as report:
            for first in range(0, len(sources), step):
                some = sources[first : first + step]
                _core.betweenness(
                    self.start, self.target, self.weight, some, endpoints, vertices, arcs
                )
                report((first + len(some)) / len(sources))
        if arcs is None:
            return vertices, np.empty(0)
        pairs = int(self.pair.max(initial=-1)) + 1
        passed = np.bincount(self.arc_pair, arcs, pairs)
        sharing = np.bincount(self.pair, self.best, pairs)
        return vertices, np.where(self.best, (passed / np.maximum(sharing, 1))[self.pair], 0.0)


def _read(graph: GraphLike, directed: bool, unweighted: bool, weight: Weight) -> _Arcs:
    found = read(graph, RING, weight, True, "graph")
    if not isinstance(found, Edges) and found.ndim != 2:
        raise ValueError(f"graph: expected (n, n), got {found.shape}")
    edges = edges_of(found, RING)
    if isinstance(edges, Mirrored):
        directed, edges = False, edges.once()
    weights = edges.weight.astype(np.float64)
    if unweighted:
        weights[weights < np.inf] = 1
    if (least := weights.min(initial=np.inf)) <= 0:
        raise ValueError(f"graph: expected weights above 0, got {least:g}")
    ends = edges.source, edges.target
    if not directed:
        ends = np.minimum(*ends), np.maximum(*ends)
    keys, pair = np.unique(ends[0] * edges.n + ends[1], return_inverse=True)
    lightest = np.full(len(keys), np.inf)
    np.minimum.at(lightest, pair, weights)
    return _Arcs(
        edges,
        not directed,
        pair,
        (weights == lightest[pair]) & (weights < np.inf) & (edges.source != edges.target),
        *_sorted(keys // max(edges.n, 1), keys % max(edges.n, 1), lightest, edges.n, directed),
    )


def _sorted(one: Array, other: Array, weights: Array, n: int, directed: bool) -> tuple[Any, ...]:
    """Return start, target and weight of the arcs, and the pair that each arc joins."""
    pair = np.flatnonzero((one != other) & (weights < np.inf))
    source, target = one[pair], other[pair]
    if not directed:
        source, target, pair = (
            np.append(*x) for x in ((source, target), (target, source), (pair, pair))
        )
    order = np.argsort(source, kind="stable")
    start = np.zeros(n + 1, np.intp)
    np.cumsum(np.bincount(source, minlength=n), out=start[1:])
    found = weights[pair[order]]
    same = not found.size or (found == found[0]).all()  # a search by levels is faster
    return start, target[order].astype(np.int32), None if same else found, pair[order]


def _sources(sources: ArrayLike | None, edges: Edges) -> NDArray[np.int32]:
    found = sources_of(sources, edges, "sources")
    starts = np.arange(edges.n) if found is None else found.ravel()
    if len(np.unique(starts)) != len(starts):
        raise ValueError("sources: expected each vertex at most once")
    return starts.astype(np.int32)

"""Graphs of many kinds, as SciPy's arrays, with random weights."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tropical.bench.paths import Vertices, grid_edges, sparse
from tropical.measure.contenders import require


def both_ways(n: int, source: Vertices, target: Vertices, weights: Any = None) -> Any:
    """Return a graph in which each edge leads both ways, with one weight, and none twice."""
    rng = np.random.default_rng(0)
    pairs = np.sort(np.stack([source, target]), axis=0)[:, source != target]
    pairs = np.unique(pairs, axis=1)
    weights = rng.random(pairs.shape[1]) + 0.01 if weights is None else weights(*pairs)
    ends = np.append(pairs[0], pairs[1]), np.append(pairs[1], pairs[0])
    return require("scipy.sparse").csr_array((np.tile(weights, 2), ends), shape=(n, n))


def streets(side: int, left: float) -> Any:
    """Return a grid of side x side vertices with this share of its edges."""
    source, target = grid_edges(side)
    chosen = np.random.default_rng(0).random(len(source)) < left
    return both_ways(side * side, source[chosen], target[chosen])


def _points(n: int, axes: int) -> tuple[NDArray[np.float64], Any]:
    points = np.random.default_rng(0).random((n, axes))

    def distances(i: Vertices, j: Vertices) -> NDArray[np.float64]:
        apart: NDArray[np.float64] = np.linalg.norm(points[i] - points[j], axis=1)
        return apart

    return points, distances


def delaunay(n: int) -> Any:
    """Return the edges of the Delaunay triangles of random points, as long as they are."""
    points, distances = _points(n, 2)
    corners = require("scipy.spatial").Delaunay(points).simplices.astype(np.intp)
    return both_ways(n, corners.ravel(), np.roll(corners, 1, axis=1).ravel(), distances)


def near(n: int, count: int = 5, axes: int = 2) -> Any:
    """Return the edges from each of n random points to the nearest others, as long as they are."""
    points, distances = _points(n, axes)
    _, others = require("scipy.spatial").cKDTree(points).query(points, count + 1)
    return both_ways(n, np.repeat(np.arange(n), count), others[:, 1:].ravel(), distances)


def power_law(n: int, count: int) -> Any:
    """Return a graph in which each vertex has edges to `count` ends of earlier edges."""
    rng = np.random.default_rng(0)
    ends = [*range(count + 1), *range(count + 1)]
    for vertex in range(count + 1, n):
        for place in rng.integers(len(ends), size=count).tolist():
            ends += [vertex, ends[place]]
    return both_ways(n, np.array(ends[::2]), np.array(ends[1::2]))


def star(n: int) -> Any:
    """Return a graph in which all vertices have one edge, to the first one."""
    return both_ways(n, np.zeros(n - 1, np.intp), np.arange(1, n))


def path(n: int) -> Any:
    """Return one path through vertices in random order."""
    order = np.random.default_rng(0).permutation(n)
    return both_ways(n, order[:-1], order[1:])


def tree(n: int) -> Any:
    """Return a random recursive tree."""
    later = np.arange(1, n)
    earlier = (np.random.default_rng(0).random(n - 1) * later).astype(np.intp)
    return both_ways(n, later, earlier)


def clique(n: int) -> Any:
    """Return a graph of all pairs."""
    return both_ways(n, *np.triu_indices(n, 1))


def acyclic(n: int, degree: float, span: int, least: float = 0.0) -> Any:
    """Return a graph whose edges lead to later vertices, at most `span` later.

    The weights begin at `least`, which may be negative.
    """
    rng = np.random.default_rng(0)
    source = rng.integers(n - 1, size=round(degree * n))
    target = np.minimum(source + rng.integers(1, span, size=len(source)), n - 1)
    weights = rng.random(len(source)) + least
    return require("scipy.sparse").csr_array((weights, (source, target)), shape=(n, n))


def random(n: int, degree: float) -> Any:
    """Return `sparse` with both directions of each edge."""
    edges = sparse(n, degree / 2).tocoo()
    return both_ways(n, *(ends.astype(np.intp) for ends in edges.coords))

"""Contenders that compute with factors of sparse graphs, and their promises."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from tropical.bench.bar import Bar, Pair
from tropical.bench.paths import grid_edges
from tropical.graph import factorize
from tropical.measure.contenders import our_call, require
from tropical.measure.timing import Contender

SIDE = 512
EDGES = 0.7 * 2 * SIDE**2


def roads(side: int = SIDE, dtype: str = "float32") -> Any:
    """Return SciPy's array of a grid of side x side vertices, of whose edges 0.7 are left.

    As in a road network, a vertex has 2.8 edges on average. The weights are random; each edge is
    listed once, and leads in both directions.
    """
    rng = np.random.default_rng(0)
    source, target = grid_edges(side)
    left = rng.random(len(source)) < 0.7
    ends = source[left], target[left]
    weights = rng.integers(100, 5000, len(ends[0])).astype(dtype)
    return require("scipy.sparse").csr_array((weights, ends), shape=(side**2, side**2))


def one_source(graph: Any, directed: bool = False) -> Contender:
    """Make a contender of SciPy's Dijkstra from one vertex to all."""
    dijkstra = require("scipy.sparse.csgraph").dijkstra
    return Contender("scipy", lambda: dijkstra(graph, directed=directed, indices=0), 1.0)


def lengths(dtype: str, directed: bool = False, count: int = 256) -> Pair:
    """Lengths from many vertices to all, a source, over one source of SciPy's."""
    graph = roads(dtype=dtype)
    if directed:
        graph = (graph + 2 * graph.T).tocsr()  # the way back takes longer
    factor = factorize(graph, directed=directed)
    sources = np.random.default_rng(1).integers(0, factor.n, count)
    out = np.zeros((count, factor.n), dtype)
    rows = our_call(lambda: factor.lengths(sources, out=out), work=count)
    return rows, one_source(graph, directed)


def two_threads(dtype: str, count: int = 1024) -> Pair:
    """Lengths from many vertices to all, by two threads and by one."""
    factor = factorize(roads(dtype=dtype), directed=False)
    sources = np.random.default_rng(1).integers(0, factor.n, count)
    out = np.zeros((count, factor.n), dtype)
    one = our_call(lambda: factor.lengths(sources, out=out), name="one thread")
    return our_call(one.call, name="two threads", threads=2), one


def predecessors(dtype: str, count: int = 128) -> Pair:
    """Predecessors and lengths from many vertices, a source, over one source of SciPy's lengths."""
    graph = roads(dtype=dtype)
    factor = factorize(graph, directed=False)
    sources = np.random.default_rng(1).integers(0, factor.n, count)
    out = np.zeros((count, factor.n), dtype), np.zeros((count, factor.n), np.int32)
    both = functools.partial(factor.predecessors, sources, out, return_lengths=True)
    return our_call(both, work=count), one_source(graph)


def update() -> Pair:
    """New weights of all edges, over one source of SciPy's."""
    graph = roads()
    factor = factorize(graph, directed=False)
    return our_call(lambda: factor.update(graph.data)), one_source(graph)


def update_edges() -> Pair:
    """One edge that is closed or opened again, over new weights of all edges."""
    graph = roads()
    factor = factorize(graph, directed=False)
    edges = graph.tocoo()
    some = np.random.default_rng(2).integers(0, graph.nnz, 1000)
    weights = itertools.cycle(
        (edges.coords[0][e], edges.coords[1][e], weight)
        for e in some
        for weight in (np.inf, graph.data[e])
    )
    one = our_call(lambda: factor.update_edges(*next(weights)))
    return one, our_call(lambda: factor.update(graph.data), name="update")


def factor_of_roads() -> Pair:
    """From a graph to its factor, order included, over one source of SciPy's."""
    graph = roads()
    return our_call(lambda: factorize(graph, directed=False)), one_source(graph)


def bars() -> Iterator[Bar]:
    """Every bar, in the order of the table."""
    bar = functools.partial(Bar, "factors of 262,144 corners of roads, threads=1")
    for dtype, value in {"float32": 150.0, "float64": 70.0}.items():
        case = f"a source of 256 over one of scipy's, {dtype}"
        yield bar(case, value, 256 * 10 * EDGES, functools.partial(lengths, dtype))
    case = "a source of 256 over one of scipy's, float32, directed"
    yield bar(case, 125.0, 256 * 10 * EDGES, functools.partial(lengths, "float32", True))
    case = "two threads over one, 1,024 sources, float32"
    yield bar(case, 1.8, 1024 * 10 * EDGES, functools.partial(two_threads, "float32"))
    for dtype, value in {"float32": 50.0, "float64": 30.0}.items():
        case = f"predecessors, a source of 128 over one of scipy's lengths, {dtype}"
        yield bar(case, value, 128 * 30 * EDGES, functools.partial(predecessors, dtype))
    yield bar("new weights over one source of scipy's", 1.0, 200 * EDGES, update)
    yield bar("one edge changed over new weights", 100.0, 200 * EDGES, update_edges)
    case = "time of graph to factor over one source of scipy's"
    yield replace(bar(case, 40.0, 4000 * EDGES, factor_of_roads), at_most=True)

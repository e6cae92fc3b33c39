"""Promises about searches in sparse graphs: near targets, the nearest of depots, single rows."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from tropical import graph
from tropical.bench import paths
from tropical.bench.bar import Bar, Pair
from tropical.measure.contenders import our_call, require
from tropical.measure.timing import Contender

SIDE = 1000  # of the grid


def two_way_grid(side: int) -> Any:
    """Return `paths.grid` of float64 in which each edge leads in both directions."""
    one_way = paths.grid(side, "float64")
    return (one_way + one_way.T).tocsr()


def near_target(side: int = SIDE) -> Pair:
    """From the middle of a grid to the vertex 20 rows and columns away, both graphs read before."""
    rustworkx = require("rustworkx")
    n, source = side * side, side * side // 2 + side // 2
    target = source + 20 * side + 20
    edges = paths.grid(side, "float64").tocoo()
    other = rustworkx.PyGraph()
    other.add_nodes_from(range(n))
    other.add_edges_from(list(zip(*(x.tolist() for x in (*edges.coords, edges.data)), strict=True)))
    lengths = functools.partial(
        rustworkx.dijkstra_shortest_path_lengths, other, source, float, target
    )
    searcher = graph.Searcher(two_way_grid(side))
    call = functools.partial(searcher.lengths, source, target)
    return our_call(call, n), Contender("rustworkx", lengths, n)


def nearest_depot(side: int = SIDE) -> Pair:
    """From the nearest of 50 vertices of a grid to every vertex."""
    made = two_way_grid(side)
    depots = np.random.default_rng(1).integers(side * side, size=50)
    return _pair(graph.shortest_paths, made, indices=depots, min_only=True)


def one_row(function: Callable[..., object], n: int = 10_000) -> Pair:
    """From one vertex of a random graph of degree 4, or of its edges to greater vertices."""
    made = paths.sparse(n, 4)
    own = made
    if function is graph.longest_paths:
        own = require("scipy.sparse").triu(made, 1, format="csr")
    return _pair(function, own, made, indices=0)


def _pair(function: Callable[..., object], own: Any, other: Any = None, **options: Any) -> Pair:
    """Pair one of our functions with SciPy's Dijkstra."""
    dijkstra = require("scipy.sparse.csgraph").dijkstra
    other = own if other is None else other
    call = functools.partial(function, own, **options)
    rival = functools.partial(dijkstra, other, **options)
    work = float(own.nnz)
    return our_call(call, work), Contender("scipy", rival, work)


def bars() -> Iterator[Bar]:
    """Every bar of searches."""
    group, vertices = "searches", 1e6
    case = "time to a near target on a grid of 1,000,000 over rustworkx's, threads=1"
    yield Bar(group, case, 1.0, vertices, near_target, at_most=True)
    case = "time of the nearest of 50 depots there over scipy's min_only, threads=1"
    yield Bar(group, case, 1.0, 4 * vertices, nearest_depot, at_most=True)
    for function in (graph.longest_paths, graph.widest_paths):
        name = function.__name__.replace("_paths", "")
        case = f"time of one {name} row of 10,000 vertices over scipy's Dijkstra, threads=1"
        make = functools.partial(one_row, function)
        yield Bar(group, case, 1.0, 4e4, make, at_most=True)

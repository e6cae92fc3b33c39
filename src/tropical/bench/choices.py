"""Promises about `method="auto"`: near the best method on 40 graphs, and many times SciPy."""

from __future__ import annotations

import functools
import math
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import tropical
from tropical.bench import graphs, paths
from tropical.bench.bar import Bar, Pair
from tropical.graph import explain_shortest_paths, shortest_paths
from tropical.measure.contenders import our_call, require
from tropical.measure.timing import Contender

Case = tuple[Callable[[], Any], str, int]  # a graph, a dtype, the number of sources (0: all)
F32, F64 = "float32", "float64"


def cases() -> list[Case]:
    """Return 40 graphs of 100 to 100,000 vertices, with few and many sources."""
    make = functools.partial
    streets, acyclic = graphs.streets, graphs.acyclic
    return [
        (make(streets, 10, 1.0), F64, 0),
        (make(streets, 22, 1.0), F32, 0),
        (make(streets, 70, 1.0), F32, 0),
        (make(streets, 70, 1.0), F64, 30),
        (make(streets, 316, 1.0), F64, 1),
        (make(streets, 316, 1.0), F32, 100),
        (make(streets, 60, 0.7), F64, 0),
        (make(streets, 141, 0.7), F32, 500),
        (make(streets, 300, 0.7), F32, 5),
        (make(streets, 300, 0.7), F64, 200),
        (make(graphs.delaunay, 2000), F32, 0),
        (make(graphs.delaunay, 20_000), F64, 100),
        (make(graphs.delaunay, 100_000), F32, 10),
        (make(graphs.near, 5000), F64, 0),
        (make(graphs.near, 20_000), F32, 3),
        (make(graphs.near, 20_000, axes=3), F32, 400),
        (make(graphs.near, 20_000, axes=3), F64, 10),
        (make(paths.sparse, 100, 4), F32, 0),
        (make(paths.sparse, 3000, 2), F32, 0),
        (make(paths.sparse, 20_000, 2), F64, 20),
        (make(paths.sparse, 3000, 4), F32, 0),
        (make(paths.sparse, 20_000, 4), F64, 100),
        (make(paths.sparse, 1000, 8), F32, 0),
        (make(paths.sparse, 20_000, 8), F64, 50),
        (make(paths.sparse, 2000, 16), F32, 0),
        (make(paths.sparse, 50_000, 16), F64, 10),
        (make(graphs.random, 5000, 3), F32, 0),
        (make(graphs.power_law, 5000, 3), F32, 0),
        (make(graphs.power_law, 50_000, 2), F64, 40),
        (make(graphs.star, 20_000), F64, 100),
        (make(graphs.star, 2000), F32, 0),
        (make(graphs.clique, 500), F32, 0),
        (make(graphs.clique, 1000), F64, 5),
        (make(graphs.path, 20_000), F32, 200),
        (make(graphs.tree, 50_000), F64, 100),
        (make(graphs.tree, 3000), F32, 0),
        (make(acyclic, 3000, 4, 3000), F64, 0),
        (make(acyclic, 20_000, 3, 30), F32, 100),
        (make(acyclic, 3000, 4, 3000, -0.5), F32, 0),
        (make(paths.turned, 2000, 4), F64, 0),
    ]


def calls_of(case: Case) -> dict[str, Callable[[], object]]:
    """Return `shortest_paths` by each method that may be the best for a case."""
    make, dtype, count = case
    graph = make().astype(dtype)
    n = graph.shape[0]
    sources = np.random.default_rng(1).integers(n, size=count) if count else None
    call = functools.partial(shortest_paths, graph, indices=sources)
    found: dict[str, Callable[[], object]] = {"auto": call, "D": functools.partial(call, "J")}
    if not count and n <= 5000:
        found["FW"] = functools.partial(call, "FW")
    entries = 0 if n <= 5000 else explain_shortest_paths(graph).entries or math.inf
    if entries < 20 * (n + graph.nnz):  # else it takes minutes
        found["E"] = functools.partial(call, "E")
    return found


def ratio(calls: dict[str, Callable[[], object]], rounds: int = 3) -> tuple[float, str]:
    """Return by which factor "auto" is slower than the best of the methods, and that method."""
    seconds: dict[str, list[float]] = {name: [] for name in calls}
    with tropical.options(threads=1):
        for _ in range(rounds):
            for name, call in calls.items():
                start = time.perf_counter()
                call()
                seconds[name].append(time.perf_counter() - start)
    times = {name: min(several) for name, several in seconds.items()}
    auto = times.pop("auto")
    best = min(times, key=lambda name: times[name])
    return auto / times[best], best


def worst(some: list[Case] | None = None) -> Pair:
    """Pair "auto" with the best method on the graph on which it is slowest in comparison."""
    found: list[tuple[float, int, str, Callable[[], object], Callable[[], object]]] = []
    for case in cases() if some is None else some:
        calls = calls_of(case)
        slower, best = ratio(calls)
        found.append((slower, len(found), best, calls["auto"], calls[best]))
    _, _, best, auto, other = max(found)
    return our_call(auto, name="auto"), our_call(other, name=best)


def all_pairs(make: Callable[[], Any], dtype: str, rows: int = 50) -> Pair:
    """All pairs, in comparison with SciPy's Dijkstra from some of the vertices."""
    graph = make().astype(dtype)
    dijkstra = require("scipy.sparse.csgraph").dijkstra
    n = graph.shape[0]
    some = np.random.default_rng(1).integers(n, size=rows)
    return (
        our_call(functools.partial(shortest_paths, graph), float(n)),
        Contender("scipy", functools.partial(dijkstra, graph, indices=some), float(rows)),
    )


def bars() -> Iterator[Bar]:
    """Every bar, in the order of the table."""
    group, work = "choice of a method, threads=1", 1e12
    case = "time of auto over the best method's, the worst of 40 graphs"
    yield Bar(group, case, 1.15, work, worst, at_most=True)
    for name, make in (("Delaunay", graphs.delaunay), ("5 nearest neighbors", graphs.near)):
        for dtype, bar in ((F32, 40.0), (F64, 25.0)):
            pair = functools.partial(all_pairs, functools.partial(make, 20_000), dtype)
            yield Bar(group, f"all pairs of 20,000, {name}, {dtype}, over scipy", bar, work, pair)
    pair = functools.partial(all_pairs, functools.partial(paths.sparse, 5000, 4), F32)
    yield Bar(group, "all pairs of 5,000, degree 4, over scipy", 5.0, work, pair)

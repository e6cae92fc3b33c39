"""Promises about measures of sparse graphs: closeness of a city, betweenness by weights."""

from __future__ import annotations

import functools
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np

from tropical import graph
from tropical.bench import factors, graphs
from tropical.bench.bar import Bar, Figure, Pair
from tropical.measure.contenders import our_call, require
from tropical.measure.timing import Contender

CORNERS, VERTICES, SAMPLE = 4096, 2000, 100
PEAK = """
import pathlib, resource, sys, tropical
from tropical.bench import measures
with tropical.options(threads=1):
    measures.closeness_of_roads("float32")()
status = pathlib.Path("/proc/self/status")
if status.exists():  # Linux, where ru_maxrss counts what the parent had when it forked
    line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
    print(1024 * int(line.split()[1]))
else:
    unit = 1 if sys.platform == "darwin" else 1024
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit)
"""


def closeness_of_roads(dtype: str, side: int = factors.SIDE) -> functools.partial[Any]:
    """Return a call of `closeness` for some of the roads' corners, of a factor that is made now."""
    factor = graph.factorize(factors.roads(side, dtype), directed=False)
    first = factor.n // 2  # corners in the middle, near each other as if all were wanted
    return functools.partial(graph.closeness, factor, np.arange(first, first + CORNERS))


def closeness(dtype: str, side: int = factors.SIDE) -> Pair:
    """Closeness of corners, each, over the lengths from one corner by SciPy."""
    ours = our_call(closeness_of_roads(dtype, side), work=CORNERS)
    return ours, factors.one_source(factors.roads(side, dtype))


@functools.cache
def peak_of_closeness() -> float:
    """Return the gigabytes of a process that computes closeness of the roads' corners."""
    done = subprocess.run(
        [sys.executable, "-c", PEAK], check=True, capture_output=True, text=True, timeout=120
    )
    return int(done.stdout) / 1e9


def _weighted(n: int = VERTICES) -> Any:
    return graphs.random(n, 4)


def betweenness(n: int = VERTICES) -> Contender:
    """Make a contender of the betweenness of n vertices; the work of each is its sources."""
    call = functools.partial(graph.betweenness, _weighted(n), directed=False)
    return our_call(call, work=n)


def networkx_betweenness(n: int = VERTICES, sources: int = SAMPLE) -> Contender:
    """Make a contender of networkx's, from some of the vertices."""
    networkx = require("networkx")
    made = networkx.from_scipy_sparse_array(_weighted(n))
    options = {"k": sources, "weight": "weight", "seed": 0, "backend": "networkx"}
    call = functools.partial(networkx.betweenness_centrality, made, **options)
    return Contender("networkx", call, sources)


def igraph_betweenness(n: int = VERTICES) -> Contender:
    """Make a contender of igraph's."""
    edges = require("scipy.sparse").triu(_weighted(n)).tocoo()
    igraph = require("igraph", "'tropical-blas[engines]'")
    made = igraph.Graph(n, np.column_stack(edges.coords))
    call = functools.partial(made.betweenness, directed=False, weights=edges.data.tolist())
    return Contender("igraph", call, n)


def bars() -> Iterator[Bar]:
    """Every bar, in the order of the table."""
    group, work = "measures of 262,144 corners of roads, threads=1", CORNERS * 10 * factors.EDGES
    for dtype, value in {"float32": 200.0, "float64": 100.0}.items():
        case = f"closeness of a corner over one source of scipy's, {dtype}"
        yield Bar(group, case, value, work, functools.partial(closeness, dtype))
    group = f"betweenness of {VERTICES:,} vertices of degree 4, threads=1"
    rivals = {"networkx": (networkx_betweenness, 50.0), "igraph": (igraph_betweenness, 3.0)}
    for name, (make, value) in rivals.items():

        def pair(make: Any = make) -> Pair:
            return betweenness(), make()

        yield Bar(group, f"by weights, over {name}'s", value, 500.0 * VERTICES**2, pair)


def figures() -> Iterator[Figure]:
    """Every figure, in the order of the table."""
    case = "GB at the peak of closeness, 262,144 corners"
    yield Figure("memory of measures", case, 1.5, peak_of_closeness)

"""Contenders that find paths: tropical, SciPy, and loops compiled by numba."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tropical.bench import numba_loops
from tropical.graph import shortest_paths, transitive_closure
from tropical.measure.contenders import our_call, require, require_threads
from tropical.measure.timing import Contender

Array = NDArray[Any]
Vertices = NDArray[np.intp]


def dense(n: int, dtype: str = "float32", batch: tuple[int, ...] = ()) -> Array:
    """Return random weights in [0, 1), (*batch, n, n)."""
    return np.random.default_rng(0).random((*batch, n, n)).astype(dtype)


def sparse(n: int, degree: float) -> Any:
    """Return SciPy's array of a random graph of that mean degree, weights in [0, 1)."""
    rng = np.random.default_rng(0)
    ends, weights = rng.integers(n, size=(2, round(degree * n))), rng.random(round(degree * n))
    return require("scipy.sparse").csr_array((weights, tuple(ends)), shape=(n, n))


def chain(n: int) -> Any:
    """Return SciPy's array of one path of weights -1 through n vertices in random order."""
    order = np.append(0, 1 + np.random.default_rng(0).permutation(n - 1))
    ends = order[:-1], order[1:]
    return require("scipy.sparse").csr_array((np.full(n - 1, -1.0), ends), shape=(n, n))


def turned(n: int, degree: float) -> Any:
    """Return `sparse` with a difference of two numbers added to each weight: half are negative."""
    graph = sparse(n, degree).tocoo()
    number = np.random.default_rng(1).random(n) * n
    source, target = graph.coords
    weights = graph.data + number[target] - number[source]
    return require("scipy.sparse").csr_array((weights, (source, target)), shape=(n, n))


def grid_edges(side: int) -> tuple[Vertices, Vertices]:
    """Return the ends of the edges of a grid of side x side vertices, one way each."""
    vertex = np.arange(side * side).reshape(side, side)
    return np.append(vertex[:, 1:], vertex[1:]), np.append(vertex[:, :-1], vertex[:-1])


def grid(side: int, dtype: str = "float32") -> Any:
    """Return SciPy's array of a grid of side x side vertices, weights in [0, 1), one way each."""
    source, target = grid_edges(side)
    weights = np.random.default_rng(0).random(len(source)).astype(dtype)
    return require("scipy.sparse").csr_array((weights, (source, target)), shape=(side**2, side**2))


def ours(graph: Any, threads: int = 1, **options: Any) -> Contender:
    """Make a contender of `shortest_paths`."""
    call = functools.partial(shortest_paths, graph, **options)
    return our_call(call, 2.0 * _work(graph), threads=threads)


def scipy(graph: Any, method: str = "FW") -> Contender:
    """Make a contender of SciPy's `shortest_path`, in a loop over a batch of graphs."""
    shortest_path = require("scipy.sparse.csgraph").shortest_path
    batch = [graph] if len(graph.shape) == 2 else list(graph.reshape(-1, *graph.shape[-2:]))

    def call() -> object:
        return [shortest_path(one, method) for one in batch]

    return Contender(f"scipy {method}", call, 2.0 * _work(graph))


def numba(w: Array, threads: int = 1, *, in_turns: bool = False) -> Contender:
    """Make a contender of numba's k-i-j loop, rows in parallel and vectorized.

    `in_turns` goes from one array to another and back; which of the two loops is faster depends on
    the processor and on n.
    """
    require_threads(threads)
    loop = numba_loops.floyd_warshall(in_turns=in_turns)

    def call() -> object:
        a = w.copy()
        np.fill_diagonal(a, 0)
        return loop(a)

    call()
    name = "numba in turns" if in_turns else "numba"
    return Contender(name, call, 2.0 * _work(w), numba_loops.limited(threads))


def reach(n: int, degree: float) -> NDArray[np.bool_]:
    """Return where a random graph of that mean degree has edges, (n, n)."""
    rng = np.random.default_rng(0)
    there = np.zeros((n, n), np.bool_)
    source, target = rng.integers(0, n, (2, int(degree * n)))
    there[source, target] = True
    return there


def our_reach(there: NDArray[np.bool_], threads: int = 1) -> Contender:
    """Make a contender of `transitive_closure`."""
    call = functools.partial(transitive_closure, there)
    return our_call(call, 2.0 * _work(there), threads=threads)


def scipy_reach(there: NDArray[np.bool_]) -> Contender:
    """Make a contender of SciPy's unweighted Dijkstra, the fastest function for sparse graphs."""
    graph = require("scipy.sparse").csr_array(there.astype(np.float64))
    dijkstra = require("scipy.sparse.csgraph").dijkstra

    def call() -> object:
        return dijkstra(graph, unweighted=True) < np.inf

    return Contender("scipy", call, 2.0 * _work(there))


def numba_reach(there: NDArray[np.bool_], threads: int = 1) -> Contender:
    """Make a contender of Warshall's loops on rows of 64 bits a word, in parallel."""
    require_threads(threads)
    loop = numba_loops.warshall()

    def call() -> object:
        words = np.packbits(there, axis=-1, bitorder="little").view(np.uint64)
        loop(words)
        return np.unpackbits(words.view(np.uint8), axis=-1, bitorder="little").view(np.bool_)

    call()
    return Contender("numba", call, 2.0 * _work(there), numba_loops.limited(threads))


def _work(graph: Any) -> float:
    work: int = math.prod(graph.shape) * graph.shape[-1]
    return float(work)

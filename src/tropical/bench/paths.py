"""What paths are timed with: ours, SciPy's, and the best loops that numba makes."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

import tropical
from tropical.bench.contenders import require, require_threads
from tropical.bench.timing import Contender
from tropical.graph import shortest_paths, transitive_closure

__all__ = [
    "dense",
    "numba",
    "numba_reach",
    "our_reach",
    "ours",
    "reach",
    "scipy",
    "scipy_reach",
    "sparse",
]

Array = NDArray[Any]


def dense(n: int, dtype: str = "float32", batch: tuple[int, ...] = ()) -> Array:
    """Return random weights in [0, 1), (*batch, n, n)."""
    return np.random.default_rng(0).random((*batch, n, n)).astype(dtype)


def sparse(n: int, degree: float) -> Any:
    """Return SciPy's array of a random graph of that mean degree, weights in [0, 1)."""
    random_array = require("scipy.sparse").random_array
    return random_array((n, n), density=degree / n, format="csr", rng=np.random.default_rng(0))


def ours(graph: Any, threads: int = 1, **options: Any) -> Contender:
    """Make a contender of `shortest_paths`."""
    require_threads(threads)
    context = functools.partial(tropical.options, threads=threads)
    call = functools.partial(shortest_paths, graph, **options)
    return Contender("tropical", call, 2.0 * _work(graph), context)


def scipy(graph: Any, method: str = "FW") -> Contender:
    """Make a contender of SciPy's `shortest_path`; of a loop over it, if `graph` is a batch."""
    shortest_path = require("scipy.sparse.csgraph").shortest_path
    batch = [graph] if len(graph.shape) == 2 else list(graph.reshape(-1, *graph.shape[-2:]))

    def call() -> object:
        return [shortest_path(one, method) for one in batch]

    return Contender(f"scipy {method}", call, 2.0 * _work(graph))


def numba(w: Array, threads: int = 1) -> Contender:
    """Make a contender of the k-i-j loop, rows in parallel and vectorized: what one writes oneself.

    No row reads what another writes in the same step k, but row k, which the step leaves as it is.
    """
    require_threads(threads)
    compiled, module = _numba_floyd_warshall(), require("numba")

    def call() -> object:
        a = w.copy()
        np.fill_diagonal(a, 0)
        module.set_num_threads(threads)
        return compiled(a)

    call()
    return Contender("numba", call, 2.0 * _work(w))


@functools.cache
def _numba_floyd_warshall() -> Callable[[Array], Array]:
    module = require("numba")
    prange = module.prange

    def lengths(a: Array) -> Array:
        n = a.shape[0]
        for k in range(n):
            for i in prange(n):
                x = a[i, k]
                for j in range(n):
                    y = x + a[k, j]
                    a[i, j] = y if y < a[i, j] else a[i, j]  # noqa: FURB136
        return a

    compiled: Callable[[Array], Array] = module.njit(parallel=True)(lengths)
    return compiled


def reach(n: int, degree: float) -> NDArray[np.bool_]:
    """Return where a random graph of that mean degree has edges, (n, n)."""
    rng = np.random.default_rng(0)
    there = np.zeros((n, n), np.bool_)
    source, target = rng.integers(0, n, (2, int(degree * n)))
    there[source, target] = True
    return there


def our_reach(there: NDArray[np.bool_], threads: int = 1) -> Contender:
    """Make a contender of `transitive_closure`."""
    require_threads(threads)
    context = functools.partial(tropical.options, threads=threads)
    call = functools.partial(transitive_closure, there)
    return Contender("tropical", call, 2.0 * _work(there), context)


def scipy_reach(there: NDArray[np.bool_]) -> Contender:
    """Make a contender of SciPy's Dijkstra, unweighted, its fastest way for a sparse graph."""
    graph = require("scipy.sparse").csr_array(there.astype(np.float64))
    dijkstra = require("scipy.sparse.csgraph").dijkstra

    def call() -> object:
        return dijkstra(graph, unweighted=True) < np.inf

    return Contender("scipy", call, 2.0 * _work(there))


def numba_reach(there: NDArray[np.bool_], threads: int = 1) -> Contender:
    """Make a contender of Warshall's loops on rows of 64 bits a word, in parallel."""
    require_threads(threads)
    compiled, module = _numba_warshall(), require("numba")

    def call() -> object:
        module.set_num_threads(threads)
        words = np.packbits(there, axis=-1, bitorder="little").view(np.uint64)
        compiled(words)
        return np.unpackbits(words.view(np.uint8), axis=-1, bitorder="little").view(np.bool_)

    call()
    return Contender("numba", call, 2.0 * _work(there))


@functools.cache
def _numba_warshall() -> Callable[[Array], None]:
    module = require("numba")
    prange = module.prange

    def warshall(words: Array) -> None:
        n, width = words.shape
        for k in range(n):
            word, bit = k >> 6, np.uint64(1) << np.uint64(k & 63)
            for i in prange(n):
                if i != k and words[i, word] & bit:
                    for j in range(width):
                        words[i, j] |= words[k, j]

    compiled: Callable[[Array], None] = module.njit(parallel=True)(warshall)
    return compiled


def _work(graph: Any) -> float:
    work: int = math.prod(graph.shape) * graph.shape[-1]
    return float(work)

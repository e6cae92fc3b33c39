"""What paths are timed with: ours, SciPy's, networkx', and the best loops that numba makes.

`comparisons` has the bars of `tropical.graph`; ``python -m tropical.bench.paths`` prints them.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import tropical
from tropical.bench.contenders import AbsentError, require, require_threads
from tropical.bench.timing import Budget, Contender, interleave
from tropical.graph import shortest_paths, transitive_closure

__all__ = ["Comparison", "comparisons", "dense", "main", "numba", "ours", "reach", "sparse"]

Array = NDArray[Any]


@dataclass(frozen=True)
class Comparison:
    """One bar: how many times the rival's time ours may take at most, and what makes both."""

    case: str
    bar: float
    make: Callable[[], tuple[Contender, Contender]]


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


def scipy(graph: Any, method: str, *, name: str = "") -> Contender:
    """Make a contender of SciPy's `shortest_path`; of a loop over it, if `graph` is a batch."""
    shortest_path = require("scipy.sparse.csgraph").shortest_path
    batch = [graph] if len(graph.shape) == 2 else list(graph.reshape(-1, *graph.shape[-2:]))

    def call() -> object:
        return [shortest_path(one, method) for one in batch]

    return Contender(name or f"scipy {method}", call, 2.0 * _work(graph))


def numba(w: Array, threads: int = 1, *, predecessors: bool = False) -> Contender:
    """Make a contender of the k-i-j loop, rows in parallel and vectorized: what one writes oneself.

    No row reads what another writes in the same step k, but row k, which the step leaves as it is.
    """
    require_threads(threads)
    compiled = _numba_loops(predecessors)
    module = require("numba")
    n = len(w)
    edges = np.repeat(np.arange(n, dtype=np.int32)[:, None], n, axis=1)

    def call() -> object:
        a = w.copy()
        np.fill_diagonal(a, 0)
        module.set_num_threads(threads)
        return compiled(a, edges.copy()) if predecessors else compiled(a)

    call()
    return Contender("numba", call, 2.0 * _work(w))


@functools.cache
def _numba_loops(predecessors: bool) -> Callable[..., Array]:
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

    def trees(a: Array, before: Array) -> tuple[Array, Array]:
        n = a.shape[0]
        for k in range(n):
            for i in prange(n):
                x = a[i, k]
                for j in range(n):
                    y = x + a[k, j]
                    better = y < a[i, j]
                    a[i, j] = y if better else a[i, j]
                    before[i, j] = before[k, j] if better else before[i, j]
        return a, before

    compiled: Callable[..., Array] = module.njit(parallel=True)(trees if predecessors else lengths)
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


def comparisons(threads: int = 2) -> Iterator[Comparison]:
    """Yield every bar, all on `threads` threads where the contender has them."""
    for dtype, of_numba, of_scipy in (("float32", 4.0, 40.0), ("float64", 3.5, 20.0)):
        yield _against_numba(2048, dtype, threads, of_numba)
        yield _against_scipy(2048, dtype, threads, of_scipy)
    yield _against_numba(256, "float32", threads, 1.5)
    yield _against_scipy(256, "float32", threads, 10.0)
    yield Comparison("predecessors over none, n = 2048", 0.5, lambda: _with_predecessors(threads))
    yield Comparison("10,000 graphs of 32, scipy", 20.0, lambda: _batch(threads))
    for method in ("D", "FW"):
        make = functools.partial(_sparse, threads, method)
        yield Comparison(f"degree 4, n = 4096, scipy {method}", 1 / 1.2, make)
    for degree in (1.2, 4.0):
        for name, rival in (("numba", _reach_numba), ("scipy", _reach_scipy)):
            make = functools.partial(rival, threads, degree)
            yield Comparison(f"reachability, degree {degree}, n = 8192, {name}", 20.0, make)


def _against_numba(n: int, dtype: str, threads: int, bar: float) -> Comparison:
    def make() -> tuple[Contender, Contender]:
        w = dense(n, dtype)
        return ours(w, threads), numba(w, threads)

    return Comparison(f"dense {dtype}, n = {n}, numba", bar, make)


def _against_scipy(n: int, dtype: str, threads: int, bar: float) -> Comparison:
    def make() -> tuple[Contender, Contender]:
        w = dense(n, dtype)
        return ours(w, threads), scipy(w, "FW")

    return Comparison(f"dense {dtype}, n = {n}, scipy", bar, make)


def _with_predecessors(threads: int) -> tuple[Contender, Contender]:
    w = dense(2048)
    plain = ours(w, threads)
    return (
        ours(w, threads, return_predecessors=True),
        Contender("without", plain.call, plain.work, plain.context),
    )


def _batch(threads: int) -> tuple[Contender, Contender]:
    w = dense(32, "float64", (10_000,))
    return ours(w, threads), scipy(w, "FW")


def _sparse(threads: int, method: str) -> tuple[Contender, Contender]:
    graph = sparse(4096, 4)
    return ours(graph, threads), scipy(graph, method)


def _reach_numba(threads: int, degree: float) -> tuple[Contender, Contender]:
    there = reach(8192, degree)
    return our_reach(there, threads), numba_reach(there, threads)


def _reach_scipy(threads: int, degree: float) -> tuple[Contender, Contender]:
    there = reach(8192, degree)
    return our_reach(there, threads), scipy_reach(there)


def main() -> None:
    """Print every bar, and the ratio that was measured, with its quartiles."""
    for comparison in comparisons():
        try:
            pair = comparison.make()
        except AbsentError as absent:
            print(f"{comparison.case:<45} absent: {absent}")
            continue
        timings = interleave(pair, budget=Budget(rounds=7, seconds=4.0))
        ratio = timings.ratio(pair[0].name, pair[1].name)
        print(
            f"{comparison.case:<45}{ratio.median:>8.2f} ({ratio.low:.2f} to {ratio.high:.2f})"
            f"{comparison.bar:>8.2f}"
        )


if __name__ == "__main__":
    main()

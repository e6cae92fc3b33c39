"""Promises about uses of products: training, paths, sequences, products in PyTorch."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial

import tropical
from tropical import _core, graph
from tropical.bench import (
    choices,
    engines,
    factors,
    interop,
    measures,
    paths,
    searches,
    sequences,
    training,
)
from tropical.bench.bar import Bar, Pair, fastest
from tropical.bench.rivals import RIVALS
from tropical.measure import contenders


def bars() -> Iterator[Bar]:
    """Every bar, in the order of the table."""
    yield from _training()
    yield from _paths()
    yield from factors.bars()
    yield from engines.bars()
    yield from measures.bars()
    yield from searches.bars()
    yield from choices.bars()
    yield from _sequences()
    yield from _inside_torch()


def _training() -> Iterator[Bar]:
    def epochs(rival: str, batch: int, threads: int) -> Pair:
        make = partial(training.epoch, batch=batch, threads=threads)
        return make("tropical"), make(rival)

    def kernels(batch: int) -> Pair:  # few digits, because the scalar loop is slow
        make = partial(training.epoch, "tropical", batch)
        return make(kernel="packed"), make(kernel="naive", count=512)

    group, work = "training", float(training.OPERATIONS * training.DIGITS)
    promises = {
        "torch": {64: 0.65, 128: 0.75, 512: 0.92},
        "numpy": {64: 1.0, 128: 1.0, 512: 1.0},
        "jax": {128: 1.1},
    }
    for threads, (rival, by_batch) in itertools.product((1, 2), promises.items()):
        for batch, value in by_batch.items():
            case = f"time of an epoch over {rival}'s, batch {batch} threads={threads}"
            make = partial(epochs, rival, batch, threads)
            yield Bar(group, case, value, work, make, at_most=True)
    for batch in (64, 128, 512):
        yield Bar(group, f"packed over naive, batch {batch}", 50.0, work, partial(kernels, batch))

    def chains() -> Pair:
        return training.chain(), training.torch_chain()

    case = f"time of {training.CHAIN} small additions over torch's"
    yield Bar(group, case, 1.0, training.CHAIN, chains, at_most=True)


def _paths() -> Iterator[Bar]:
    cores = min(2, _core.config()["cores"])

    def dense(n: int, dtype: str, rival: str) -> Pair:
        w = paths.dense(n, dtype)
        if rival == "scipy":
            return paths.ours(w, cores), paths.scipy(w)
        makers = (partial(paths.numba, w, cores, in_turns=turns) for turns in (False, True))
        return paths.ours(w, cores), fastest(makers)

    group = "paths"
    promises = {
        (2048, "float32"): {"numba": 4.0, "scipy": 40.0},
        (2048, "float64"): {"numba": 3.5, "scipy": 20.0},
        (256, "float32"): {"numba": 1.5, "scipy": 10.0},
    }
    for (n, dtype), by_rival in promises.items():
        for rival, value in by_rival.items():
            case = f"all pairs, dense {dtype} {n}, over {rival}, threads={cores}"
            yield Bar(group, case, value, 40 * n**3, partial(dense, n, dtype, rival))

    def predecessors() -> Pair:
        w = paths.dense(2048)
        plain = replace(paths.ours(w, cores), name="plain")
        return paths.ours(w, cores, return_predecessors=True), plain

    def closure(n: int) -> Pair:
        w = paths.dense(n)
        call = partial(tropical.gemm, w, w, semiring="minplus")  # into new memory, as the closure
        gemm = replace(paths.ours(w, cores), name="gemm", call=call)
        return replace(paths.ours(w, cores), call=partial(graph.closure, w)), gemm

    def batch() -> Pair:
        w = paths.dense(32, "float64", (10_000,))
        return paths.ours(w, cores), paths.scipy(w)

    def sparse() -> Pair:
        graph = paths.sparse(4096, 4)
        makers = (partial(paths.scipy, graph, method) for method in ("D", "FW"))
        return paths.ours(graph, cores), fastest(makers)

    def reach(degree: float) -> Pair:
        there = paths.reach(8192, degree)
        makers = (partial(paths.numba_reach, there, cores), partial(paths.scipy_reach, there))
        return paths.our_reach(there, cores), fastest(makers)

    case = f"predecessors over plain, float32 2048, threads={cores}"
    yield Bar(group, case, 0.5, 4 * 2048**3, predecessors)
    for n in (1024, 2048):
        yield Bar(
            group,
            f"closure over gemm, float32 {n}, threads={cores}",
            0.75,
            2 * n**3,
            partial(closure, n),
        )
    case = f"10,000 graphs of 32, float64, over a loop of scipy's, threads={cores}"
    yield Bar(group, case, 20.0, 40 * 10_000 * 32**3, batch)
    case = f"time on 4,096 vertices of degree 4 over scipy's best, threads={cores}"
    yield Bar(group, case, 1.2, 4 * 4096**3, sparse, at_most=True)
    # With 1.2 edges a vertex few vertices are reachable, so a rival that skips the rest is fast.
    for degree, promise in {4.0: 20.0, 1.2: None}.items():
        case = f"reachability, n = 8192, degree {degree}, over scipy and numba, threads={cores}"
        yield Bar(group, case, promise, 4 * 8192**3, partial(reach, degree))


def _inside_torch() -> Iterator[Bar]:
    for threads in (1, 2):
        case = f"maxplus float32 512, forward and backward, over tropical-gemm's, threads={threads}"

        def pair(threads: int = threads) -> Pair:
            step = partial(interop.torch_step, threads=threads)
            return step("tropical"), step("tropical-gemm")

        yield Bar("inside PyTorch", case, 4.0, 6 * 512**3, pair)

    def logarithms() -> Pair:
        return interop.torch_step("tropical over logplus"), interop.torch_step("logsumexp")

    case = "logplus float32 512, forward and backward, over PyTorch's logsumexp"
    yield Bar("inside PyTorch", case, 5.0, 20 * 512**3, logarithms)


def _sequences() -> Iterator[Bar]:
    cores = min(2, _core.config()["cores"])

    def over_numba(dtype: str) -> Pair:
        a, b = contenders.operands(512, 512, 512, dtype)
        ours = contenders.ours(a, b, "logplus", threads=cores)
        return ours, RIVALS["numba"](a, b, "logplus", cores)

    def decoding(dtype: str) -> Pair:
        size = (64, 1000, 128, dtype)
        makers = (partial(sequences.numpy_viterbi, name, *size) for name in sequences.FORMULATIONS)
        return sequences.ours(*size, threads=cores), fastest(makers)

    group = "sequences"
    for dtype in ("float32", "float64"):
        case = f"logplus {dtype} 512 over numba's loop, threads={cores}"
        work = 20 * 512**3  # counts the exponentials: numba takes a second
        yield Bar(group, case, 5.0, work, partial(over_numba, dtype))
        case = f"viterbi {dtype}, 64 x 1,000 steps x 128 states, over NumPy, threads={cores}"
        yield Bar(group, case, 10.0, 2 * 64 * 1000 * 128**2, partial(decoding, dtype))
    yield from _chains()


def _chains() -> Iterator[Bar]:
    """Hidden Markov models beside hmmlearn."""

    def pair(method: str, observed: Callable[[], sequences.Observed]) -> Pair:
        return sequences.ours_of(method, observed()), sequences.hmmlearn(method, observed())

    def two_threads(states: int) -> Pair:
        observed = sequences.ragged_batch(states)
        make = partial(sequences.ours_of, "decode", observed)
        return make(threads=2), replace(make(), name="one thread")

    group = "chains"
    promises = {
        "decode": {2: 1.5, 8: 1.5, 64: 0.25, 256: 0.1},
        "score": {2: 1.5, 8: 1.5, 16: 1.0},
        "predict_proba": {2: 1.5, 8: 1.5, 16: 1.0},
    }
    for method, by_states in promises.items():
        for states, value in by_states.items():
            case = f"time over hmmlearn's {method}, {states} states, 20,000 steps"
            observed = partial(sequences.one_sequence, states)
            work = 40_000.0 * states**2
            yield Bar(group, case, value, work, partial(pair, method, observed), at_most=True)
    for states in (4, 32):
        observed = partial(sequences.ragged_batch, states)
        work = 600_000.0 * states**2
        for method in promises:
            case = f"over hmmlearn's {method}, 1,000 sequences, {states} states"
            yield Bar(group, case, 5.0, work, partial(pair, method, observed))
        case = f"two threads over one, 1,000 sequences, {states} states"
        yield Bar(group, case, 1.8, work, partial(two_threads, states))
    for states in (8, 64):
        case = f"time of the 5 best paths over the best, {states} states"
        make = partial(sequences.five_best, states)
        yield Bar(group, case, 6.0, 40_000.0 * states**2, make, at_most=True)
    for states in (32, 64, 128, 256):
        case = f"time of 100 samples over the forward pass, {states} states, 1,000 steps"
        make = partial(sequences.hundred_samples, states)
        yield Bar(group, case, 3.0, 8_000.0 * states**2, make, at_most=True)
    yield Bar(group, "viterbi, 10,000 states, 3 moves each, over the matrix", 50.0, 2e10, _sparse)


def _sparse() -> Pair:
    ours, dense = sequences.three_moves("decode", 10_000)
    return ours, dense

"""What is promised: every bar of the table, with the two contenders that it compares.

A bar is on the rate of the first contender over that of the second, or on the inverse (a ratio of
times) where the promise reads "at most". A figure needs no clock, and may be at most so large. Add
a promise here; `table` needs no change.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np

import tropical
from tropical import _core, graph
from tropical.bench import contenders, interop, paths, sequences, training
from tropical.bench.contenders import AbsentError
from tropical.bench.rivals import RIVALS
from tropical.bench.timing import Budget, Contender, interleave

__all__ = ["Bar", "Figure", "bars", "figures"]

Pair = tuple[Contender, Contender]


@dataclass(frozen=True)
class Bar:
    """One row of the table.

    Attributes
    ----------
    group, case : str
        What is compared, and on what.
    value : float or None
        The bar itself; None where a number is shown but nothing promised.
    work : float
        Scalar operations of one call of ours: `--quick` leaves out the largest.
    make : callable
        Returns ours and its reference; raises `contenders.AbsentError` if one cannot run here.
    at_most : bool
        The bar is on ours' time over the reference's, which must not exceed it.
    guarded : bool
        The reference is a ceiling, and also the guard of each round.
    mean : float or None
        A bar on the geometric mean of the whole group.
    """

    group: str
    case: str
    value: float | None
    work: float
    make: Callable[[], Pair]
    at_most: bool = False
    guarded: bool = False
    mean: float | None = None

    @property
    def name(self) -> str:
        """What `--rows` is matched with."""
        return f"{self.group}: {self.case}"


@dataclass(frozen=True)
class Figure:
    """One row of the table that is counted rather than timed.

    Attributes
    ----------
    group, case : str
        What is counted.
    value : float or None
        What it may be at most; None where a number is shown but nothing promised.
    count : callable
        Returns the number.
    """

    group: str
    case: str
    value: float | None
    count: Callable[[], float]

    @property
    def name(self) -> str:
        """What `--rows` is matched with."""
        return f"{self.group}: {self.case}"


def figures() -> Iterator[Figure]:
    """Every figure, in the order of the table."""
    group = "memory of training"
    for batch in (64, 128, 512):
        case = f"peak live bytes, plan over off, 20 layers, batch {batch}"
        yield Figure(group, case, 0.60, partial(training.peak_over_off, batch))
    for layers, hidden in {2: (256,), 20: training.DEEP}.items():
        case = f"allocations of the fourth step, {layers} layers"
        yield Figure(group, case, 0.0, partial(_allocations, hidden))
    yield Figure("extension", "size in MB", 6.0, _extension_size)


def _allocations(hidden: tuple[int, ...]) -> float:
    return training.memory("plan", hidden, steps=3).step_allocations


def _extension_size() -> float:
    return Path(_core.__file__).stat().st_size / 1e6


def bars() -> Iterator[Bar]:
    """Every bar, in the order of the table."""
    yield from _ceilings()
    yield from _layouts()
    yield from _numpy()
    yield from _blas()
    yield from _two_threads()
    yield from _argmax()
    yield from _small()
    yield from _rivals_at_small_sizes()
    yield from _switch_points()
    yield from _skinny()
    yield from _tropical_gemm()
    yield from _training()
    yield from _paths()
    yield from _sequences()
    yield from _inside_torch()


def _ceilings() -> Iterator[Bar]:
    def pair(semiring: str, dtype: str, n: int, isa: str | None = None) -> Pair:
        a, b = contenders.operands(n, n, n, dtype)
        return (
            contenders.ours(a, b, semiring, isa=isa),
            contenders.ceiling(semiring, dtype, isa=isa),
        )

    def bar(value: float | None, semiring: str, dtype: str, n: int, isa: str | None = None) -> Bar:
        case = f"{semiring} {dtype} {n}" + (f" {isa}" if isa else "")
        make = partial(pair, semiring, dtype, n, isa)
        return Bar("share of the ceiling", case, value, 2 * n**3, make, guarded=True)

    by_size = {64: 0.80, 128: 0.90, 256: 0.94, 512: 0.94, 1024: 0.94, 2048: 0.94, 4096: 0.94}
    for semiring in ("maxplus", "minplus"):
        for n, value in by_size.items():
            yield bar(value, semiring, "float32", n)
    for dtype in ("float64", "int32", "int64", "int16", "int8"):
        for semiring in ("maxplus", "minplus"):
            yield bar(0.90, semiring, dtype, 1024)
    yield bar(0.80, "orand", "bool", 512)
    for semiring in ("plustimes", "maxtimes", "maxmin", "minmax"):
        yield bar(None, semiring, "float32", 512)
    for semiring in ("maxplus", "minplus"):
        yield bar(0.92, semiring, "float32", 512, "avx2")


def _layouts() -> Iterator[Bar]:
    def pair(layout: str, n: int) -> Pair:
        a, b = contenders.operands(n, n, n)
        return (
            contenders.ours(*contenders.in_layout(layout, a, b), name=layout),
            contenders.ours(a, b, name="plain"),
        )

    for n in (512, 1024):
        for layout in list(contenders.LAYOUTS)[1:]:
            case = f"maxplus float32 {n} {layout}"
            yield Bar("layout over plain", case, 0.97, 2 * n**3, partial(pair, layout, n))


def _numpy() -> Iterator[Bar]:
    def pair(dtype: str, n: int, threads: int) -> Pair:
        a, b = contenders.operands(n, n, n, dtype)
        return (
            contenders.ours(a, b, "plustimes", threads=threads),
            contenders.numpy_matmul(a, b, threads=threads),
        )

    for dtype in ("float32", "float64"):
        for n in (128, 256, 512, 1024, 2048):
            for threads in (1, 2):
                case = f"plustimes {dtype} {n} threads={threads}"
                yield Bar("over NumPy", case, 0.90, 2 * n**3, partial(pair, dtype, n, threads))


def _fastest(candidates: Iterable[Callable[[], Contender]]) -> Contender:
    """Return the fastest of those who can take part, by a short run."""

    def invite(make: Callable[[], Contender]) -> Contender | AbsentError:
        try:
            return make()
        except AbsentError as reason:
            return reason

    invited = [invite(make) for make in candidates]
    taking_part = [guest for guest in invited if isinstance(guest, Contender)]
    if not taking_part:
        raise AbsentError("; ".join(map(str, invited)))
    timings = interleave(taking_part, budget=Budget(sample=1e-3, seconds=0.1, rounds=5))
    return max(taking_part, key=lambda contender: timings.rate(contender.name))


def _blas() -> Iterator[Bar]:
    def pair(dtype: str, n: int, threads: int) -> Pair:
        a, b = contenders.operands(n, n, n, dtype)
        rivals = (contenders.numpy_matmul, contenders.torch_matmul)
        return (
            contenders.ours(a, b, "plustimes", threads=threads),
            _fastest(partial(rival, a, b, threads=threads) for rival in rivals),
        )

    for dtype, threads in itertools.product(("float32", "float64"), (1, 2)):
        group = f"plustimes {dtype} over the better of NumPy and PyTorch, threads={threads}"
        for n in (64, 128, 256, 512, 1024, 2048, 4096):
            yield Bar(group, f"{n}", 0.90, 2 * n**3, partial(pair, dtype, n, threads), mean=1.0)


def _two_threads() -> Iterator[Bar]:
    def over_ceiling(n: int) -> Pair:
        a, b = contenders.operands(n, n, n)
        ceiling = contenders.ceiling("maxplus")
        return contenders.ours(a, b, threads=2), replace(ceiling, work=2 * ceiling.work)

    for n in (512, 1024, 2048, 4096):
        make = partial(over_ceiling, n)
        case = f"maxplus float32 {n}"
        yield Bar("share of twice the ceiling", case, 0.90, 2 * n**3, make, guarded=True)

    def pair(n: int) -> Pair:
        a, b = contenders.operands(n, n, n)
        return (
            contenders.ours(a, b, name="two threads", threads=2),
            contenders.ours(a, b, name="one thread"),
        )

    for n, value in {128: 1.3, 256: 1.6, 512: 1.8, 1024: 1.8, 2048: 1.8}.items():
        case = f"maxplus float32 {n}"
        yield Bar("two threads over one", case, value, 2 * n**3, partial(pair, n))


def _argmax() -> Iterator[Bar]:
    def over_plain(n: int) -> Pair:
        a, b = contenders.operands(n, n, n)
        return (
            contenders.ours(a, b, name="argmax", return_argmax=True),
            contenders.ours(a, b, name="plain"),
        )

    def over_tropical_gemm(n: int) -> Pair:
        a, b = contenders.operands(n, n, n)
        return (
            contenders.ours(a, b, return_argmax=True),
            contenders.tropical_gemm(a, b, return_argmax=True),
        )

    for n, value in {256: None, 1024: 0.75, 4096: 0.80}.items():
        case, make = f"maxplus float32 {n}", partial(over_plain, n)
        yield Bar("argmax over plain", case, value, 2 * n**3, make)
    for n in (64, 128, 256, 512, 1024):
        case, make = f"maxplus float32 {n}", partial(over_tropical_gemm, n)
        yield Bar("argmax over tropical-gemm's", case, 4.0, 2 * n**3, make)


def _small() -> Iterator[Bar]:
    def call() -> Pair:
        a, b = contenders.operands(8, 8, 8)
        work = contenders.operations(a, b)
        return (
            Contender("tropical", partial(tropical.gemm, a, b), work),
            Contender("numpy", partial(np.matmul, a, b), work),
        )

    def batch_ceiling() -> Pair:
        a, b = contenders.operands(32, 32, 32, batch=(1000,))
        return contenders.ours(a, b), contenders.ceiling("maxplus")

    def batch_tropical_gemm(return_argmax: bool) -> Pair:
        a, b = contenders.operands(16, 16, 16, batch=(1024,))
        return (
            contenders.ours(a, b, return_argmax=return_argmax),
            contenders.tropical_gemm(a, b),
        )

    group = "small"
    yield Bar(group, "time of gemm(a, b) over np.matmul(a, b), 8x8", 2.0, 1e3, call, at_most=True)
    case, work = "1000 of 32x32, share of the ceiling", 1000 * 2.0 * 32**3
    yield Bar(group, case, 0.45, work, batch_ceiling, guarded=True)
    case, work = "1024 of 16x16 over tropical-gemm", 1024 * 2.0 * 16**3
    yield Bar(group, case, 4.0, work, partial(batch_tropical_gemm, False))
    yield Bar(group, case + ", argmax both", None, work, partial(batch_tropical_gemm, True))


def _rivals_at_small_sizes() -> Iterator[Bar]:
    def pair(n: int) -> Pair:
        a, b = contenders.operands(n, n, n)
        rivals = ("numba", "tropical-gemm", "numpy-broadcast", "torch-broadcast")
        makers = (partial(RIVALS[name], a, b, "maxplus", 1) for name in rivals)
        return contenders.ours(a, b), _fastest(makers)

    for n in (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 40, 48):
        make = partial(pair, n)
        yield Bar("over the fastest rival", f"maxplus float32 {n}", 1.0, 2 * n**3, make)


def _switch_points() -> Iterator[Bar]:
    def pair(dtype: str, n: int) -> Pair:
        a, b = contenders.operands(n, n, n, dtype)
        cores = min(2, tropical.config.config()["cores"])

        def make(kernel: str, threads: int) -> Contender:
            name = f"{kernel} {threads}"
            forced = contenders.ours(a, b, name=name, kernel=kernel, threads=threads)
            return contenders.with_settings(forced, name, {"thread_share": 1024})

        every = itertools.product(("direct", "packed"), range(1, cores + 1))
        best = _fastest(partial(make, *choice) for choice in every)
        return contenders.ours(a, b, threads=cores), best

    for dtype, sizes in {
        "float32": (16, 32, 48, 64, 96, 128, 192, 256, 384, 512),
        "float64": (32, 64, 128, 256),
        "int32": (16, 32, 64, 128, 256),
    }.items():
        for n in sizes:
            case, make = f"maxplus {dtype} {n}", partial(pair, dtype, n)
            yield Bar("scheduler over the best choice", case, 0.95, 2 * n**3, make)


def _skinny() -> Iterator[Bar]:
    def over_max() -> Pair:
        a, b = contenders.operands(1, 4096, 4096)
        return replace(contenders.ours(a, b), work=b.nbytes), contenders.numpy_max(b)

    def over_numpy() -> Pair:
        a, b = contenders.operands(4096, 16, 4096)
        return contenders.ours(a, b), contenders.numpy_matmul(a, b)

    def over_torch() -> Pair:
        a, b = contenders.operands(16, 4096, 16)
        return contenders.ours(a, b), contenders.torch_matmul(a, b)

    group = "skinny"
    work = 2.0 * 4096 * 4096
    yield Bar(group, "1x4096 by 4096x4096, bytes of b over b.max()", 0.8, work, over_max)
    case = "4096x16 by 16x4096, time over NumPy's plus-times"
    yield Bar(group, case, 2.0, 16 * work, over_numpy, at_most=True)
    case, work = "16x4096 by 4096x16, time over PyTorch's plus-times", 2.0 * 16 * 16 * 4096
    yield Bar(group, case, 3.0, work, over_torch, at_most=True)


def _tropical_gemm() -> Iterator[Bar]:
    def pair(dtype: str, n: int) -> Pair:
        a, b = contenders.operands(n, n, n, dtype)
        return contenders.ours(a, b), contenders.tropical_gemm(a, b)

    for dtype, value in {"float32": 4.0, "float64": 4.0, "int32": 8.0, "int64": 4.0}.items():
        for n in (64, 128, 256, 512, 1024, 2048):
            case, make = f"maxplus {dtype} {n}", partial(pair, dtype, n)
            yield Bar("over tropical-gemm", case, value, 2 * n**3, make)


def _training() -> Iterator[Bar]:
    def epochs(rival: str, batch: int, threads: int) -> Pair:
        make = partial(training.epoch, batch=batch, threads=threads)
        return make("tropical"), make(rival)

    def kernels(batch: int) -> Pair:  # the scalar loop takes long: it learns from fewer digits
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
        return paths.ours(w, cores), paths.numba(w, cores) if rival == "numba" else paths.scipy(w)

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
        return paths.ours(graph, cores), _fastest(makers)

    def reach(degree: float) -> Pair:
        there = paths.reach(8192, degree)
        makers = (partial(paths.numba_reach, there, cores), partial(paths.scipy_reach, there))
        return paths.our_reach(there, cores), _fastest(makers)

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
    # With 1.2 edges a vertex hardly anything can be reached, and whoever skips that does little.
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


def _sequences() -> Iterator[Bar]:
    cores = min(2, _core.config()["cores"])

    def over_numba(dtype: str) -> Pair:
        a, b = contenders.operands(512, 512, 512, dtype)
        ours = contenders.ours(a, b, "logplus", threads=cores)
        return ours, RIVALS["numba"](a, b, "logplus", cores)

    def decoding(dtype: str) -> Pair:
        size = (64, 1000, 128, dtype)
        makers = (partial(sequences.numpy_viterbi, name, *size) for name in sequences.FORMULATIONS)
        return sequences.ours(*size, threads=cores), _fastest(makers)

    group = "sequences"
    for dtype in ("float32", "float64"):
        case = f"logplus {dtype} 512 over numba's loop, threads={cores}"
        work = 20 * 512**3  # its exponentials too: numba takes a second
        yield Bar(group, case, 5.0, work, partial(over_numba, dtype))
        case = f"viterbi {dtype}, 64 x 1,000 steps x 128 states, over NumPy, threads={cores}"
        yield Bar(group, case, 10.0, 2 * 64 * 1000 * 128**2, partial(decoding, dtype))

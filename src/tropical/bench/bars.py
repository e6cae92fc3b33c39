"""What is promised: every bar of the table, with the two contenders that it compares.

A bar is on the rate of the first contender over that of the second, or on the inverse (a ratio of
times) where the promise reads "at most". A figure needs no clock, and may be at most so large. Add
a promise here, or to `bars_of_uses` if it is of what stands on the products; `table` needs no
change.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

import tropical
from tropical import _core
from tropical.bench import bars_of_uses, contenders, training
from tropical.bench.bar import Bar, Figure, Pair, fastest
from tropical.bench.rivals import RIVALS
from tropical.bench.timing import Contender

__all__ = ["bars", "figures"]


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
    yield from bars_of_uses.bars()


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


def _blas() -> Iterator[Bar]:
    def pair(dtype: str, n: int, threads: int) -> Pair:
        a, b = contenders.operands(n, n, n, dtype)
        rivals = (contenders.numpy_matmul, contenders.torch_matmul)
        return (
            contenders.ours(a, b, "plustimes", threads=threads),
            fastest(partial(rival, a, b, threads=threads) for rival in rivals),
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
        return contenders.ours(a, b), fastest(makers)

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
        best = fastest(partial(make, *choice) for choice in every)
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

"""Every promise of the table, with the two contenders that it compares.

A promise is on the rate of the first contender over the rate of the second. If it says "at most",
it is on the inverse, a ratio of times. A figure is counted, and has an upper limit. Add a promise
about products here, and any other promise to `bars_of_uses`; `table` needs no change.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import tropical
from tropical import _core
from tropical.bench import bars_of_uses, measures, training
from tropical.bench.bar import Bar, Figure, Pair, fastest
from tropical.bench.rivals import (
    RIVALS,
    Array,
    numpy_matmul,
    numpy_max,
    torch_matmul,
    tropical_gemm,
)
from tropical.measure import contenders
from tropical.measure.timing import Contender

FLOATS = ("float32", "float64")


def figures() -> Iterator[Figure]:
    """Every figure, in the order of the table."""
    group = "memory of training"
    for batch in (64, 128, 512):
        case = f"peak live bytes, pool over off, 20 layers, batch {batch}"
        yield Figure(group, case, 0.60, partial(training.peak_over_off, batch))
    for layers, hidden in {2: (256,), 20: training.DEEP}.items():
        case = f"allocations of the fourth step, {layers} layers"
        yield Figure(group, case, 0.0, partial(_allocations, hidden))
    yield from measures.figures()
    yield Figure("extension", "size in MB", 6.0, _extension_size)


def _allocations(hidden: tuple[int, ...]) -> float:
    return training.memory("pool", hidden, steps=3).step_allocations


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


def _over(
    group: str,
    case: str,
    value: float | None,
    shape: tuple[int, int, int],
    rival: Callable[[Array, Array], Contender],
    semiring: str = "maxplus",
    dtype: str = "float32",
    **options: Any,
) -> Bar:
    """Return the bar of our product of (m, k) by (k, n) over the rival's; `shape` is (m, k, n)."""

    def pair() -> Pair:
        a, b = contenders.operands(*shape, dtype)
        return contenders.ours(a, b, semiring, **options), rival(a, b)

    return Bar(group, case, value, 2.0 * math.prod(shape), pair)


def _ceilings() -> Iterator[Bar]:
    def bar(value: float | None, semiring: str, dtype: str, n: int, isa: str | None = None) -> Bar:
        case = f"{semiring} {dtype} {n}" + (f" {isa}" if isa else "")

        def ceiling(a: Array, b: Array) -> Contender:
            return contenders.ceiling(semiring, dtype, isa=isa)

        group = "share of the ceiling"
        over = _over(group, case, value, (n, n, n), ceiling, semiring, dtype, isa=isa)
        return replace(over, guarded=True)

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
    for dtype, n, threads in itertools.product(FLOATS, (128, 256, 512, 1024, 2048), (1, 2)):
        case = f"plustimes {dtype} {n} threads={threads}"
        rival = partial(numpy_matmul, threads=threads)
        shape = n, n, n
        yield _over("over NumPy", case, 0.90, shape, rival, "plustimes", dtype, threads=threads)


def _blas() -> Iterator[Bar]:
    def better(a: Array, b: Array, threads: int) -> Contender:
        rivals = (numpy_matmul, torch_matmul)
        return fastest(partial(rival, a, b, threads=threads) for rival in rivals)

    for dtype, threads in itertools.product(FLOATS, (1, 2)):
        group = f"plustimes {dtype} over the better of NumPy and PyTorch, threads={threads}"
        rival = partial(better, threads=threads)
        for n in (64, 128, 256, 512, 1024, 2048, 4096):
            shape = n, n, n
            bar = _over(group, f"{n}", 0.90, shape, rival, "plustimes", dtype, threads=threads)
            yield replace(bar, mean=1.0)


def _two_threads() -> Iterator[Bar]:
    def twice_the_ceiling(a: Array, b: Array) -> Contender:
        ceiling = contenders.ceiling("maxplus")
        return replace(ceiling, work=2 * ceiling.work)

    group = "share of twice the ceiling"
    for n in (512, 1024, 2048, 4096):
        case = f"maxplus float32 {n}"
        bar = _over(group, case, 0.90, (n, n, n), twice_the_ceiling, threads=2)
        yield replace(bar, guarded=True)

    group, one = "two threads over one", partial(contenders.ours, name="one thread")
    for n, value in {128: 1.3, 256: 1.6, 512: 1.8, 1024: 1.8, 2048: 1.8}.items():
        case = f"maxplus float32 {n}"
        yield _over(group, case, value, (n, n, n), one, name="two threads", threads=2)


def _argmax() -> Iterator[Bar]:
    argmax: dict[str, Any] = {"name": "argmax", "return_argmax": True}
    plain = partial(contenders.ours, name="plain")
    for n, value in {256: None, 1024: 0.75, 4096: 0.80}.items():
        case = f"maxplus float32 {n}"
        yield _over("argmax over plain", case, value, (n, n, n), plain, **argmax)
    rival = partial(tropical_gemm, return_argmax=True)
    for n in (64, 128, 256, 512, 1024):
        case = f"maxplus float32 {n}"
        group = "argmax over tropical-gemm's"
        yield _over(group, case, 4.0, (n, n, n), rival, return_argmax=True)


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
        return contenders.ours(a, b, return_argmax=return_argmax), tropical_gemm(a, b)

    group = "small"
    yield Bar(group, "time of gemm(a, b) over np.matmul(a, b), 8x8", 2.0, 1e3, call, at_most=True)
    case, work = "1000 of 32x32, share of the ceiling", 1000 * 2.0 * 32**3
    yield Bar(group, case, 0.45, work, batch_ceiling, guarded=True)
    case, work = "1024 of 16x16 over tropical-gemm", 1024 * 2.0 * 16**3
    yield Bar(group, case, 4.0, work, partial(batch_tropical_gemm, False))
    yield Bar(group, case + ", argmax both", None, work, partial(batch_tropical_gemm, True))


def _rivals_at_small_sizes() -> Iterator[Bar]:
    def rival(a: Array, b: Array) -> Contender:
        names = ("numba", "tropical-gemm", "numpy-broadcast", "torch-broadcast")
        return fastest(partial(RIVALS[name], a, b, "maxplus", 1) for name in names)

    for n in (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 40, 48):
        yield _over("over the fastest rival", f"maxplus float32 {n}", 1.0, (n, n, n), rival)


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
        return replace(contenders.ours(a, b), work=b.nbytes), numpy_max(b)

    group, case = "skinny", "1x4096 by 4096x4096, bytes of b over b.max()"
    yield Bar(group, case, 0.8, 2.0 * 4096 * 4096, over_max)
    case = "4096x16 by 16x4096, time over NumPy's plus-times"
    yield replace(_over(group, case, 2.0, (4096, 16, 4096), numpy_matmul), at_most=True)
    case = "16x4096 by 4096x16, time over PyTorch's plus-times"
    yield replace(_over(group, case, 3.0, (16, 4096, 16), torch_matmul), at_most=True)


def _tropical_gemm() -> Iterator[Bar]:
    for dtype, value in {"float32": 4.0, "float64": 4.0, "int32": 8.0, "int64": 4.0}.items():
        for n in (64, 128, 256, 512, 1024, 2048):
            case = f"maxplus {dtype} {n}"
            yield _over("over tropical-gemm", case, value, (n, n, n), tropical_gemm, dtype=dtype)

"""What is promised: every bar of the table, with the two contenders that it compares.

A bar is on the rate of the first contender over that of the second, or on the inverse (a ratio of
times) where the promise reads "at most". Add a promise here; `table` needs no change.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

import tropical
from tropical.bench import contenders
from tropical.bench.timing import Contender

__all__ = ["Bar", "bars"]

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
    """

    group: str
    case: str
    value: float | None
    work: float
    make: Callable[[], Pair]
    at_most: bool = False
    guarded: bool = False

    @property
    def name(self) -> str:
        """What `--rows` is matched with."""
        return f"{self.group}: {self.case}"


def bars() -> Iterator[Bar]:
    """Every bar, in the order of the table."""
    yield from _ceilings()
    yield from _layouts()
    yield from _numpy()
    yield from _two_threads()
    yield from _argmax()
    yield from _small()
    yield from _skinny()
    yield from _tropical_gemm()


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

    by_size = {64: 0.75, 128: 0.85, 256: 0.90, 512: 0.90, 1024: 0.88, 2048: 0.88}
    for semiring in ("maxplus", "minplus"):
        for n, value in by_size.items():
            yield bar(value, semiring, "float32", n)
    for dtype in ("float64", "int32", "int64", "int16", "int8"):
        for semiring in ("maxplus", "minplus"):
            yield bar(0.80, semiring, dtype, 512)
    yield bar(0.80, "orand", "bool", 512)
    for semiring in ("plustimes", "maxtimes", "maxmin", "minmax"):
        yield bar(None, semiring, "float32", 512)
    for semiring in ("maxplus", "minplus"):
        yield bar(0.85, semiring, "float32", 512, "avx2")


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


def _two_threads() -> Iterator[Bar]:
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

    case = "maxplus float32 1024"
    yield Bar("argmax over plain", case, 0.60, 2 * 1024**3, partial(over_plain, 1024))
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

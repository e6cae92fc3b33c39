"""Square products: semirings and dtypes, sizes, threads, layouts, distance from the ceiling."""

from __future__ import annotations

import numpy as np

import tropical
from tropical.measure import contenders

from .common import Call, sizes, times_ceiling

SEMIRINGS = ["plustimes", "maxplus", "minplus", "maxtimes", "maxmin", "minmax"]
DTYPES = ["float32", "float64", "int8", "int16", "int32", "int64"]
INSTANCES = [f"{semiring} {dtype}" for semiring in SEMIRINGS for dtype in DTYPES]
INSTANCES += ["orand bool", "logplus float32", "logplus float64"]


class Instances(Call):
    """Every semiring with every dtype, at a size whose operands fit into L2."""

    params = (INSTANCES,)
    param_names = ("instance",)
    time_gemm = Call.run

    def setup(self, instance: str) -> None:
        semiring, dtype = instance.split()
        self.prepare(contenders.ours, *contenders.operands(256, 256, 256, dtype), semiring)


class Sizes(Call):
    params = (
        ["plustimes", "maxplus"],
        sizes([64, 128, 256, 512, 1024, 2048], quick=[64, 512]),
        [1, 2],
    )
    param_names = ("semiring", "n", "threads")

    def setup(self, semiring: str, n: int, threads: int) -> None:
        a, b = contenders.operands(n, n, n)
        self.prepare(contenders.ours, a, b, semiring, threads=threads)

    def time_gemm(self, *_: object) -> None:
        self.call()


class Layouts(Call):
    params = (list(contenders.LAYOUTS), [512, 1024])
    param_names = ("layout", "n")
    time_gemm = Call.run

    def setup(self, layout: str, n: int) -> None:
        a, b = contenders.in_layout(layout, *contenders.operands(n, n, n))
        self.prepare(contenders.ours, a, b)


class Between:
    """`out` is columns of the array of which `a` is others, and columns of an array of its own."""

    params = (["1000 8 1000", "300 300 300"], ["of the operand's array", "apart"])
    param_names = ("m k n", "out")

    def setup(self, shape: str, place: str) -> None:
        m, k, n = map(int, shape.split())
        a, self.b = contenders.operands(m, k, n)
        memory = np.ones((m, k + n), np.float32)
        self.a = memory[:, :k]
        self.a[...] = a
        self.out = memory[:, k:] if place != "apart" else memory.copy()[:, k:]

    def time_gemm(self, *_: object) -> None:
        tropical.gemm(self.a, self.b, out=self.out)


class CeilingBySize:
    params = (
        ["maxplus", "minplus", "plustimes"],
        sizes([64, 128, 256, 512, 1024], quick=[64, 512]),
    )
    param_names = ("semiring", "n")
    unit = "times the ceiling's time"

    def track_times_ceiling(self, semiring: str, n: int) -> float:
        ours = contenders.ours(*contenders.operands(n, n, n), semiring)
        return times_ceiling(ours, contenders.ceiling(semiring))


class CeilingByInstance:
    params = (INSTANCES,)
    param_names = ("instance",)
    unit = "times the ceiling's time"

    def track_times_ceiling(self, instance: str) -> float:
        semiring, dtype = instance.split()
        ours = contenders.ours(*contenders.operands(512, 512, 512, dtype), semiring)
        return times_ceiling(ours, contenders.ceiling(semiring, dtype))

"""Skinny products, in which memory is the limit: a vector, a small k, a small m and n."""

from __future__ import annotations

from tropical.measure import contenders

from .common import Call

SHAPES = ["1 4096 4096", "4096 4096 1", "4096 16 4096", "16 4096 16", "4096 8 8", "8 8 4096"]


class Skinny(Call):
    params = (["maxplus", "plustimes"], SHAPES, [1, 2])
    param_names = ("semiring", "m k n", "threads")

    def setup(self, semiring: str, shape: str, threads: int) -> None:
        m, k, n = map(int, shape.split())
        a, b = contenders.operands(m, k, n)
        self.prepare(contenders.ours, a, b, semiring, threads=threads)

    def time_gemm(self, *_: object) -> None:
        self.call()


class NarrowBits(Call):
    params = ([16, 256, 257],)
    param_names = ("n",)

    def setup(self, n: int) -> None:
        self.prepare(contenders.ours, *contenders.operands(2048, 1024, n, "bool"), "orand")

    def time_gemm(self, *_: object) -> None:
        self.call()

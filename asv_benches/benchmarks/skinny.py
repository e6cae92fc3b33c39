"""Skinny products, in which memory is the limit: a vector, a small k, a small m and n."""

from __future__ import annotations

from tropical.measure import contenders

from .common import Call

SHAPES = ["1 4096 4096", "4096 4096 1", "4096 16 4096", "16 4096 16", "4096 8 8", "8 8 4096"]


class Skinny(Call):
    params = (["maxplus", "plustimes"], SHAPES, [1, 2])
    param_names = ("semiring", "m k n", "threads")
    time_gemm = Call.run

    def setup(self, semiring: str, shape: str, threads: int) -> None:
        m, k, n = map(int, shape.split())
        a, b = contenders.operands(m, k, n)
        self.prepare(contenders.ours, a, b, semiring, threads=threads)


class Strided(Call):
    """A dot product, a matrix times a vector, a vector times a matrix: of every second element."""

    params = (["int8", "float32", "float64"], ["1 100000 1", "1000 1000 1", "1 1000 1000"])
    param_names = ("dtype", "m k n")
    time_gemm = Call.run

    def setup(self, dtype: str, shape: str) -> None:
        m, k, n = map(int, shape.split())
        a, b = contenders.operands(2 * m, 2 * k, 2 * n, dtype)
        self.prepare(contenders.ours, a[::2, ::2], b[::2, ::2], "maxplus")


class RightHandSides(Call):
    """A matrix of bytes whose rows are short, and few right-hand sides."""

    params = (["int8", "bool"], [100, 1000], [1, 2, 4])
    param_names = ("dtype", "k", "n")
    time_gemm = Call.run

    def setup(self, dtype: str, k: int, n: int) -> None:
        semiring = "orand" if dtype == "bool" else "maxplus"
        self.prepare(contenders.ours, *contenders.operands(1000, k, n, dtype), semiring)


class LongSums(Call):
    """Few sums of many terms."""

    params = (["plustimes", "logplus"], ["float32", "float64"], ["1 1", "2 2", "4 4", "8 8"])
    param_names = ("semiring", "dtype", "m n")
    time_gemm = Call.run

    def setup(self, semiring: str, dtype: str, sums: str) -> None:
        m, n = map(int, sums.split())
        self.prepare(contenders.ours, *contenders.operands(m, 100_000, n, dtype), semiring)


class FewRowsAndColumns(Call):
    """What packing would take longer than the product for."""

    params = (["float32", "float64"], ["8 700 700", "700 700 8", "32 10000 32", "4096 16 4"])
    param_names = ("dtype", "m k n")
    time_gemm = Call.run

    def setup(self, dtype: str, shape: str) -> None:
        m, k, n = map(int, shape.split())
        self.prepare(contenders.ours, *contenders.operands(m, k, n, dtype), "plustimes")


class NarrowBits(Call):
    params = ([16, 256, 257],)
    param_names = ("n",)
    time_gemm = Call.run

    def setup(self, n: int) -> None:
        self.prepare(contenders.ours, *contenders.operands(2048, 1024, n, "bool"), "orand")

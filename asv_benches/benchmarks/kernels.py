"""The kernels that a user can choose, and what the scheduler chooses, on the same products."""

from __future__ import annotations

from tropical.measure import contenders
from tropical.measure.timing import Budget, interleave

from .common import Call

# The scalar kernels are a hundred times slower than the vector ones: they stop at smaller sizes.
CASES = {"naive": 256, "tiled": 512, "direct": 1024, "packed": 1024, "scheduler": 1024}


class Kernels(Call):
    params = (
        [
            f"{kernel} {n}"
            for n in (8, 32, 64, 256, 512, 1024)
            for kernel in CASES
            if n <= CASES[kernel]
        ],
        [1, 2],
    )
    param_names = ("kernel n", "threads")

    def setup(self, case: str, threads: int) -> None:
        kernel, n = case.split()
        a, b = contenders.operands(int(n), int(n), int(n))
        choice = None if kernel == "scheduler" else kernel
        self.prepare(contenders.ours, a, b, kernel=choice, threads=threads)

    def time_gemm(self, *_: object) -> None:
        self.call()


class Strassen:
    """The time of the kernel ``strassen`` over that of ``packed``, on one thread."""

    params = (["float32", "float64"], [2048, 4096], [1, 2])
    param_names = ("dtype", "n", "halvings")
    unit = "times the time of packed"

    def track_times_packed(self, dtype: str, n: int, halvings: int) -> float:
        a, b = contenders.operands(n, n, n, dtype)
        packed, strassen = (
            contenders.ours(a, b, "plustimes", name=kernel, kernel=kernel)
            for kernel in ("packed", "strassen")
        )
        halved = contenders.with_settings(strassen, "strassen", {"strassen_side": n >> halvings})
        timings = interleave([packed, halved], budget=Budget(seconds=5, rounds=20, least_rounds=3))
        return 1 / timings.ratio("strassen", "packed").median

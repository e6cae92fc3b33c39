"""The kernels that a user can choose, and what the scheduler chooses, on the same products."""

from __future__ import annotations

from tropical.measure import contenders

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

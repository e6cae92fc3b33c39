"""The kernels that a user can choose, and what the scheduler chooses, on the same products."""

from __future__ import annotations

import functools
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

import tropical
from tropical.measure import contenders
from tropical.measure.timing import Contender, interleave

from .common import BUDGET, Call, sizes

if TYPE_CHECKING:
    from collections.abc import Callable

# The scalar kernels are a hundred times slower than the vector ones: they stop at smaller sizes.
CASES = {"naive": 256, "tiled": 512, "direct": 1024, "packed": 1024, "scheduler": 1024}


class Kernels(Call):
    params = (
        [
            f"{kernel} {n}"
            for n in sizes([8, 32, 64, 256, 512, 1024], quick=[8, 64])
            for kernel in CASES
            if n <= CASES[kernel]
        ],
        [1, 2],
    )
    param_names = ("kernel n", "threads")
    time_gemm = Call.run

    def setup(self, case: str, threads: int) -> None:
        kernel, n = case.split()
        a, b = contenders.operands(int(n), int(n), int(n))
        choice = None if kernel == "scheduler" else kernel
        self.prepare(contenders.ours, a, b, kernel=choice, threads=threads)


class Strassen:
    """The time of the kernel ``strassen`` over that of ``packed``, on one thread."""

    params = (["float32", "float64"], sizes([2048, 4096], quick=[512]), [1, 2])
    param_names = ("dtype", "n", "halvings")
    unit = "times the time of packed"

    def track_times_packed(self, dtype: str, n: int, halvings: int) -> float:
        a, b = contenders.operands(n, n, n, dtype)
        packed, strassen = (
            contenders.ours(a, b, "plustimes", name=kernel, kernel=kernel)
            for kernel in ("packed", "strassen")
        )
        halved = contenders.with_settings(strassen, "strassen", {"strassen_side": n >> halvings})
        budget = replace(BUDGET, seconds=5 * BUDGET.seconds, rounds=20)
        timings = interleave([packed, halved], budget=budget)
        return 1 / timings.ratio("strassen", "packed").median


class Epilogues:
    """The time of a product and NumPy's operations on it, over that of one with an epilogue.

    The mask and the symmetric result: of the whole product, over that of the triangle.
    """

    params = (
        ["bias relu", "four operations", "gelu", "lower", "symmetric"],
        sizes(
            ["128 784 256", "1024 64 1024", "1024 256 1024", "2048 2048 2048"], quick=["9 64 32"]
        ),
    )
    param_names = ("epilogue", "m k n")
    unit = "times the time with the epilogue"

    def track_times_with_epilogue(self, which: str, shape: str) -> float:
        m, k, n = map(int, shape.split())
        n = m if which == "symmetric" else n
        a, b = contenders.operands(m, k, n)
        product = functools.partial(
            tropical.gemm, a, b, semiring="plustimes", threads=1, out=np.empty((m, n), a.dtype)
        )
        epilogue, after = some_epilogue(which, m, n)
        timings = interleave(
            [
                Contender("apart", lambda: after(product()), work=1),
                Contender("fused", lambda: product(epilogue=epilogue), work=1),
            ],
            budget=replace(BUDGET, seconds=5 * BUDGET.seconds, rounds=40),
        )
        return timings.ratio("fused", "apart").median


def some_epilogue(which: str, m: int, n: int) -> tuple[tropical.Epilogue, Callable[[Any], Any]]:
    """Return an epilogue, and NumPy's operations, in place, that do the same to a product."""
    bias, residual = (np.random.default_rng(i).random(s, "f4") for i, s in enumerate([n, (m, n)]))
    half = np.float32(0.5)

    def add_and_cut(c: Any) -> None:
        c += bias
        np.maximum(c, 0, out=c)

    def add_all(c: Any) -> None:
        c *= half
        c += residual
        add_and_cut(c)

    many = {"bias": bias, "activation": "relu"}
    return {
        "bias relu": (tropical.Epilogue(**many), add_and_cut),
        "four operations": (tropical.Epilogue(scale=half, residual=residual, **many), add_all),
        "gelu": (tropical.Epilogue(activation="gelu"), tropical.autograd.gelu),
        "lower": (tropical.Epilogue(mask="lower"), lambda c: c),
        "symmetric": (tropical.Epilogue(symmetric=True), lambda c: c),
    }[which]

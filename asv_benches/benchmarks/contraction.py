"""einsum: beside the product that it is, and a network of many small operands."""

from __future__ import annotations

from functools import partial

import numpy as np

import tropical
from tropical.examples import spin_glass
from tropical.measure import contenders
from tropical.measure.timing import Contender, interleave

from . import common

# As gemm has them; with axes to be put in order; with a batch inside; element by element.
TEXTS = ["ab,bc->ac", "abcd,ecbd->ae", "abc,adc->bdac", "abc,abc->abc"]


def ours(text: str, size: int, **options: object) -> Contender:
    inputs, _ = text.split("->")
    rng = np.random.default_rng(0)
    arrays = [
        rng.random((round(size ** (2 / len(term))),) * len(term), dtype=np.float32)
        for term in inputs.split(",")
    ]
    call = partial(tropical.einsum, text, *arrays, **options)
    return common.alone("einsum", call)


class Pairs(common.Call):
    params = (TEXTS, [16, 256])
    param_names = ("subscripts", "n")
    time_einsum = common.Call.run

    def setup(self, text: str, n: int) -> None:
        self.prepare(ours, text, n)


class TimesProduct:
    params = ([16, 256, 1024],)
    param_names = ("n",)
    unit = "times the product's time"

    def track_times_product(self, n: int) -> float:
        product = contenders.ours(*contenders.operands(n, n, n), "maxplus", name="product")
        timings = interleave([product, ours(TEXTS[0], n)], budget=common.BUDGET)
        return timings.ratio("product", "einsum").median


class Counts:
    params = ([2, 32],)
    param_names = ("k",)

    def setup(self, k: int) -> None:
        rng = np.random.default_rng(0)
        a, b = rng.integers(0, 9, (2, k)), rng.integers(0, 9, (k, 1 << 15))
        self.call = partial(tropical.einsum, "ij,jk", a, b, return_counts=True)
        self.call()

    def time_counts(self, k: int) -> None:
        self.call()


class SpinGlass:
    """180 operands, of 2 x 2: the steps are small, so this is what a step costs."""

    def setup(self) -> None:
        self.lattice = spin_glass.glass(10, 10)

    def time_solve(self) -> None:
        spin_glass.solve(self.lattice)

"""Products and closures of float16 beside those of float32, which take twice the memory."""

from __future__ import annotations

import numpy as np

import tropical
from tropical.graph import closure
from tropical.measure import contenders
from tropical.measure.timing import Contender, interleave

from . import common


class Product:
    params = (["maxplus", "maxtimes"], [64, 256, 1024], [False, True])
    param_names = ("semiring", "n", "return_argmax")
    unit = "times the time of float32"

    def track_times_float32(self, semiring: str, n: int, return_argmax: bool) -> float:
        rng = np.random.default_rng(0)
        half = [rng.random((n, n)).astype(np.float16) for _ in "ab"]
        single = [x.astype(np.float32) for x in half]
        options = {"semiring": semiring, "threads": 1, "return_argmax": return_argmax}
        stored = contenders.ours(*half, name="float16", **options)
        wide = contenders.ours(*single, name="float32", **options)
        return interleave([stored, wide], budget=common.BUDGET).ratio("float32", "float16").median


class Closure:
    params = ([64, 512, 1024],)
    param_names = ("n",)
    unit = "times the time of float32"

    def track_times_float32(self, n: int) -> float:
        lengths = np.random.default_rng(0).integers(1, 1000, (n, n))

        def contender(dtype: str) -> Contender:
            matrix = lengths.astype(dtype)
            return Contender(dtype, lambda: closure(matrix), work=1.0)

        both = [contender("float16"), contender("float32")]
        with tropical.options(threads=1):
            return interleave(both, budget=common.BUDGET).ratio("float32", "float16").median

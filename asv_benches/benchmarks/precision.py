"""Products in pieces of bfloat16: times of float32's products."""

from __future__ import annotations

from functools import partial

import numpy as np

import tropical
from tropical.measure.timing import interleave

from . import common


class TimesFloat:
    """The time of a product in pieces over that of the same product in float32."""

    params = (["bf16", "bf16x3", "bf16x6"], [64, 256, 1024, 2048])
    param_names = ("precision", "n")
    unit = "times the time of float32"

    def track_times_float32(self, precision: str, n: int) -> float:
        rng = np.random.default_rng(0)
        a, b = (rng.uniform(-1, 1, (n, n)).astype(np.float32) for _ in "ab")
        out = np.empty_like(a)
        multiply = partial(tropical.gemm, a, b, semiring="plustimes", out=out)
        contenders = [
            common.alone(name, partial(multiply, precision=name)) for name in (precision, "float32")
        ]
        return 1 / interleave(contenders, budget=common.BUDGET).ratio(precision, "float32").median

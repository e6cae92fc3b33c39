"""What NaN in an operand costs beside the same product without NaN."""

from __future__ import annotations

import numpy as np

from tropical.measure import contenders
from tropical.measure.timing import interleave

from . import common

# (batch) m k n: a dot product, a matrix and a vector, few and many small matrices, packed operands.
SHAPES = common.sizes(
    [
        "1 100000 1",
        "4096 4096 1",
        "1 4096 4096",
        "16 16 16",
        "1000 16 16 16",
        "300 300 300",
        "1024 1024 1024",
    ],
    quick=["16 16 16"],
)


class OneNaN:
    params = (SHAPES, ["float32", "float64"], ["a", "b"], [1, 2], [False, True])
    param_names = ("(batch) m k n", "dtype", "operand", "threads", "return_argmax")
    unit = "times the time without NaN"

    def track_times_plain(
        self, shape: str, dtype: str, operand: str, threads: int, return_argmax: bool
    ) -> float:
        *batch, m, k, n = map(int, shape.split())
        a, b = contenders.operands(m, k, n, dtype, batch=tuple(batch))
        x, y = a.copy(), b.copy()
        spoiled = x if operand == "a" else y
        spoiled.flat[spoiled.size // 2 + 3] = np.nan
        options = {"threads": threads, "return_argmax": return_argmax}
        with common.skipped_if_absent():
            plain = contenders.ours(a, b, name="plain", **options)
            nan = contenders.ours(x, y, name="one NaN", **options)
        timings = interleave([plain, nan], budget=common.BUDGET)
        return timings.ratio("plain", "one NaN").median


class NaNInEachItem:
    """One NaN in each matrix of a batch of small ones."""

    params = (
        common.sizes(["3 3 3", "31 1 1", "4 4 4", "1 31 1", "16 16 16"], quick=["3 3 3"]),
        ["float32", "float64"],
        [False, True],
    )
    param_names = ("m k n", "dtype", "return_argmax")
    unit = "times the time without NaN"

    def track_times_plain(self, shape: str, dtype: str, return_argmax: bool) -> float:
        m, k, n = map(int, shape.split())
        a, b = contenders.operands(m, k, n, dtype, batch=(1000,))
        x = a.copy()
        x[:, m // 2, k // 2] = np.nan
        options = {"threads": 1, "return_argmax": return_argmax}
        plain = contenders.ours(a, b, name="plain", **options)
        nan = contenders.ours(x, b, name="NaN", **options)
        return interleave([plain, nan], budget=common.BUDGET).ratio("plain", "NaN").median

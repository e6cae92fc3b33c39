"""What integers beyond the optimistic range cost beside the same product within this range."""

from __future__ import annotations

import numpy as np

from tropical.measure import contenders
from tropical.measure.timing import interleave

from . import common

# (batch) m k n: vectors, a matrix and a vector, small matrices, and packed operands.
SHAPES = common.sizes(
    ["1 100000 1", "2048 2048 1", "1 2048 2048", "1000 16 16 16", "256 256 256", "1024 1024 1024"],
    quick=["64 64 64"],
)


class BeyondRange:
    params = (
        SHAPES,
        ["minplus", "mintimes"],
        ["int8", "int16", "int32", "int64"],
        ["all", "no edge"],
        [False, True],
    )
    param_names = ("(batch) m k n", "semiring", "dtype", "values", "return_argmax")
    unit = "times the time within the range"

    def track_times_within(
        self, shape: str, semiring: str, dtype: str, values: str, return_argmax: bool
    ) -> float:
        """Of "no edge", one element in twenty is half of the greatest value."""
        *batch, m, k, n = map(int, shape.split())
        rng = np.random.default_rng(0)
        greatest = np.iinfo(dtype).max
        small = [
            rng.integers(0, 10, (*batch, *matrix)).astype(dtype) for matrix in ((m, k), (k, n))
        ]
        large = [
            x + np.array(greatest // 2, dtype) * ((values == "all") | (rng.random(x.shape) < 0.05))
            for x in small
        ]
        options = {"semiring": semiring, "threads": 1, "return_argmax": return_argmax}
        with common.skipped_if_absent():
            within = contenders.ours(*small, name="within", **options)
            beyond = contenders.ours(*large, name="beyond", **options)
        timings = interleave([within, beyond], budget=common.BUDGET)
        return timings.ratio("within", "beyond").median

"""What the argmax costs beside the plain product."""

from __future__ import annotations

from tropical.measure import contenders
from tropical.measure.timing import interleave

from . import common


class Argmax(common.Call):
    params = (["float32", "float64", "int32"], [16, 64, 256, 1024])
    param_names = ("dtype", "n")

    def setup(self, dtype: str, n: int) -> None:
        self.prepare(
            contenders.ours, *contenders.operands(n, n, n, dtype), "minplus", return_argmax=True
        )

    def time_gemm(self, *_: object) -> None:
        self.call()


class TimesPlain:
    params = ([64, 256, 1024],)
    param_names = ("n",)
    unit = "times the plain product's time"

    def track_times_plain(self, n: int) -> float:
        a, b = contenders.operands(n, n, n)
        plain = contenders.ours(a, b, name="plain")
        argmax = contenders.ours(a, b, name="argmax", return_argmax=True)
        timings = interleave([plain, argmax], budget=common.BUDGET)
        return timings.ratio("plain", "argmax").median

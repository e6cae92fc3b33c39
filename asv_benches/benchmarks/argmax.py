"""What the argmax costs beside the plain product."""

from __future__ import annotations

from tropical.measure import contenders
from tropical.measure.timing import interleave

from . import common


class Argmax(common.Call):
    params = (["float32", "float64", "int32"], [16, 64, 256, 1024])
    param_names = ("dtype", "n")
    time_gemm = common.Call.run

    def setup(self, dtype: str, n: int) -> None:
        self.prepare(
            contenders.ours, *contenders.operands(n, n, n, dtype), "minplus", return_argmax=True
        )


class FewRows(common.Call):
    """A step of Viterbi or Bellman, a matrix times a vector, a dot product."""

    params = (["float32", "float64"], ["1x1000x1000", "1000x1000x1", "1x100000x1"])
    param_names = ("dtype", "shape")
    time_gemm = common.Call.run

    def setup(self, dtype: str, shape: str) -> None:
        a, b = contenders.operands(*map(int, shape.split("x")), dtype)
        self.prepare(contenders.ours, a, b, "maxplus", return_argmax=True)


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

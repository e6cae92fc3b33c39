"""Small products: what a call costs beside the work, and batches, where C++ does the loop."""

from __future__ import annotations

from functools import partial

import numpy as np

import tropical
from tropical.measure import contenders
from tropical.measure.timing import Contender

from .common import Call, times_ceiling


class Overhead:
    """The plainest call, as it is typed; NumPy's beside it is the yardstick of this machine."""

    params = ([1, 2, 4, 8, 16, 32, 48],)
    param_names = ("n",)

    def setup(self, n: int) -> None:
        self.a, self.b = contenders.operands(n, n, n)
        self.out = np.ones((n, n), np.float32)

    def time_gemm(self, *_: object) -> None:
        tropical.gemm(self.a, self.b)

    def time_gemm_out(self, *_: object) -> None:
        tropical.gemm(self.a, self.b, out=self.out)

    def time_ufunc(self, *_: object) -> None:
        tropical.ufunc.maxplus(self.a, self.b)

    def time_ufunc_out(self, *_: object) -> None:
        tropical.ufunc.maxplus(self.a, self.b, out=self.out)

    def time_numpy_matmul(self, *_: object) -> None:
        np.matmul(self.a, self.b)


class Batch(Call):
    params = (["10000 4", "1024 16", "1000 32"], [1, 2], [False, True])
    param_names = ("batch n", "threads", "return_argmax")
    time_gemm = Call.run

    def setup(self, batch: str, threads: int, return_argmax: bool) -> None:
        count, n = map(int, batch.split())
        a, b = contenders.operands(n, n, n, batch=(count,))
        self.prepare(contenders.ours, a, b, threads=threads, return_argmax=return_argmax)


class BatchCeiling:
    unit = "times the ceiling's time"

    def track_times_ceiling(self) -> float:
        ours = contenders.ours(*contenders.operands(32, 32, 32, batch=(1000,)))
        return times_ceiling(ours, contenders.ceiling("maxplus"))


class Broadcast(Call):
    """One `b` for a whole batch: it must not be packed anew for each of them."""

    time_gemm = Call.run

    def setup(self) -> None:
        a, b = contenders.operands(32, 32, 32, batch=(1000,))
        work = contenders.operations(a, b)
        self.prepare(partial(Contender, "broadcast", partial(tropical.gemm, a, b[0]), work))


class TinyItems:
    """100,000 products of a few elements each; NumPy's loop over int32 is the yardstick."""

    params = (["plustimes int32", "minplus int32", "minplus float32"], [2, 3, 4], ["", "a", "b"])
    param_names = ("instance", "n", "one for all")

    def setup(self, instance: str, n: int, shared: str) -> None:
        self.semiring, dtype = instance.split()
        a, b = contenders.operands(n, n, n, dtype, batch=(100_000,))
        self.a, self.b = a[0] if shared == "a" else a, b[0] if shared == "b" else b
        self.out = np.ones((100_000, n, n), dtype)

    def time_gemm(self, *_: object) -> None:
        tropical.gemm(self.a, self.b, semiring=self.semiring, out=self.out, threads=1)

    def time_numpy_matmul(self, *_: object) -> None:
        np.matmul(self.a, self.b, out=self.out)


class EmptySums:
    """k == 0, beside what NumPy takes to fill the result, and to copy it."""

    params = (["float32", "int8"], ["rows", "columns", "every other column"])
    param_names = ("dtype", "out")

    def setup(self, dtype: str, out: str) -> None:
        n = 1000
        memory = np.ones((n, 2 * n), dtype)
        views = {"rows": memory[:, :n], "columns": memory[:, :n].T}
        self.out = views.get(out, memory[:, ::2])
        self.other = self.out.copy(order="K")
        self.a, self.b = np.ones((n, 0), dtype), np.ones((0, n), dtype)

    def time_gemm(self, *_: object) -> None:
        tropical.gemm(self.a, self.b, out=self.out)

    def time_accumulate(self, *_: object) -> None:
        tropical.gemm(self.a, self.b, semiring="maxtimes", out=self.out, accumulate=True)

    def time_fill(self, *_: object) -> None:
        self.out.fill(1)

    def time_copy(self, *_: object) -> None:
        np.copyto(self.out, self.other)

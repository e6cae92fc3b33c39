"""Products in PyTorch, with their gradients, and beside others; stars in the engine."""

from __future__ import annotations

import numpy as np

from tropical import _core
from tropical.autograd import Tensor, closure
from tropical.bench.interop import torch_step
from tropical.measure.timing import interleave

from . import common


class Torch(common.Call):
    params = (["tropical", "tropical-gemm", "tropical over logplus"], [64, 512], [False, True])
    param_names = ("library", "n", "backward")
    time_step = common.Call.run

    def setup(self, library: str, n: int, backward: bool) -> None:
        self.prepare(torch_step, library, n, backward=backward)


class TimesTropicalGemm:
    params = ([64, 512],)
    param_names = ("n",)
    unit = "times tropical-gemm's time, forward and backward in PyTorch"

    def setup(self, n: int) -> None:
        with common.skipped_if_absent():
            self.pair = torch_step("tropical-gemm", n), torch_step("tropical", n)

    def track_times_tropical_gemm(self, n: int) -> float:
        timings = interleave(self.pair, budget=common.BUDGET)
        return timings.ratio("tropical-gemm", "tropical").median


class TimesLogsumexp:
    params = ([64, 256],)
    param_names = ("n",)
    unit = "times the time of PyTorch's logsumexp of the broadcast sum, forward and backward"

    def setup(self, n: int) -> None:
        with common.skipped_if_absent():
            self.pair = torch_step("logsumexp", n), torch_step("tropical over logplus", n)

    def track_times_logsumexp(self, n: int) -> float:
        timings = interleave(self.pair, budget=common.BUDGET)
        return timings.ratio("logsumexp", "tropical over logplus").median


class Star:
    params = (["star", "star and gradient"], [64, 512])
    param_names = ("call", "n")

    def setup(self, call: str, n: int) -> None:
        weights = np.random.default_rng(0).random((n, n), np.float32)
        self.weights = Tensor(weights, requires_grad=call != "star")

    def time_star(self, call: str, n: int) -> None:
        lengths = closure(self.weights)
        if lengths.requires_grad:
            lengths.sum().backward()


class Scatter:
    params = ([-1, -2],)
    param_names = ("axis",)

    def setup(self, axis: int) -> None:
        rng = np.random.default_rng(0)
        self.index = rng.integers(0, 512, (512, 512))
        self.g = rng.random((512, 512), np.float32)
        self.sums = np.zeros((512, 512), np.float32)

    def time_scatter(self, axis: int) -> None:
        _core.scatter(self.sums, self.index, self.g, axis)

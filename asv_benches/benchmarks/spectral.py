"""Cycle means by both algorithms, convolutions of curves, residuals, schedules."""

from __future__ import annotations

from functools import partial

import numpy as np

from tropical.spectral import convolve, deconvolve, left_residual, maximum_cycle_mean, schedule

from . import common


def numbers(shape: tuple[int, ...], dtype: str) -> np.ndarray:
    return (np.random.default_rng(0).random(shape) * 1e6).astype(dtype)


class CycleMean(common.Call):
    params = (["howard", "karp"], ["float64", "int32"], [128, 512])
    param_names = ("method", "dtype", "n")
    time_cycle_mean = common.Call.run

    def setup(self, method: str, dtype: str, n: int) -> None:
        a = numbers((n, n), dtype)
        self.prepare(common.alone, "spectral", partial(maximum_cycle_mean, a, method=method))


class Curves(common.Call):
    params = (["convolve", "deconvolve"], ["float32", "float64", "int32"], [100, 10_000])
    param_names = ("function", "dtype", "n")
    time_curves = common.Call.run

    def setup(self, function: str, dtype: str, n: int) -> None:
        f, g = numbers((2, n), dtype)
        call = {"convolve": convolve, "deconvolve": deconvolve}[function]
        self.prepare(common.alone, "spectral", partial(call, f, g))


class Systems(common.Call):
    """A thousand steps of a hundred schedules, and a residual."""

    params = (["float64", "int32"],)
    param_names = ("dtype",)
    time_residual = common.Call.run

    def setup(self, dtype: str) -> None:
        a, x0 = numbers((100, 100), dtype), numbers((100, 100), dtype)
        self.prepare(common.alone, "spectral", partial(schedule, a, x0, 1000))
        self.schedule = self.call
        a, b = numbers((512, 512), dtype), numbers((512, 512), dtype)
        self.prepare(common.alone, "spectral", partial(left_residual, a, b))

    def time_schedule(self, *_: object) -> None:
        self.schedule()

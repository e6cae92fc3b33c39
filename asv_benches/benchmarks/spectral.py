"""Cycle means by both algorithms, convolutions of curves, residuals, schedules."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

import tropical
from tropical.measure.timing import Contender
from tropical.spectral import convolve, deconvolve, left_residual, maximum_cycle_mean, schedule

from . import common


def numbers(shape: tuple[int, ...], dtype: str) -> np.ndarray:
    return (np.random.default_rng(0).random(shape) * 1e6).astype(dtype)


def alone(call: Callable[[], object], work: float) -> Contender:
    return Contender("spectral", call, work, partial(tropical.options, threads=1))


class CycleMean(common.Call):
    params = (["howard", "karp"], ["float64", "int32"], [128, 512])
    param_names = ("method", "dtype", "n")

    def setup(self, method: str, dtype: str, n: int) -> None:
        a = numbers((n, n), dtype)
        self.prepare(alone, partial(maximum_cycle_mean, a, method=method), 2.0 * n**3)

    def time_cycle_mean(self, *_: object) -> None:
        self.call()


class Curves(common.Call):
    params = (["convolve", "deconvolve"], ["float32", "float64", "int32"], [100, 10_000])
    param_names = ("function", "dtype", "n")

    def setup(self, function: str, dtype: str, n: int) -> None:
        f, g = numbers((2, n), dtype)
        call = {"convolve": convolve, "deconvolve": deconvolve}[function]
        self.prepare(alone, partial(call, f, g), 2.0 * n**2)

    def time_curves(self, *_: object) -> None:
        self.call()


class Systems(common.Call):
    """A thousand steps of a hundred schedules, and a residual."""

    params = (["float64", "int32"],)
    param_names = ("dtype",)

    def setup(self, dtype: str) -> None:
        a, x0 = numbers((100, 100), dtype), numbers((100, 100), dtype)
        self.prepare(alone, partial(schedule, a, x0, 1000), 2e9)
        self.schedule = self.call
        a, b = numbers((512, 512), dtype), numbers((512, 512), dtype)
        self.prepare(alone, partial(left_residual, a, b), 2.0 * 512**3)

    def time_schedule(self, *_: object) -> None:
        self.schedule()

    def time_residual(self, *_: object) -> None:
        self.call()

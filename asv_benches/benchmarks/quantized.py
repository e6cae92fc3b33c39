"""Products of bytes: shares of the register-only loop, and times of float32's products."""

from __future__ import annotations

from functools import partial

import numpy as np

import tropical
from tropical import _core, nn, quantized
from tropical.autograd import no_grad
from tropical.measure.timing import Contender, interleave

from . import common

REPEATS = 200_000


def draw(n: int, dtype: str) -> np.ndarray:
    """Return an n x n matrix of random bytes."""
    limits = np.iinfo(dtype)
    return np.random.default_rng(0).integers(limits.min, limits.max + 1, (n, n)).astype(dtype)


def ceiling() -> Contender:
    """Return the hot loop on registers alone."""
    work = _core.quad_ceiling(REPEATS)
    return common.alone("ceiling", partial(_core.quad_ceiling, REPEATS), work)


class TimesCeiling:
    params = (["int8", "uint8"], ["packed before", "packed anew"], [64, 256, 1024, 2048])
    param_names = ("dtype of a", "b", "n")
    unit = "times the ceiling's time"

    def track_times_ceiling(self, dtype: str, how: str, n: int) -> float:
        a, b = draw(n, dtype), draw(n, "int8")
        right = quantized.pack(b) if how == "packed before" else b
        out = np.empty((n, n), np.int32)
        call = partial(quantized.gemm, a, right, out=out)
        return common.times_ceiling(common.alone("gemm", call, 2.0 * n**3), ceiling())


class TimesFloat:
    """The time of a product of bytes over that of float32."""

    params = ([64, 256, 1024, 2048],)
    param_names = ("n",)
    unit = "times the time of float32"

    def track_times_float32(self, n: int) -> float:
        a, b = draw(n, "int8"), draw(n, "int8")
        out = np.empty((n, n), np.int32)
        x, y, z = (array.astype(np.float32) for array in (a, b, out))
        floats = partial(tropical.gemm, x, y, semiring="plustimes", out=z)
        contenders = [
            common.alone("bytes", partial(quantized.gemm, a, b, out=out)),
            common.alone("floats", floats),
        ]
        return 1 / interleave(contenders, budget=common.BUDGET).ratio("bytes", "floats").median


class Network:
    """MNIST's perceptron in bytes, over the same in float32."""

    params = ([1, 128],)
    param_names = ("digits",)
    unit = "times the time of float32"

    def track_times_float32(self, digits: int) -> float:
        rng = np.random.default_rng(0)
        model = nn.Sequential(nn.Linear(784, 256, rng=rng), nn.ReLU(), nn.Linear(256, 10, rng=rng))
        x = rng.random((digits, 784), dtype=np.float32)
        small = quantized.convert(model, x)
        with no_grad():
            contenders = [
                common.alone("bytes", partial(small, x)),
                common.alone("floats", partial(model, x)),
            ]
            return 1 / interleave(contenders, budget=common.BUDGET).ratio("bytes", "floats").median

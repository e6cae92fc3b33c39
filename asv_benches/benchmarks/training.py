"""Training: a step and its parts, models, optimizers, the engine's own time, and memory."""

from __future__ import annotations

from functools import partial

import numpy as np

import tropical
from tropical import nn
from tropical.autograd import Tensor, no_grad
from tropical.bench import training
from tropical.examples.mnist import models
from tropical.examples.mnist.training import OPTIMIZERS
from tropical.measure.timing import Contender

from .common import Call, alone


class Perceptron(Call):
    """784-256-10 by SGD, in mode "pool"."""

    params = (list(training.PARTS), [64, 128, 512], [1, 2])
    param_names = ("part", "batch", "threads")

    def setup(self, part: str, batch: int, threads: int) -> None:
        self.prepare(training.step, "mlp", batch, part=part, threads=threads)

    def time_part(self, *_: object) -> None:
        self.call()


class Models(Call):
    params = (["cnn", "tropical"], list(training.PARTS))
    param_names = ("model", "part")
    time_part = Call.run

    def setup(self, model: str, part: str) -> None:
        self.prepare(training.step, model, part=part)


class OneDigit(Call):
    """One row through 784-256-10: by the model, and by NumPy."""

    params = (["model", "NumPy"],)
    param_names = ("how",)
    time_digit = Call.run

    def setup(self, how: str) -> None:
        model = models.build("mlp")
        w, b, v, c = (parameter.data for parameter in model.parameters())
        x = np.random.default_rng(0).random(784, dtype=np.float32)
        calls = {"model": lambda: model(x), "NumPy": lambda: np.maximum(x @ w.T + b, 0) @ v.T + c}

        def call() -> None:
            with no_grad():
                calls[how]()

        self.prepare(alone, how, call)


class Optimizers(Call):
    """The update of 784-256-10 alone."""

    params = (list(OPTIMIZERS),)
    param_names = ("optimizer",)
    time_update = Call.run

    def setup(self, optimizer: str) -> None:
        self.prepare(training.step, part="update", optimizer=optimizer)


class LargeOptimizers(Call):
    """The update of a million parameters alone."""

    params = (list(OPTIMIZERS), [1, 2])
    param_names = ("optimizer", "threads")
    time_update = Call.run

    def setup(self, optimizer: str, threads: int) -> None:
        p = nn.Parameter(np.ones(1_000_000, np.float32))
        p.grad = Tensor(np.ones(1_000_000, np.float32))
        call = OPTIMIZERS[optimizer]([p], 1e-3).step
        self.prepare(Contender, optimizer, call, 1.0, partial(tropical.options, threads=threads))


class Chain(Call):
    """A thousand additions of ten numbers, forward and backward: what the engine itself takes."""

    time_chain = Call.run

    def setup(self) -> None:
        self.prepare(training.chain)


class Memory:
    """A step of a perceptron with 20 layers of 256, at batch 128."""

    params = (["off", "pool"],)
    param_names = ("mode",)

    def track_peak_live_bytes(self, mode: str) -> int:
        return training.memory(mode).peak_live_bytes

    track_peak_live_bytes.unit = "bytes"  # type: ignore[attr-defined]

    def track_allocations(self, mode: str) -> int:
        return training.memory(mode, steps=3).step_allocations

    track_allocations.unit = "allocations in the fourth step"  # type: ignore[attr-defined]

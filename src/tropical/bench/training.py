"""Contenders that train: epochs, single steps, chains of small additions; and their memory.

The digits are random, with MNIST's shape and brightness, because the pictures do not change times.
The trainers are those of `tropical.examples.mnist`.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

import tropical
from tropical.autograd import (
    MemoryStats,
    Tensor,
    cross_entropy,
    memory_mode,
    memory_stats,
    reset_memory_stats,
)
from tropical.bench.rivals import SPIN, torch_threads
from tropical.examples.mnist import models
from tropical.examples.mnist.rivals import RIVALS
from tropical.examples.mnist.training import Ours, Settings
from tropical.measure.contenders import AbsentError, require, require_threads
from tropical.measure.timing import Contender

Array = NDArray[Any]

# A quarter of MNIST: larger than most caches, and a multiple of every batch below.
DIGITS = 12_800
# Operations of the products of the perceptron 784-256-10 for a digit, forward and backward.
OPERATIONS = 2 * (2 * 784 * 256 + 3 * 256 * 10)
CHAIN = 1000
# Hidden layers of a perceptron of 20 layers.
DEEP = (256,) * 19
PARTS = ("forward", "backward", "update", "step")


@functools.cache
def digits(count: int) -> tuple[Array, Array, Array]:
    """Return images (count, 784), float32, a fifth of whose pixels are lit, labels, and an order.

    Examples
    --------
    >>> [array.shape for array in digits(5)]
    [(5, 784), (5,), (5,)]
    """
    rng = np.random.default_rng(0)
    images = rng.random((count, models.PIXELS), dtype=np.float32)
    images *= rng.random(images.shape, dtype=np.float32) < 0.2
    return images, rng.integers(0, models.CLASSES, count), rng.permutation(count)


def _check_jax(threads: int) -> None:
    """Raise AbsentError for several threads if XLA, which reads the limit once, has one thread."""
    if threads > 1 and os.environ.get("NPROC") == "1":
        raise AbsentError("JAX keeps the one thread that it began with: measure this row alone")


def epoch(
    name: str, batch: int, threads: int = 1, *, kernel: str | None = None, count: int | None = None
) -> Contender:
    """Make a contender of an epoch of the perceptron 784-256-10 by SGD, on `count` digits.

    `name` is "tropical" or a key of `RIVALS`. All trainers begin with the same weights and see the
    digits in the same order. The time includes copies of the batches. Only tropical has kernels.
    """
    require_threads(threads)
    if name == "jax":
        _check_jax(threads)
    images, labels, order = digits(count or DIGITS)
    settings = Settings(batch=batch, threads=threads, kernel=kernel)
    trainer = {"tropical": Ours, **RIVALS}[name](models.build("mlp"), settings)
    trainer.prepare(images, labels)

    def call() -> float:
        loss: float = trainer.epoch(images, labels, order, lambda done, total: None)
        return loss

    spins = name != "tropical" and threads > 1
    return Contender(
        f"{name} {kernel}" if kernel else name,
        call,
        OPERATIONS * len(order),
        settle=SPIN if spins else 0.0,
    )


def step(
    model: str = "mlp",
    batch: int = 64,
    *,
    part: str = "step",
    optimizer: str = "sgd",
    mode: str = "pool",
    threads: int = 1,
) -> Contender:
    """Make a contender of one of the `PARTS` of a training step, whose work is in digits.

    The part "step" is the whole step, by `Optimizer.minimize`.
    """
    ours = Ours(models.build(model), Settings(batch=batch, optimizer=optimizer))
    images, labels, _ = digits(batch)

    def forward() -> Tensor:
        return cross_entropy(ours.model(images), labels)

    loss = forward()
    loss.backward(retain_graph=True)

    def backward() -> None:
        ours.optimizer.zero_grad()
        loss.backward(retain_graph=True)

    @contextmanager
    def context() -> Iterator[None]:
        with tropical.options(threads=threads), memory_mode(mode):  # type: ignore[arg-type]
            yield

    calls: dict[str, Callable[[], object]] = {
        "forward": forward,
        "backward": backward,
        "update": ours.optimizer.step,
        "step": functools.partial(ours.step, images, labels),
    }
    return Contender(f"{model} {part}", calls[part], batch, context)


def chain() -> Contender:
    """Make a contender of `CHAIN` additions of ten numbers, forward and backward."""
    ones = np.ones(10, np.float32)
    return _chain("tropical", Tensor(ones, requires_grad=True), Tensor(ones))


def torch_chain() -> Contender:
    """Make a contender of the same additions by PyTorch, on one thread."""
    torch = require("torch", install="torch")
    return _chain("torch", torch.ones(10, requires_grad=True), torch.ones(10), torch_threads(1))


def _chain(name: str, x: Any, small: Any, context: Any = nullcontext) -> Contender:
    def call() -> None:
        y = x
        for _ in range(CHAIN):
            y = y + small
        x.grad = None
        y.sum().backward()

    return Contender(name, call, CHAIN, context)


def memory(
    mode: str, hidden: tuple[int, ...] = DEEP, batch: int = 128, steps: int = 5
) -> MemoryStats:
    """Return the counters of a perceptron's training step that follows `steps` equal steps.

    The peak does not count the bytes that were live before the first step.
    """
    ours = Ours(models.build("mlp", hidden), Settings(batch=batch))
    images, labels, _ = digits(batch)
    before = memory_stats().live_bytes
    with memory_mode(mode):  # type: ignore[arg-type]
        for number in range(steps + 1):
            if number == steps:
                reset_memory_stats()
            ours.step(images, labels)
        stats = memory_stats()
    return replace(stats, peak_live_bytes=stats.peak_live_bytes - before)


def peak_over_off(batch: int = 128) -> float:
    """Return the peak of live bytes in mode "pool" over that in mode "off", 20 layers of 256."""
    return memory("pool", batch=batch).peak_live_bytes / memory("off", batch=batch).peak_live_bytes

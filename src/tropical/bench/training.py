"""What training is timed with: epochs, single steps, chains of small additions; and their memory.

The digits are random, of MNIST's shape and as dark as MNIST's: what they show does not matter to a
clock. Trainers are those of `tropical.examples.mnist`.
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
from tropical.bench.contenders import SPIN, AbsentError, require, require_threads
from tropical.bench.timing import Contender
from tropical.examples.mnist import models
from tropical.examples.mnist.rivals import RIVALS
from tropical.examples.mnist.training import Ours, Settings

__all__ = ["PARTS", "chain", "digits", "epoch", "memory", "peak_over_off", "step", "torch_chain"]

Array = NDArray[Any]

# A quarter of MNIST: larger than most caches, and divided by every batch below.
DIGITS = 12_800
# What the products of the perceptron 784-256-10 take for a digit, forward and backward.
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
    """Refuse several threads where the rival has held XLA, which counts them once, to one."""
    if threads > 1 and os.environ.get("NPROC") == "1":
        raise AbsentError("JAX keeps the one thread that it began with: measure this row alone")


def epoch(
    name: str, batch: int, threads: int = 1, *, kernel: str | None = None, count: int | None = None
) -> Contender:
    """Make a contender of an epoch of the perceptron 784-256-10 by SGD, batches gathered in it.

    Parameters
    ----------
    name : {"tropical", "numpy", "torch", "jax"}
        Who trains; all begin with the same weights and see the digits in the same order.
    batch, threads : int
        Digits a step, and the most threads.
    kernel : str, optional
        Of tropical's products.
    count : int, optional
        Digits of the epoch; `DIGITS` unless given.

    Raises
    ------
    AbsentError
        If the rival is not installed, or threads cannot be had.
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
    mode: str = "plan",
    threads: int = 1,
) -> Contender:
    """Make a contender of a training step on one batch, whose work is in digits.

    Parameters
    ----------
    model : {"mlp", "cnn", "tropical"}
        As for `tropical.examples.mnist.models.build`.
    batch : int
        Digits.
    part : {"forward", "backward", "update", "step"}
        Of the step; or all of it, by `Optimizer.minimize`.
    optimizer, mode : str
        As `Settings` has them.
    threads : int
        The most.
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

    @contextmanager
    def one_thread() -> Iterator[None]:
        torch.set_num_threads(1)
        yield

    return _chain("torch", torch.ones(10, requires_grad=True), torch.ones(10), one_thread)


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
    """Return the counters of one training step of a perceptron, after some in the same mode.

    Parameters
    ----------
    mode : {"off", "pool", "plan"}
        As for `tropical.autograd.memory_mode`.
    hidden : tuple of int
        Lengths of the hidden layers; 19 of 256 unless given, which makes 20 layers.
    batch : int
        Digits.
    steps : int
        How many come before.

    Returns
    -------
    MemoryStats
        The peak is counted from what lived before.
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
    """Return the peak of live bytes in mode "plan" over that in mode "off", 20 layers of 256."""
    return memory("plan", batch=batch).peak_live_bytes / memory("off", batch=batch).peak_live_bytes

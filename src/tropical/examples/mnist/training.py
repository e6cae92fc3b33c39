"""Training by tropical and by rivals, epoch by epoch, in the same order of digits."""

from __future__ import annotations

import contextlib
import functools
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

import tropical
from tropical import nn, optim
from tropical.autograd import cross_entropy, memory_mode, no_grad

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .data import Dataset

Array: TypeAlias = NDArray[Any]
# A function of the number of digits done and the sum of their losses.
Report: TypeAlias = Callable[[int, float], None]
# Points of a curve for each epoch.
POINTS = 25

OPTIMIZERS: dict[str, Callable[[Any, float], optim.Optimizer]] = {
    "sgd": optim.SGD,
    "momentum": functools.partial(optim.SGD, momentum=0.9, nesterov=True),
    "adam": optim.Adam,
    "adamw": optim.AdamW,
    "rmsprop": optim.RMSProp,
    "adagrad": optim.Adagrad,
}
# Learning rates that suit batches of 64.
RATES = {
    "sgd": 0.1,
    "momentum": 0.03,
    "adam": 0.001,
    "adamw": 0.001,
    "rmsprop": 0.001,
    "adagrad": 0.01,
}


@dataclass(frozen=True)
class Settings:
    """How to train.

    Attributes
    ----------
    batch : int
        Digits a step.
    lr : float
        Learning rate.
    optimizer : str
        One of `OPTIMIZERS`.
    threads : int
        The most threads.
    kernel : str or None
        As for `tropical.options`.
    precision : str or None
        As for `tropical.options`.
    memory : str
        A mode of `tropical.memory.memory_mode`.
    """

    batch: int = 64
    lr: float = 0.1
    optimizer: str = "sgd"
    threads: int = 1
    kernel: str | None = None
    precision: str | None = None
    memory: Any = "pool"


class Trainer(ABC):
    """A network and its training."""

    name: str

    def prepare(self, images: Array, labels: Array) -> None:
        """Do the work that is done once, before epochs of these digits are timed."""
        return

    @abstractmethod
    def epoch(self, images: Array, labels: Array, order: Array, report: Report) -> float:
        """Train once on the digits in this order; return the mean loss."""

    @abstractmethod
    def classify(self, images: Array) -> Array:
        """Return a score for each class."""


def batches(order: Array, batch: int) -> Iterator[Array]:
    """Yield pieces of an order; the last may be smaller."""
    for start in range(0, len(order), batch):
        yield order[start : start + batch]


def mean_loss(step: Callable[[Array], float], order: Array, batch: int, report: Report) -> float:
    """Return the mean loss over an order; `step` returns that of each batch of rows."""
    total, done = 0.0, 0
    for rows in batches(order, batch):
        total += len(rows) * step(rows)
        done += len(rows)
        report(done, total)
    return total / done


class Ours(Trainer):
    """A module of ours, trained by our engine.

    Parameters
    ----------
    model : nn.Module
        The network, which training changes.
    settings : Settings
        How to train.
    """

    def __init__(self, model: nn.Module, settings: Settings) -> None:
        self.name: str = "tropical" if not settings.precision else f"tropical {settings.precision}"
        self.model = model
        self.settings = settings
        self.optimizer: optim.Optimizer = OPTIMIZERS[settings.optimizer](
            model.parameters(), settings.lr
        )

    def _options(self) -> contextlib.AbstractContextManager[object]:
        wanted = self.settings
        return tropical.options(
            kernel=wanted.kernel, threads=wanted.threads, precision=wanted.precision
        )

    def step(self, images: Array, labels: Array) -> float:
        """Learn from one batch; return its mean loss."""
        loss = cross_entropy(self.model(images), labels)
        self.optimizer.minimize(loss)
        return loss.item()

    def epoch(self, images: Array, labels: Array, order: Array, report: Report) -> float:
        """Train once on the digits in this order; return the mean loss."""
        self.model.train()

        def step(rows: Array) -> float:
            return self.step(images.take(rows, axis=0), labels[rows])

        with self._options(), memory_mode(self.settings.memory):
            return mean_loss(step, order, self.settings.batch, report)

    def classify(self, images: Array) -> Array:
        """Return a score for each class."""
        training = self.model.training
        self.model.eval()
        try:
            with self._options(), no_grad():
                return np.concatenate([self.model(part).data for part in batches(images, 1000)])
        finally:
            self.model.train(training)


@dataclass
class History:
    """The results of one trainer, an entry for each epoch.

    Attributes
    ----------
    name : str
        The name of the trainer.
    seconds : list of float
        The time of the training alone.
    losses : list of float
        The mean loss of the digits during the epoch, in nats.
    accuracies : list of float
        The accuracy on the validation part, after the epoch.
    curve : list of (float, float)
        Epochs done, and the mean loss since the point before: at most `POINTS` for each epoch.
    """

    name: str
    seconds: list[float] = field(default_factory=list)
    losses: list[float] = field(default_factory=list)
    accuracies: list[float] = field(default_factory=list)
    curve: list[tuple[float, float]] = field(default_factory=list)


def accuracy(scores: Array, labels: Array) -> float:
    """Return the share of rows whose largest score is that of their label."""
    return float(np.mean(scores.argmax(axis=1) == labels))


def train(
    trainers: list[Any],
    data: Dataset,
    epochs: int,
    seed: int,
    *,
    report: Callable[[History], None] = lambda history: None,
    finished: Callable[[History], None] = lambda history: None,
) -> list[History]:
    """Train all trainers, epoch by epoch in turns, in the same random orders from `seed`.

    `report` is called with a history after each point of the curve, `finished` after each epoch.
    Accuracies are those of the validation part.
    """
    rng = np.random.default_rng((seed, 1))  # other numbers than those of the weights
    histories = [History(trainer.name) for trainer in trainers]
    for epoch in range(epochs):
        order = rng.permutation(len(data.train_labels))
        # The order alternates, because a trainer leaves caches and threads behind for the next.
        turn = list(zip(trainers, histories, strict=True))
        for trainer, history in turn if epoch % 2 == 0 else turn[::-1]:
            recorder = _Recorder(history, epoch, len(order), report)
            start = time.perf_counter()
            loss = trainer.epoch(data.train_images, data.train_labels, order, recorder)
            history.seconds.append(time.perf_counter() - start - recorder.seconds)
            history.losses.append(loss)
            scores = trainer.classify(data.validation_images)
            history.accuracies.append(accuracy(scores, data.validation_labels))
            finished(history)
    return histories


class _Recorder:
    """The report of an epoch: adds points to the curve, and measures its own time."""

    def __init__(
        self, history: History, epoch: int, digits: int, report: Callable[[History], None]
    ) -> None:
        self.history = history
        self.epoch = epoch
        self.digits = digits
        self.report = report
        self.before = (0, 0.0)
        self.seconds = 0.0

    def __call__(self, done: int, total: float) -> None:
        if done * POINTS // self.digits <= self.before[0] * POINTS // self.digits:
            return
        start = time.perf_counter()
        loss = (total - self.before[1]) / (done - self.before[0])
        self.history.curve.append((self.epoch + done / self.digits, loss))
        self.before = done, total
        self.report(self.history)
        self.seconds += time.perf_counter() - start

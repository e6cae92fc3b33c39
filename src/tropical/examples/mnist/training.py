"""One epoch after the other, by tropical or by a rival, all in the same order of digits."""

from __future__ import annotations

import contextlib
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
# Takes the digits done and the sum of their losses.
Report: TypeAlias = Callable[[int, float], None]
# Points of a curve, of an epoch.
POINTS = 25

OPTIMIZERS: dict[str, Callable[[Any, float], optim.Optimizer]] = {
    "sgd": lambda parameters, lr: optim.SGD(parameters, lr),
    "momentum": lambda parameters, lr: optim.SGD(parameters, lr, momentum=0.9, nesterov=True),
    "adam": lambda parameters, lr: optim.Adam(parameters, lr),
    "adamw": lambda parameters, lr: optim.AdamW(parameters, lr),
    "rmsprop": lambda parameters, lr: optim.RMSProp(parameters, lr),
    "adagrad": lambda parameters, lr: optim.Adagrad(parameters, lr),
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
    memory : str
        As for `tropical.autograd.memory_mode`.
    """

    batch: int = 64
    lr: float = 0.1
    optimizer: str = "sgd"
    threads: int = 1
    kernel: str | None = None
    memory: Any = "plan"


class Trainer(ABC):
    """A network, and who trains it."""

    name: str

    def prepare(self, images: Array, labels: Array) -> None:
        """Do, before epochs of these digits are timed, what is done once."""
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


class Ours(Trainer):
    """A module of ours, trained on our engine.

    Parameters
    ----------
    model : nn.Module
        The network; changed in place.
    settings : Settings
        How to train.
    """

    def __init__(self, model: nn.Module, settings: Settings) -> None:
        self.name = "tropical"
        self.model = model
        self.settings = settings
        self.optimizer = OPTIMIZERS[settings.optimizer](model.parameters(), settings.lr)

    def _options(self) -> contextlib.AbstractContextManager[object]:
        return tropical.options(kernel=self.settings.kernel, threads=self.settings.threads)

    def step(self, images: Array, labels: Array) -> float:
        """Learn from one batch; return its mean loss."""
        loss = cross_entropy(self.model(images), labels)
        self.optimizer.minimize(loss)
        return loss.item()

    def epoch(self, images: Array, labels: Array, order: Array, report: Report) -> float:
        """Train once on the digits in this order; return the mean loss."""
        total, done = 0.0, 0
        self.model.train()
        with self._options(), memory_mode(self.settings.memory):
            for rows in batches(order, self.settings.batch):
                total += len(rows) * self.step(images.take(rows, axis=0), labels[rows])
                done += len(rows)
                report(done, total)
        return total / done

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
    """What became of one trainer; an entry an epoch.

    Attributes
    ----------
    name : str
        Of the trainer.
    seconds : list of float
        For training alone.
    losses : list of float
        The mean over the digits as they were trained with, in nats.
    accuracies : list of float
        On the validation part, after the epoch.
    curve : list of (float, float)
        Epochs done, and the mean loss since the point before: `POINTS` an epoch if the trainer
        reports as often.
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
    """Train all trainers, epoch by epoch in turns, in the same random orders.

    Parameters
    ----------
    trainers : list of Trainer
        Who is trained.
    data : Dataset
        What on; accuracies are those of its validation part.
    epochs : int
        How often.
    seed : int
        Of the orders.
    report : callable
        Takes the history of whoever has reached another point of its curve.
    finished : callable
        Takes the history of whoever has ended an epoch.

    Returns
    -------
    list of History
        Of each trainer.
    """
    rng = np.random.default_rng((seed, 1))  # not the numbers that the weights were drawn from
    histories = [History(trainer.name) for trainer in trainers]
    for epoch in range(epochs):
        order = rng.permutation(len(data.train_labels))
        # Each goes first as often: what the one before left behind must favour nobody.
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
    """What a trainer reports to in an epoch: adds points to the curve, and times itself."""

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

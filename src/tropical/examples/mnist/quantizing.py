"""A trained network beside the same one in bytes: accuracy, size and speed."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from tropical import nn, quantized
from tropical.autograd import no_grad
from tropical.measure.timing import Budget, Contender, Timings, interleave

from .training import accuracy, batches

if TYPE_CHECKING:
    from tropical.arrays import Array

    from .data import Dataset

CALIBRATION = 1000  # digits of the training part
BATCH = 128


@dataclass(frozen=True)
class Row:
    """What one network takes and gives.

    Attributes
    ----------
    name : str
        The dtype of its products.
    accuracy : float
        The share of the test digits that are right.
    nbytes : int
        Bytes of its parameters.
    one, many : float
        Seconds a digit: alone, and in batches of 128.
    """

    name: str
    accuracy: float
    nbytes: int
    one: float
    many: float


def compare(model: nn.Module, data: Dataset, budget: Budget | None = None) -> list[Row]:
    """Return a row for the network, and one for the same network in bytes.

    Parameters
    ----------
    model : Module
        The trained network, which stays as it is.
    data : Dataset
        Digits: some of the training part calibrate, those of the test part count.
    budget : Budget, optional
        How long to measure.

    Returns
    -------
    list of Row
    """
    small = quantized.convert(model, data.train_images[:CALIBRATION])
    training = model.training
    model.eval()
    networks = {"float32": model, "int8": small}
    try:
        with no_grad():
            one = _times(networks, data.test_images[:1], budget)
            many = _times(networks, data.test_images[:BATCH], budget)
            scores = {
                name: np.concatenate([_scores(m, part) for part in batches(data.test_images, 1000)])
                for name, m in networks.items()
            }
    finally:
        model.train(training)
    return [
        Row(
            name,
            accuracy(scores[name], data.test_labels),
            sum(array.nbytes for array in network.state_dict().values()),
            float(np.median(one.seconds[name])),
            float(np.median(many.seconds[name])) / len(data.test_images[:BATCH]),
        )
        for name, network in networks.items()
    ]


def _scores(network: nn.Module, images: Array) -> Any:
    return network(images).data


def _times(networks: dict[str, nn.Module], images: Array, budget: Budget | None) -> Timings:
    contenders = [
        Contender(name, partial(_scores, network, images), work=len(images))
        for name, network in networks.items()
    ]
    return interleave(contenders, budget=budget)

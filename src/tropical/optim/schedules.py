"""Factors of the learning rate, which depend on the number of steps."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tropical.arrays import check_number
from tropical.nn.checks import not_negative
from tropical.nn.state import matching

from .optimizer import Optimizer

if TYPE_CHECKING:
    from collections.abc import Mapping

Array: TypeAlias = NDArray[Any]
Factor: TypeAlias = Callable[[int], float]


def _check_count(**counts: int) -> None:
    for name, count in counts.items():
        check_number(name, count)
        if not count >= 1:  # nor NaN, which would become the rate
            raise ValueError(f"{name}: expected at least 1, got {count}")


def _check_factor(name: str, factor: object) -> None:
    if not callable(factor):
        raise TypeError(f"{name}: expected a function of the number of steps, got {factor!r}")


def step_decay(every: int, factor: float = 0.1) -> Factor:
    """Return a factor that `factor` multiplies after each `every` steps."""
    _check_count(every=every)
    check_number("factor", factor)
    return lambda step: factor ** (step // every)


def cosine_decay(steps: int, least: float = 0.0) -> Factor:
    """Return a factor that falls from 1 to `least` along half a cosine of `steps` steps.

    I. Loshchilov and F. Hutter, "SGDR: stochastic gradient descent with warm restarts", ICLR 2017,
    equation 5.
    """
    _check_count(steps=steps)
    check_number("least", least)
    return lambda step: least + (1 - least) * (1 + math.cos(math.pi * min(step, steps) / steps)) / 2


def warm_up(steps: int, then: Factor | None = None) -> Factor:
    """Return a factor that rises linearly from 1 / steps to 1, and then is `then`.

    Goyal et al., "Accurate, large minibatch SGD", arXiv:1706.02677, section 2.2.
    """
    _check_count(steps=steps)
    if then is not None:
        _check_factor("then", then)
    return lambda step: (
        (step + 1) / steps if step < steps else then(step - steps) if then is not None else 1.0
    )


class Schedule:
    """Sets the rate of an optimizer to the first rate times a factor.

    Parameters
    ----------
    optimizer : Optimizer
        Its `lr` is the rate at factor 1.
    factor : callable
        A function of the number of steps: `step_decay`, `cosine_decay`, `warm_up`, ...

    Examples
    --------
    >>> from tropical import nn, optim
    >>> optimizer = optim.SGD([nn.Parameter([1.0])], lr=0.4)
    >>> schedule = optim.Schedule(optimizer, optim.warm_up(2, optim.step_decay(1, 0.5)))
    >>> rates = []
    >>> for _ in range(4):
    ...     rates.append(optimizer.lr)  # here: backward, optimizer.step()
    ...     schedule.step()
    >>> rates
    [0.2, 0.4, 0.4, 0.2]
    """

    def __init__(self, optimizer: Optimizer, factor: Factor) -> None:
        if not isinstance(optimizer, Optimizer):
            raise TypeError(f"optimizer: expected an Optimizer, got {type(optimizer).__name__}")
        _check_factor("factor", factor)
        self.optimizer = optimizer
        self.factor = factor
        self.base_lr: float = optimizer.lr
        self.steps: int = 0
        self._set_rate()

    def step(self) -> None:
        """Count a step of the optimizer, and set the rate of the next step."""
        self.steps += 1
        self._set_rate()

    def _set_rate(self) -> None:
        self.optimizer.lr = self.base_lr * self.factor(self.steps)

    def state_dict(self) -> dict[str, Array]:
        """Return the count of steps and the rate at factor 1, by name, for an ``.npz`` file."""
        return {"steps": np.array(self.steps), "base_lr": np.array(self.base_lr, float)}

    def load_state_dict(self, state: Mapping[str, Array]) -> None:
        """Load the state of a schedule with this factor, and set the rate of the optimizer.

        Raises
        ------
        ValueError
            If a name is missing or unknown, a shape differs or a number is out of range; nothing is
            changed then.
        TypeError
            If an array does not hold a number; nothing is changed then.
        """
        arrays = matching(state, self.state_dict())
        steps, base_lr = int(arrays["steps"]), float(arrays["base_lr"])
        not_negative(steps=steps, base_lr=base_lr)
        self.steps, self.base_lr = steps, base_lr
        self._set_rate()

"""The optimizers, each with its formula."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from tropical.arrays import check_share
from tropical.autograd import Tensor
from tropical.autograd.products import add_weight_gradient, bias_gradient, weight_gradient
from tropical.autograd.value import note_change
from tropical.nn.checks import not_negative
from tropical.npz import check_mapping

from .optimizer import Array, Optimizer

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from tropical.autograd.value import Node, Rule
    from tropical.autograd.walk import Absorb


class SGD(Optimizer):
    """Stochastic gradient descent, with the momentum and weight decay of PyTorch.

    ``v = momentum * v + g``, then ``p -= lr * v``, or with `nesterov` ``p -= lr * (g + momentum *
    v)``; g is the gradient plus ``weight_decay * p``.

    Parameters
    ----------
    parameters : iterable of Tensors
        The parameters to update.
    lr : float
        Learning rate.
    momentum, weight_decay : float, default 0
        As above. A momentum that is set later starts with v = 0.
    nesterov : bool, default False
        I. Sutskever, J. Martens, G. Dahl and G. Hinton, "On the importance of initialization and
        momentum in deep learning", ICML 2013, section 2.

    Examples
    --------
    >>> from tropical import nn, optim
    >>> x = nn.Parameter([1.0, -2.0])
    >>> optimizer = optim.SGD([x], lr=0.25)
    >>> (x * x).sum().backward()
    >>> optimizer.step()
    >>> x.data
    array([ 0.5, -1. ])
    """

    hyperparameters: ClassVar[tuple[str, ...]] = (
        *Optimizer.hyperparameters,
        "momentum",
        "nesterov",
    )

    def __init__(
        self,
        parameters: Iterable[Tensor],
        lr: float,
        *,
        momentum: float = 0.0,
        weight_decay: float = 0.0,
        nesterov: bool = False,
    ) -> None:
        self.momentum = momentum
        self.nesterov = nesterov
        super().__init__(parameters, lr, weight_decay, states=1 if momentum else 0)

    def check(self, values: Mapping[str, Any]) -> None:
        """Raise ValueError unless the hyperparameters are in range."""
        super().check(values)
        check_share("momentum", values["momentum"])
        if values["nesterov"] and values["momentum"] == 0:
            raise ValueError("momentum: expected more than 0 for nesterov, got 0")

    def _absorber(self) -> Absorb | None:
        """Return a function that subtracts lr times the gradient from a weight or bias, or None."""
        if type(self) is not SGD or self.momentum or self.weight_decay:
            return None
        lr = float(self.lr)
        numbers = {p.node: number for number, p in enumerate(self.parameters)}

        def absorb(node: Node, rule: Rule, g: Any, arguments: tuple[Any, ...]) -> bool:
            number = numbers.get(node)
            if number is None or self.parameters[number].grad is not None:
                return False
            data = self.parameters[number].data
            if rule is weight_gradient:
                add_weight_gradient(data, -lr, g, arguments[0])
            elif rule is bias_gradient:
                data -= lr * rule(g, *arguments)
            else:
                return False
            self.steps[number] += 1
            note_change(node)
            return True

        return absorb

    def _step(self, moving: list[int], careful: bool) -> None:
        if self.momentum and not self.states[0]:  # set after the construction
            self.states[:] = self._zeros(1)
        super()._step(moving, careful)

    def load_state_dict(self, state: Mapping[str, Array]) -> None:
        """Load the state of another SGD, with or without momentum, as `Optimizer` does."""
        check_mapping("state", state)
        before, saved = list(self.states), "0.0" in state
        if saved != bool(before[0]):
            self.states[:] = self._zeros(int(saved))
        try:
            super().load_state_dict(state)
        except BaseException:
            self.states[:] = before
            raise

    def coefficients(self, steps: int) -> tuple[float, ...]:
        """Return lr, momentum, and their product."""
        return self.lr, self.momentum, self.lr * self.momentum

    def _formula(self) -> str:
        if not self.states[0]:
            return "sgd"
        return "nesterov" if self.nesterov else "momentum"


class Adam(Optimizer):
    """Adaptive moments.

    Kingma and Ba, "Adam: a method for stochastic optimization", ICLR 2015, algorithm 1.

    Parameters
    ----------
    parameters : iterable of Tensors
        The parameters to update.
    lr : float, default 1e-3
        Learning rate.
    betas : pair of float, default (0.9, 0.999)
        The shares of the old mean and the old mean square in the new ones.
    eps : float, default 1e-8
        Added to the root of the mean square.
    weight_decay : float, default 0
        ``weight_decay * p`` is added to the gradient.
    """

    hyperparameters: ClassVar[tuple[str, ...]] = (*Optimizer.hyperparameters, "betas", "eps")

    def __init__(
        self,
        parameters: Iterable[Tensor],
        lr: float = 1e-3,
        *,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
    ) -> None:
        self.betas = betas
        self.eps = eps
        super().__init__(parameters, lr, weight_decay, states=2)

    def check(self, values: Mapping[str, Any]) -> None:
        """Raise ValueError unless the hyperparameters are in range."""
        super().check(values)
        betas = values["betas"]
        if np.shape(betas) != (2,):
            raise ValueError(f"betas: expected two numbers, got {betas!r}")
        for i in range(2):
            check_share(f"betas[{i}]", betas[i])
        not_negative(eps=values["eps"])

    def coefficients(self, steps: int) -> tuple[float, ...]:
        """Return the shares of old and new in both means, and scale, eps and rate of the step."""
        beta, gamma = self.betas
        scale = 1 / math.sqrt(1 - gamma**steps)
        rate = self.lr / (1 - beta**steps)
        return beta, 1 - beta, gamma, 1 - gamma, scale, self.eps, rate

    def _formula(self) -> str:
        return "adam"


class AdamW(Adam):
    """Adam with decay of the weights themselves: ``p -= lr * weight_decay * p``.

    Loshchilov and Hutter, "Decoupled weight decay regularization", ICLR 2019, algorithm 2.

    Parameters
    ----------
    parameters, lr, betas, eps
        As for `Adam`.
    weight_decay : float, default 0.01
        As above.
    """

    decoupled = True

    def __init__(
        self,
        parameters: Iterable[Tensor],
        lr: float = 1e-3,
        *,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.01,
    ) -> None:
        super().__init__(parameters, lr, betas=betas, eps=eps, weight_decay=weight_decay)

    def coefficients(self, steps: int) -> tuple[float, ...]:
        """Return the coefficients of Adam, and the share of the weights that stays."""
        return (*super().coefficients(steps), 1 - self.lr * self.weight_decay)

    def _formula(self) -> str:
        return "adamw"


class Adagrad(Optimizer):
    """Rates that fall with the sum of squared gradients: ``p -= lr * g / (sqrt(sum) + eps)``.

    J. Duchi, E. Hazan and Y. Singer, "Adaptive subgradient methods", Journal of Machine Learning
    Research 12, 2011.

    Parameters
    ----------
    parameters : iterable of Tensors
        The parameters to update.
    lr : float, default 0.01
        Learning rate.
    eps : float, default 1e-10
        As above.
    weight_decay : float, default 0
        ``weight_decay * p`` is added to the gradient.
    """

    hyperparameters: ClassVar[tuple[str, ...]] = (*Optimizer.hyperparameters, "eps")

    def __init__(
        self,
        parameters: Iterable[Tensor],
        lr: float = 1e-2,
        *,
        eps: float = 1e-10,
        weight_decay: float = 0.0,
    ) -> None:
        self.eps = eps
        super().__init__(parameters, lr, weight_decay, states=1)

    def check(self, values: Mapping[str, Any]) -> None:
        """Raise ValueError unless the hyperparameters are in range."""
        super().check(values)
        not_negative(eps=values["eps"])

    def coefficients(self, steps: int) -> tuple[float, ...]:
        """Return lr and eps."""
        return self.lr, self.eps

    def _formula(self) -> str:
        return "adagrad"


class RMSProp(Optimizer):
    """Rates over the root of the mean square gradient: ``p -= lr * g / (sqrt(mean) + eps)``.

    Tieleman and Hinton, "Neural networks for machine learning", lecture 6.5, 2012.

    Parameters
    ----------
    parameters : iterable of Tensors
        The parameters to update.
    lr : float, default 0.01
        Learning rate.
    alpha : float, default 0.99
        The share of the old mean square in the new one.
    eps : float, default 1e-8
        As above.
    weight_decay : float, default 0
        ``weight_decay * p`` is added to the gradient.
    """

    hyperparameters: ClassVar[tuple[str, ...]] = (*Optimizer.hyperparameters, "alpha", "eps")

    def __init__(
        self,
        parameters: Iterable[Tensor],
        lr: float = 1e-2,
        *,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0.0,
    ) -> None:
        self.alpha = alpha
        self.eps = eps
        super().__init__(parameters, lr, weight_decay, states=1)

    def check(self, values: Mapping[str, Any]) -> None:
        """Raise ValueError unless the hyperparameters are in range."""
        super().check(values)
        check_share("alpha", values["alpha"])
        not_negative(eps=values["eps"])

    def coefficients(self, steps: int) -> tuple[float, ...]:
        """Return the shares of old and new in the mean, lr and eps."""
        return self.alpha, 1 - self.alpha, self.lr, self.eps

    def _formula(self) -> str:
        return "rmsprop"

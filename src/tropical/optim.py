"""Optimizers, schedules of their rates, and clipping of gradients. All update in place.

Every update runs over pieces that stay in cache, through one scratch buffer: no step allocates.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from tropical.autograd import Tensor

Array: TypeAlias = NDArray[Any]

_PIECE = 1 << 16  # elements: three arrays of them and the scratch fit in a common L2


def _not_negative(**values: float) -> None:
    for name, value in values.items():
        if not value >= 0:
            raise ValueError(f"{name}: must not be negative, got {value}")


def _share(**values: float) -> None:
    for name, value in values.items():
        if not 0 <= value < 1:
            raise ValueError(f"{name}: must lie in [0, 1), got {value}")


class Optimizer:
    """What all optimizers share; subclasses define `update`.

    Parameters
    ----------
    parameters : iterable of Tensors
        What to update: leaves that require grad, with contiguous data.
    lr : float
        The learning rate; may be changed at any time.
    weight_decay : float
        ``weight_decay * p`` is added to every gradient.
    states : int
        How many arrays like itself each parameter needs.

    Raises
    ------
    ValueError
        If there is no parameter, one is given twice, is no such leaf, or a number is out of range.
    """

    def __init__(
        self, parameters: Iterable[Tensor], lr: float, weight_decay: float, states: int
    ) -> None:
        _not_negative(lr=lr, weight_decay=weight_decay)
        self.lr = lr
        self.weight_decay = weight_decay
        self.parameters = list(parameters)
        self.steps = 0
        if not self.parameters:
            raise ValueError("parameters: there are none")
        if len({id(p) for p in self.parameters}) < len(self.parameters):
            raise ValueError("parameters: one is given twice")
        for number, p in enumerate(self.parameters):
            if not (p.requires_grad and p.is_leaf and p.data.flags.c_contiguous):
                raise ValueError(
                    f"parameters[{number}]: must be a leaf that requires grad, with contiguous data"
                )
        self.states = [tuple(np.zeros_like(p.data) for _ in range(states)) for p in self.parameters]
        self._scratch = {
            p.dtype: np.empty((2, min(_PIECE, max(q.size for q in self.parameters))), p.dtype)
            for p in self.parameters
        }

    def zero_grad(self) -> None:
        """Forget the gradients: set them to None."""
        for p in self.parameters:
            p.grad = None

    def step(self) -> None:
        """Update every parameter that has a gradient."""
        self.steps += 1
        for p, states in zip(self.parameters, self.states, strict=True):
            if p.grad is None:
                continue
            if not p.data.flags.c_contiguous:
                raise ValueError("parameters: the data of one is not contiguous any more")
            scratch = self._scratch[p.dtype]
            flat = [a.reshape(-1) for a in (p.data, p.grad.data, *states)]
            for start in range(0, p.size, _PIECE):
                data, gradient, *own = (a[start : start + _PIECE] for a in flat)
                first, second = scratch[:, : data.size]
                if self.weight_decay:
                    np.multiply(data, self.weight_decay, out=first)
                    gradient = np.add(first, gradient, out=first)
                self.update(second, data, gradient, *own)

    def update(self, scratch: Array, p: Array, g: Array, *states: Array) -> None:
        """Update a piece of a parameter in place; `scratch` has its size, g includes the decay."""
        raise NotImplementedError

    def state_dict(self) -> dict[str, Array]:
        """Return copies of what the optimizer remembers, by name, for an ``.npz`` file."""
        state = {"steps": np.array(self.steps), "lr": np.array(self.lr)}
        for number, arrays in enumerate(self.states):
            state.update({f"{number}.{i}": array.copy() for i, array in enumerate(arrays)})
        return state

    def load_state_dict(self, state: Mapping[str, Array]) -> None:
        """Take over what another optimizer of this kind and these parameters remembered.

        Raises
        ------
        ValueError
            If a name is missing or unknown or a shape differs; nothing is changed then.
        """
        own = self.state_dict()
        if own.keys() != state.keys():
            raise ValueError(f"state: {sorted(own)} are wanted, got {sorted(state)}")
        for name, array in own.items():
            if np.shape(state[name]) != array.shape:
                raise ValueError(
                    f"state: {name} has shape {np.shape(state[name])}, {array.shape} is wanted"
                )
        self.steps = int(state["steps"])
        self.lr = float(state["lr"])
        for number, arrays in enumerate(self.states):
            for i, array in enumerate(arrays):
                np.copyto(array, state[f"{number}.{i}"], casting="same_kind")


class SGD(Optimizer):
    """Stochastic gradient descent, with momentum and weight decay as PyTorch has them.

    ``v = momentum * v + g``, then ``p -= lr * v``, or with `nesterov` ``p -= lr * (g + momentum *
    v)``; g is the gradient plus ``weight_decay * p``.

    Parameters
    ----------
    parameters : iterable of Tensors
        What to update.
    lr : float
        Learning rate.
    momentum, weight_decay : float, default 0
        As above.
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

    def __init__(
        self,
        parameters: Iterable[Tensor],
        lr: float,
        *,
        momentum: float = 0.0,
        weight_decay: float = 0.0,
        nesterov: bool = False,
    ) -> None:
        _share(momentum=momentum)
        if nesterov and momentum == 0:
            raise ValueError("nesterov: needs a momentum")
        super().__init__(parameters, lr, weight_decay, states=1 if momentum else 0)
        self.momentum = momentum
        self.nesterov = nesterov

    def update(self, scratch: Array, p: Array, g: Array, *states: Array) -> None:
        """Update a piece of a parameter."""
        for v in states:
            v *= self.momentum
            v += g
            if self.nesterov:
                np.multiply(v, self.lr * self.momentum, out=scratch)
                np.subtract(p, scratch, out=p)
            else:
                g = v
        np.multiply(g, self.lr, out=scratch)
        np.subtract(p, scratch, out=p)


class Adam(Optimizer):
    """Adaptive moments.

    D. P. Kingma and J. Ba, "Adam: a method for stochastic optimization", ICLR 2015, algorithm 1.

    Parameters
    ----------
    parameters : iterable of Tensors
        What to update.
    lr : float, default 1e-3
        Learning rate.
    betas : pair of float, default (0.9, 0.999)
        How much of the mean and of the mean square of the gradient stays.
    epsilon : float, default 1e-8
        Added to the root of the mean square.
    weight_decay : float, default 0
        ``weight_decay * p`` is added to the gradient.
    """

    def __init__(
        self,
        parameters: Iterable[Tensor],
        lr: float = 1e-3,
        *,
        betas: tuple[float, float] = (0.9, 0.999),
        epsilon: float = 1e-8,
        weight_decay: float = 0.0,
    ) -> None:
        _share(**{"betas[0]": betas[0], "betas[1]": betas[1]})
        _not_negative(epsilon=epsilon)
        super().__init__(parameters, lr, weight_decay, states=2)
        self.betas = betas
        self.epsilon = epsilon

    def update(self, scratch: Array, p: Array, g: Array, *states: Array) -> None:
        """Update a piece of a parameter."""
        (mean, square), (beta, gamma) = states, self.betas
        np.subtract(g, mean, out=scratch)
        scratch *= 1 - beta
        mean += scratch
        np.multiply(g, g, out=scratch)
        scratch -= square
        scratch *= 1 - gamma
        square += scratch
        np.sqrt(square, out=scratch)
        scratch *= 1 / math.sqrt(1 - gamma**self.steps)
        scratch += self.epsilon
        np.divide(mean, scratch, out=scratch)
        scratch *= self.lr / (1 - beta**self.steps)
        np.subtract(p, scratch, out=p)


class AdamW(Adam):
    """Adam with decay of the weights themselves: ``p -= lr * weight_decay * p``.

    I. Loshchilov and F. Hutter, "Decoupled weight decay regularization", ICLR 2019, algorithm 2.

    Parameters
    ----------
    parameters, lr, betas, epsilon
        As for `Adam`.
    weight_decay : float, default 0.01
        As above.
    """

    def __init__(
        self,
        parameters: Iterable[Tensor],
        lr: float = 1e-3,
        *,
        betas: tuple[float, float] = (0.9, 0.999),
        epsilon: float = 1e-8,
        weight_decay: float = 0.01,
    ) -> None:
        super().__init__(parameters, lr, betas=betas, epsilon=epsilon)
        _not_negative(weight_decay=weight_decay)
        self.decay = weight_decay

    def update(self, scratch: Array, p: Array, g: Array, *states: Array) -> None:
        """Update a piece of a parameter."""
        p *= 1 - self.lr * self.decay
        super().update(scratch, p, g, *states)


class Adagrad(Optimizer):
    """Rates that fall with the sum of squared gradients: ``p -= lr * g / (sqrt(sum) + epsilon)``.

    J. Duchi, E. Hazan and Y. Singer, "Adaptive subgradient methods", Journal of Machine Learning
    Research 12, 2011.

    Parameters
    ----------
    parameters : iterable of Tensors
        What to update.
    lr : float, default 0.01
        Learning rate.
    epsilon : float, default 1e-10
        As above.
    weight_decay : float, default 0
        ``weight_decay * p`` is added to the gradient.
    """

    def __init__(
        self,
        parameters: Iterable[Tensor],
        lr: float = 1e-2,
        *,
        epsilon: float = 1e-10,
        weight_decay: float = 0.0,
    ) -> None:
        _not_negative(epsilon=epsilon)
        super().__init__(parameters, lr, weight_decay, states=1)
        self.epsilon = epsilon

    def update(self, scratch: Array, p: Array, g: Array, *states: Array) -> None:
        """Update a piece of a parameter."""
        (total,) = states
        np.multiply(g, g, out=scratch)
        total += scratch
        _scaled_step(scratch, p, g, total, self.lr, self.epsilon)


class RMSProp(Optimizer):
    """Rates over the root of the mean square gradient: ``p -= lr * g / (sqrt(mean) + epsilon)``.

    T. Tieleman and G. Hinton, "Neural networks for machine learning", lecture 6.5, 2012.

    Parameters
    ----------
    parameters : iterable of Tensors
        What to update.
    lr : float, default 0.01
        Learning rate.
    alpha : float, default 0.99
        How much of the mean square stays.
    epsilon : float, default 1e-8
        As above.
    weight_decay : float, default 0
        ``weight_decay * p`` is added to the gradient.
    """

    def __init__(
        self,
        parameters: Iterable[Tensor],
        lr: float = 1e-2,
        *,
        alpha: float = 0.99,
        epsilon: float = 1e-8,
        weight_decay: float = 0.0,
    ) -> None:
        _share(alpha=alpha)
        _not_negative(epsilon=epsilon)
        super().__init__(parameters, lr, weight_decay, states=1)
        self.alpha = alpha
        self.epsilon = epsilon

    def update(self, scratch: Array, p: Array, g: Array, *states: Array) -> None:
        """Update a piece of a parameter."""
        (square,) = states
        np.multiply(g, g, out=scratch)
        scratch -= square
        scratch *= 1 - self.alpha
        square += scratch
        _scaled_step(scratch, p, g, square, self.lr, self.epsilon)


def _scaled_step(
    scratch: Array, p: Array, g: Array, square: Array, lr: float, epsilon: float
) -> None:
    """Subtract lr * g / (sqrt(square) + epsilon) from p."""
    np.sqrt(square, out=scratch)
    scratch += epsilon
    np.divide(g, scratch, out=scratch)
    scratch *= lr
    np.subtract(p, scratch, out=p)


# --- schedules: factors of the learning rate, by the number of steps taken ---

Factor: TypeAlias = "Callable[[int], float]"


def step_decay(every: int, factor: float = 0.1) -> Factor:
    """Return a factor that is multiplied by `factor` after each `every` steps."""
    if every < 1:
        raise ValueError(f"every: at least 1, not {every}")
    return lambda step: factor ** (step // every)


def cosine_decay(steps: int, least: float = 0.0) -> Factor:
    """Return a factor that falls from 1 to `least` in half a wave of `steps` steps, then stays.

    I. Loshchilov and F. Hutter, "SGDR: stochastic gradient descent with warm restarts", ICLR 2017,
    equation 5.
    """
    if steps < 1:
        raise ValueError(f"steps: at least 1, not {steps}")
    return lambda step: least + (1 - least) * (1 + math.cos(math.pi * min(step, steps) / steps)) / 2


def warm_up(steps: int, then: Factor | None = None) -> Factor:
    """Return a factor that rises evenly from 1 / steps to 1, and then is that of `then`.

    P. Goyal et al., "Accurate, large minibatch SGD", arXiv:1706.02677, section 2.2.
    """
    if steps < 1:
        raise ValueError(f"steps: at least 1, not {steps}")
    return lambda step: (
        (step + 1) / steps if step < steps else then(step - steps) if then is not None else 1.0
    )


class Schedule:
    """Sets an optimizer's rate to its first one times a factor.

    Parameters
    ----------
    optimizer : Optimizer
        Its `lr` is the rate at factor 1.
    factor : callable
        From the number of steps taken to the factor: `step_decay`, `cosine_decay`, `warm_up`, ...

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
        self.optimizer = optimizer
        self.factor = factor
        self.full = optimizer.lr
        self.steps = 0
        optimizer.lr = self.full * factor(0)

    def step(self) -> None:
        """Count a step of the optimizer, and set the rate of the next."""
        self.steps += 1
        self.optimizer.lr = self.full * self.factor(self.steps)


# --- clipping ---


def _gradients(parameters: Iterable[Tensor]) -> Iterator[Array]:
    return (p.grad.data for p in parameters if p.grad is not None)


def clip_grad_norm(parameters: Iterable[Tensor], most: float) -> float:
    """Scale all gradients, in place, so that their common Euclidean norm is at most `most`.

    R. Pascanu, T. Mikolov and Y. Bengio, "On the difficulty of training recurrent neural networks",
    ICML 2013, algorithm 1.

    Returns
    -------
    float
        The norm before.
    """
    _not_negative(most=most)
    gradients = list(_gradients(parameters))
    norm = math.sqrt(sum(float(np.vdot(g, g)) for g in gradients))
    if norm > most:
        for g in gradients:
            g *= most / norm
    return norm


def clip_grad_value(parameters: Iterable[Tensor], most: float) -> None:
    """Limit every element of every gradient, in place, to [-most, most]."""
    _not_negative(most=most)
    for g in _gradients(parameters):
        np.clip(g, -most, most, out=g)

"""Optimizers, schedules of their rates, and clipping of gradients. All update in place.

Every update runs over pieces that stay in cache, through scratch and 0-d arrays made beforehand: no
step allocates an array, but for the copy of a gradient that is not contiguous.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tropical.autograd import Tensor
from tropical.autograd.products import add_weight_gradient, bias_gradient, weight_gradient
from tropical.autograd.tensor import walk_back
from tropical.nn import matching, not_negative

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from tropical.autograd.graph import Absorb, Node, Rule

Array: TypeAlias = NDArray[Any]

_PIECE = 1 << 16  # elements: three arrays of them and the scratch fit in a common L2


def _share(**values: float) -> None:
    for name, value in values.items():
        if not 0 <= value < 1:
            raise ValueError(f"{name}: must lie in [0, 1), got {value}")


class Optimizer:
    """What all optimizers share; subclasses define `coefficients` and `update`.

    Parameters
    ----------
    parameters : iterable of Tensors
        What to update: leaves that require grad, with writeable, contiguous data.
    lr : float
        The learning rate; may be changed at any time.
    weight_decay : float
        ``weight_decay * p`` is added to every gradient.
    states : int
        How many arrays like itself each parameter needs.

    Attributes
    ----------
    steps : list of int
        How often each parameter was updated.
    decoupled : bool
        Of the class: whether `update` sees to `weight_decay` itself.

    Raises
    ------
    ValueError
        If there is no parameter, one is given twice, is no such leaf, or a number is out of range.

    Notes
    -----
    A subclass sets what its `coefficients` are made of before it calls this constructor, which
    counts them.
    """

    decoupled = False

    def __init__(
        self, parameters: Iterable[Tensor], lr: float, weight_decay: float, states: int
    ) -> None:
        not_negative(lr=lr, weight_decay=weight_decay)
        self.lr = lr
        self.weight_decay = weight_decay
        self.parameters = _leaves(parameters)
        self.steps = [0] * len(self.parameters)
        self.states = [tuple(np.zeros_like(p.data) for _ in range(states)) for p in self.parameters]
        self._kinds = [(p.shape, p.dtype) for p in self.parameters]
        length = min(_PIECE, max(p.size for p in self.parameters))
        count = 1 + len(self.coefficients(1))
        self._scratch = {
            dtype: (np.empty(length, dtype), np.empty(length, dtype)) for _, dtype in self._kinds
        }
        # NumPy makes an array of each Python float that it computes with; of these it makes none.
        self._coefficients = {
            dtype: tuple(np.zeros((), dtype) for _ in range(count)) for _, dtype in self._kinds
        }

    def zero_grad(self) -> None:
        """Forget the gradients: set them to None."""
        for p in self.parameters:
            p.grad = None

    def step(self) -> None:
        """Update every parameter that has a gradient.

        Raises
        ------
        ValueError
            If the data of one is no longer writeable, contiguous and of the shape and dtype that
            it had, or its gradient is of another shape; nothing is changed then.
        TypeError
            If a gradient is no Tensor.
        """
        known = None  # most parameters were updated equally often, and share their coefficients
        for number in self._moving():
            self.steps[number] += 1
            needed = self._kinds[number][1], self.steps[number]
            if needed != known:
                self._set_coefficients(*needed)
                known = needed
            self._update(number)

    def minimize(self, loss: Tensor) -> None:
        """Walk back from a loss and take a step; no gradient is kept.

        Equivalent to `zero_grad`, `Tensor.backward`, `step` and `zero_grad`, up to rounding. `SGD`
        without momentum and weight decay adds the gradient of a weight of `autograd.linear` to the
        weight in the product that computes it, if the weight is used once, and updates biases in
        the walk, too; not so where hooks or `autograd.checkpoint` take part, which might look.

        Parameters
        ----------
        loss : Tensor
            One number. Nothing but a parameter itself may refer to its data: not a view of it, and
            not ``parameter.detach()``, from which `loss` was also computed.

        Raises
        ------
        RuntimeError, ValueError
            As `Tensor.backward` and `step` do, before any parameter is changed.
        """
        for number in range(len(self.parameters)):
            self._check_data(number)
        self.zero_grad()
        walk_back(loss, "minimize", absorb=self._absorber())
        self.step()
        self.zero_grad()

    def _absorber(self) -> Absorb | None:
        """Return what takes gradients in during the walk, for `minimize`."""
        return None

    def _moving(self) -> list[int]:
        """Return which parameters have a gradient, all of them checked."""
        moving = []
        for number, p in enumerate(self.parameters):
            if p.grad is None:
                continue
            self._check_data(number)
            if not isinstance(p.grad, Tensor):
                raise TypeError(
                    f"parameters[{number}]: its grad must be a Tensor, not {type(p.grad).__name__}"
                )
            if p.grad.shape != p.shape:
                raise ValueError(
                    f"parameters[{number}]: has shape {p.shape}, its gradient {p.grad.shape}"
                )
            moving.append(number)
        return moving

    def _check_data(self, number: int) -> None:
        data, (shape, dtype) = self.parameters[number].data, self._kinds[number]
        if data.shape != shape or data.dtype != dtype or not data.flags.carray:
            raise ValueError(
                f"parameters[{number}]: its data must be writeable, contiguous {dtype} of "
                f"shape {shape}, as before; is {data.dtype} of shape {data.shape}"
            )

    def _set_coefficients(self, dtype: np.dtype[Any], steps: int) -> None:
        values = (self.weight_decay, *self.coefficients(steps))
        for array, value in zip(self._coefficients[dtype], values, strict=True):
            array[...] = value

    def _update(self, number: int) -> None:
        p = self.parameters[number]
        assert p.grad is not None
        data, gradient = p.data, p.grad.data
        decayed, scratch = self._scratch[data.dtype]
        decay, *coefficients = self._coefficients[data.dtype]
        flat = [a.reshape(-1) for a in (data, gradient, *self.states[number])]
        for start in range(0, data.size, _PIECE):
            piece, g, *own = [a[start : start + _PIECE] for a in flat]
            if self.weight_decay and not self.decoupled:
                room = decayed[: piece.size]
                np.multiply(piece, decay, out=room)
                g = np.add(room, g, out=room)
            self.update(coefficients, scratch[: piece.size], piece, g, *own)

    def coefficients(self, steps: int) -> tuple[float, ...]:
        """Return the numbers that `update` needs for the steps-th update of a parameter."""
        raise NotImplementedError

    def update(
        self, coefficients: Sequence[Array], scratch: Array, p: Array, g: Array, *states: Array
    ) -> None:
        """Update a piece of a parameter in place.

        Parameters
        ----------
        coefficients : sequence of arrays, ()
            What the method of this name returned, in the dtype of p.
        scratch, p, g : array, (n,)
            Room for anything, the piece, and its gradient, decay included; g is not to be changed.
        *states : array, (n,)
            What the optimizer remembers of the piece.
        """
        raise NotImplementedError

    def state_dict(self) -> dict[str, Array]:
        """Return copies of what the optimizer remembers, by name, for an ``.npz`` file."""
        state = {
            "optimizer": np.array(type(self).__name__),
            "steps": np.array(self.steps),
            "lr": np.array(self.lr),
        }
        for number, arrays in enumerate(self.states):
            state.update({f"{number}.{i}": array.copy() for i, array in enumerate(arrays)})
        return state

    def load_state_dict(self, state: Mapping[str, Array]) -> None:
        """Take over what another optimizer of this kind and these parameters remembered.

        Raises
        ------
        ValueError
            If it is of another kind, a name is missing or unknown, a shape differs, or the rate or
            a count of steps is out of range; nothing is changed then.
        TypeError
            If an array cannot be cast to the dtype that is wanted; nothing is changed then.
        """
        kind, own = str(state.get("optimizer")), type(self).__name__
        if kind != own:
            raise ValueError(f"state: is of the optimizer {kind}, {own} is wanted")
        arrays = matching(state, self.state_dict())
        lr, steps = float(arrays["lr"]), arrays["steps"].tolist()
        not_negative(lr=lr, steps=min(steps))
        self.lr, self.steps = lr, steps
        for number, own_arrays in enumerate(self.states):
            for i, array in enumerate(own_arrays):
                np.copyto(array, arrays[f"{number}.{i}"], casting="same_kind")


def _leaves(parameters: Iterable[Any]) -> list[Tensor]:
    """Return the parameters as a list, checked."""
    leaves = list(parameters)
    if not leaves:
        raise ValueError("parameters: there are none")
    if len({id(p) for p in leaves}) < len(leaves):
        raise ValueError("parameters: one is given twice")
    for number, p in enumerate(leaves):
        leaf = isinstance(p, Tensor) and p.requires_grad and p.is_leaf
        if not (leaf and p.data.flags.carray):
            raise ValueError(
                f"parameters[{number}]: must be a leaf that requires grad, with writeable, "
                "contiguous data"
            )
    return leaves


def _move_mean_square(square: Array, g: Array, keep: Array, share: Array, scratch: Array) -> None:
    """Set square to keep * square + share * g * g, which is never negative."""
    square *= keep
    np.multiply(g, share, out=scratch)
    scratch *= g
    square += scratch


def _scaled_step(scratch: Array, p: Array, g: Array, square: Array, lr: Array, eps: Array) -> None:
    """Subtract lr * g / (sqrt(square) + eps) from p."""
    np.sqrt(square, out=scratch)
    scratch += eps
    np.divide(g, scratch, out=scratch)
    scratch *= lr
    np.subtract(p, scratch, out=p)


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
        self.momentum = momentum
        self.nesterov = nesterov
        super().__init__(parameters, lr, weight_decay, states=1 if momentum else 0)

    def _absorber(self) -> Absorb | None:
        """Return what subtracts lr times its gradient from a weight, in one product, or a bias."""
        if type(self) is not SGD or self.momentum or self.weight_decay:
            return None
        lr = float(self.lr)
        numbers = {p.node: number for number, p in enumerate(self.parameters)}

        def absorb(node: Node, rule: Rule, g: Any, arguments: tuple[Any, ...]) -> bool:
            number = numbers.get(node)
            if number is None:
                return False
            data = self.parameters[number].data
            if rule is weight_gradient:
                add_weight_gradient(data, -lr, g, *arguments)
            elif rule is bias_gradient:
                data -= lr * rule(g, *arguments)
            else:
                return False
            self.steps[number] += 1
            return True

        return absorb

    def coefficients(self, steps: int) -> tuple[float, ...]:
        """Return lr, momentum, and their product."""
        return self.lr, self.momentum, self.lr * self.momentum

    def update(
        self, coefficients: Sequence[Array], scratch: Array, p: Array, g: Array, *states: Array
    ) -> None:
        """Update a piece of a parameter."""
        lr, momentum, ahead = coefficients
        if states:
            (v,) = states
            v *= momentum
            v += g
            if self.nesterov:
                np.multiply(v, ahead, out=scratch)
                np.subtract(p, scratch, out=p)
            else:
                g = v
        np.multiply(g, lr, out=scratch)
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
    eps : float, default 1e-8
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
        eps: float = 1e-8,
        weight_decay: float = 0.0,
    ) -> None:
        if np.shape(betas) != (2,):
            raise ValueError(f"betas: two numbers are wanted, got {betas!r}")
        _share(**{"betas[0]": betas[0], "betas[1]": betas[1]})
        not_negative(eps=eps)
        self.betas = betas
        self.eps = eps
        super().__init__(parameters, lr, weight_decay, states=2)

    def coefficients(self, steps: int) -> tuple[float, ...]:
        """Return what each mean keeps and takes, and scale, eps and rate of the step."""
        beta, gamma = self.betas
        scale = 1 / math.sqrt(1 - gamma**steps)
        rate = self.lr / (1 - beta**steps)
        return beta, 1 - beta, gamma, 1 - gamma, scale, self.eps, rate

    def update(
        self, coefficients: Sequence[Array], scratch: Array, p: Array, g: Array, *states: Array
    ) -> None:
        """Update a piece of a parameter."""
        (mean, square), (beta, new, gamma, share, scale, eps, rate) = states, coefficients
        mean *= beta
        np.multiply(g, new, out=scratch)
        mean += scratch
        _move_mean_square(square, g, gamma, share, scratch)
        np.sqrt(square, out=scratch)
        scratch *= scale
        scratch += eps
        np.divide(mean, scratch, out=scratch)
        scratch *= rate
        np.subtract(p, scratch, out=p)


class AdamW(Adam):
    """Adam with decay of the weights themselves: ``p -= lr * weight_decay * p``.

    I. Loshchilov and F. Hutter, "Decoupled weight decay regularization", ICLR 2019, algorithm 2.

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
        """Return those of Adam, and what stays of the weights."""
        return (*super().coefficients(steps), 1 - self.lr * self.weight_decay)

    def update(
        self, coefficients: Sequence[Array], scratch: Array, p: Array, g: Array, *states: Array
    ) -> None:
        """Update a piece of a parameter."""
        *of_adam, stays = coefficients
        p *= stays
        super().update(of_adam, scratch, p, g, *states)


class Adagrad(Optimizer):
    """Rates that fall with the sum of squared gradients: ``p -= lr * g / (sqrt(sum) + eps)``.

    J. Duchi, E. Hazan and Y. Singer, "Adaptive subgradient methods", Journal of Machine Learning
    Research 12, 2011.

    Parameters
    ----------
    parameters : iterable of Tensors
        What to update.
    lr : float, default 0.01
        Learning rate.
    eps : float, default 1e-10
        As above.
    weight_decay : float, default 0
        ``weight_decay * p`` is added to the gradient.
    """

    def __init__(
        self,
        parameters: Iterable[Tensor],
        lr: float = 1e-2,
        *,
        eps: float = 1e-10,
        weight_decay: float = 0.0,
    ) -> None:
        not_negative(eps=eps)
        self.eps = eps
        super().__init__(parameters, lr, weight_decay, states=1)

    def coefficients(self, steps: int) -> tuple[float, ...]:
        """Return lr and eps."""
        return self.lr, self.eps

    def update(
        self, coefficients: Sequence[Array], scratch: Array, p: Array, g: Array, *states: Array
    ) -> None:
        """Update a piece of a parameter."""
        (total,), (lr, eps) = states, coefficients
        np.multiply(g, g, out=scratch)
        total += scratch
        _scaled_step(scratch, p, g, total, lr, eps)


class RMSProp(Optimizer):
    """Rates over the root of the mean square gradient: ``p -= lr * g / (sqrt(mean) + eps)``.

    T. Tieleman and G. Hinton, "Neural networks for machine learning", lecture 6.5, 2012.

    Parameters
    ----------
    parameters : iterable of Tensors
        What to update.
    lr : float, default 0.01
        Learning rate.
    alpha : float, default 0.99
        How much of the mean square stays.
    eps : float, default 1e-8
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
        eps: float = 1e-8,
        weight_decay: float = 0.0,
    ) -> None:
        _share(alpha=alpha)
        not_negative(eps=eps)
        self.alpha = alpha
        self.eps = eps
        super().__init__(parameters, lr, weight_decay, states=1)

    def coefficients(self, steps: int) -> tuple[float, ...]:
        """Return what the mean keeps and takes, lr and eps."""
        return self.alpha, 1 - self.alpha, self.lr, self.eps

    def update(
        self, coefficients: Sequence[Array], scratch: Array, p: Array, g: Array, *states: Array
    ) -> None:
        """Update a piece of a parameter."""
        (square,), (alpha, share, lr, eps) = states, coefficients
        _move_mean_square(square, g, alpha, share, scratch)
        _scaled_step(scratch, p, g, square, lr, eps)


# --- schedules: factors of the learning rate, by the number of steps taken ---

Factor: TypeAlias = "Callable[[int], float]"


def _check_count(**counts: int) -> None:
    for name, count in counts.items():
        if count < 1:
            raise ValueError(f"{name}: at least 1, not {count}")


def step_decay(every: int, factor: float = 0.1) -> Factor:
    """Return a factor that is multiplied by `factor` after each `every` steps."""
    _check_count(every=every)
    return lambda step: factor ** (step // every)


def cosine_decay(steps: int, least: float = 0.0) -> Factor:
    """Return a factor that falls from 1 to `least` in half a wave of `steps` steps, then stays.

    I. Loshchilov and F. Hutter, "SGDR: stochastic gradient descent with warm restarts", ICLR 2017,
    equation 5.
    """
    _check_count(steps=steps)
    return lambda step: least + (1 - least) * (1 + math.cos(math.pi * min(step, steps) / steps)) / 2


def warm_up(steps: int, then: Factor | None = None) -> Factor:
    """Return a factor that rises evenly from 1 / steps to 1, and then is that of `then`.

    P. Goyal et al., "Accurate, large minibatch SGD", arXiv:1706.02677, section 2.2.
    """
    _check_count(steps=steps)
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
        self.base_lr = optimizer.lr
        self.steps = 0
        self._set_rate()

    def step(self) -> None:
        """Count a step of the optimizer, and set the rate of the next."""
        self.steps += 1
        self._set_rate()

    def _set_rate(self) -> None:
        self.optimizer.lr = self.base_lr * self.factor(self.steps)

    def state_dict(self) -> dict[str, Array]:
        """Return the count of steps and the rate at factor 1, by name, for an ``.npz`` file."""
        return {"steps": np.array(self.steps), "base_lr": np.array(self.base_lr)}

    def load_state_dict(self, state: Mapping[str, Array]) -> None:
        """Go on where another schedule of this factor was, and set the optimizer's rate.

        Raises
        ------
        ValueError
            If a name is missing or unknown, a shape differs or a number is out of range; nothing is
            changed then.
        TypeError
            If one is no number; nothing is changed then.
        """
        arrays = matching(state, self.state_dict())
        steps, base_lr = int(arrays["steps"]), float(arrays["base_lr"])
        not_negative(steps=steps, base_lr=base_lr)
        self.steps, self.base_lr = steps, base_lr
        self._set_rate()


# --- clipping ---


def _gradients(parameters: Iterable[Tensor] | Tensor, **limit: float) -> list[Array]:
    """Return the gradients that are to be clipped to a limit, which is checked."""
    ((name, value),) = limit.items()
    if not value >= 0:
        raise ValueError(f"{name}: must not be negative, got {value}")
    several = [parameters] if isinstance(parameters, Tensor) else parameters
    return [p.grad.data for p in several if p.grad is not None]


def _pieces(array: Array) -> Iterator[Array]:
    flat = array.reshape(-1)
    return (flat[start : start + _PIECE] for start in range(0, flat.size, _PIECE))


def _norm(x: Array) -> float:
    """Return the Euclidean norm, which neither overflows nor vanishes on the way."""
    wide = x.astype(np.float64, copy=False)
    square = float(np.vdot(wide, wide))
    if 1e-200 < square < math.inf:
        return math.sqrt(square)
    largest = float(np.abs(wide).max(initial=0.0))
    if not 0 < largest < math.inf:
        return largest
    scaled = wide / largest
    return largest * math.sqrt(np.vdot(scaled, scaled))


def clip_grad_norm(parameters: Iterable[Tensor] | Tensor, max_norm: float) -> float:
    """Scale all gradients, in place, so that their common Euclidean norm is at most `max_norm`.

    Parameters
    ----------
    parameters : iterable of Tensors, or Tensor
        Those without gradient are passed over.
    max_norm : float
        The largest norm to allow; infinity to learn the norm alone.

    Returns
    -------
    float
        The norm before, summed in float64. Where it is NaN, the gradients are left as they are.
        Where it is infinite they are multiplied by 0, so that infinities become NaN and all else
        becomes 0. Look at it before the optimizer's step.

    Notes
    -----
    R. Pascanu, T. Mikolov and Y. Bengio, "On the difficulty of training recurrent neural networks",
    ICML 2013, algorithm 1.
    """
    gradients = _gradients(parameters, max_norm=max_norm)
    norm = _norm(np.array([_norm(piece) for g in gradients for piece in _pieces(g)]))
    if norm > max_norm:
        with np.errstate(invalid="ignore"):  # infinity times zero
            for g in {id(g): g for g in gradients}.values():
                g *= max_norm / norm
    return norm


def clip_grad_value(parameters: Iterable[Tensor] | Tensor, clip_value: float) -> None:
    """Limit every element of every gradient, in place, to [-clip_value, clip_value]; NaN stays.

    Parameters
    ----------
    parameters : iterable of Tensors, or Tensor
        Those without gradient are passed over.
    clip_value : float
        The largest size to allow.
    """
    for g in _gradients(parameters, clip_value=clip_value):
        np.clip(g, -clip_value, clip_value, out=g)

"""Computes a part of the graph twice instead of keeping what its gradients need."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from . import random
from .graph import Array, Gradient, Node, enable_grad, leaf, no_grad, state
from .tensor import Tensor, tensor_of

if TYPE_CHECKING:
    from collections.abc import Callable


def checkpoint(function: Callable[..., Tensor], *arguments: Any) -> Tensor:
    """Return ``function(*arguments)``, whose inner values backward computes again.

    Parameters
    ----------
    function : callable
        Takes `arguments` and returns one Tensor; it may use parameters of its own, whose gradients
        are collected as ever. Masks from the default generator are drawn the same again.
    *arguments
        Tensors and anything else.

    Returns
    -------
    Tensor
        The value.

    Raises
    ------
    RuntimeError
        In backward with ``create_graph=True``, which would need the inner values.

    Notes
    -----
    T. Chen, B. Xu, C. Zhang and C. Guestrin, "Training deep nets with sublinear memory cost",
    arXiv:1604.06174, section 3.

    Examples
    --------
    >>> from tropical.autograd import Tensor, checkpoint
    >>> x = Tensor([1.0, 2.0], requires_grad=True)
    >>> checkpoint(lambda x: (x * x).exp().log(), x).sum().backward()
    >>> x.grad
    Tensor([2., 4.])
    """
    before = random.generator().bit_generator.state
    with no_grad():
        value = function(*arguments)
    if not isinstance(value, Tensor):
        raise TypeError(f"function: must return a Tensor, returned {type(value).__name__}")
    if not state.recording:
        return value
    tensors = [a for a in arguments if isinstance(a, Tensor)]
    replay = _Replay(function, arguments, before)
    # The first rule walks the inner graph for all inputs. One more leads to a leaf that is always
    # there: parameters inside may want gradients although no argument does.
    nodes = (leaf(value), *(t.node for t in tensors))
    rules = (replay.walk, *(replay.gradient_of(i) for i in range(len(tensors))))
    empty: tuple[tuple[()], ...] = ((),) * len(nodes)
    return tensor_of(value.data, Node(nodes, rules, empty, empty))


class _Replay:
    """Computes the inner graph again, once a walk."""

    def __init__(
        self, function: Callable[..., Tensor], arguments: tuple[Any, ...], generator: Any
    ) -> None:
        self.function = function
        self.arguments = arguments
        self.generator = generator
        self.inner: list[Tensor] = []

    def walk(self, g: Gradient) -> Gradient:
        if isinstance(g, Tensor):
            raise RuntimeError("checkpoint: create_graph=True is not possible through it")
        self.inner = [
            Tensor(a.data, requires_grad=a.requires_grad)
            for a in self.arguments
            if isinstance(a, Tensor)
        ]
        inner = iter(self.inner)
        generator = random.generator().bit_generator
        now, generator.state = generator.state, self.generator
        try:
            with enable_grad():
                value = self.function(
                    *(next(inner) if isinstance(a, Tensor) else a for a in self.arguments)
                )
        finally:
            generator.state = now
        if value.requires_grad:
            value.backward(g)
        return np.zeros(())

    def gradient_of(self, number: int) -> Callable[[Gradient], Array]:
        def rule(g: Gradient) -> Array:
            tensor = self.inner[number]
            gradient, tensor.grad = tensor.grad, None
            return np.zeros_like(tensor.data) if gradient is None else gradient.data

        return rule

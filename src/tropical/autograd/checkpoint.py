"""Computes a part of the graph twice instead of keeping what its gradients need."""

from __future__ import annotations

import copy
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from . import random
from .graph import Gradient, Node, Walk, behind, enable_grad, state
from .tensor import Tensor, tensor_of

if TYPE_CHECKING:
    from collections.abc import Callable


def checkpoint(function: Callable[..., Tensor], *arguments: Any) -> Tensor:
    """Return ``function(*arguments)``, whose inner values backward computes again.

    Parameters
    ----------
    function : callable
        Takes `arguments` and returns one Tensor; it may use parameters of its own, whose gradients
        are collected as ever. The second time it must compute the same: masks from the default
        generator are drawn the same again, those from a generator of its own are not. What it does
        beside, it does twice: batch norm's running statistics move twice.
    *arguments
        Tensors and anything else.

    Returns
    -------
    Tensor
        The value.

    Raises
    ------
    TypeError
        If `function` returns anything else.

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
    # As they are now: their owner may change what they refer to.
    arguments = tuple(tensor_of(a.data, a.node) if isinstance(a, Tensor) else a for a in arguments)
    generator = random.generator()
    before = copy.deepcopy(generator)
    newest = Node((), (), (), ()).number
    with random.drawing_from(before) as drawn:
        value = function(*arguments)
    generator.bit_generator.state = drawn.bit_generator.state
    if not isinstance(value, Tensor):
        raise TypeError(f"function: must return a Tensor, returned {type(value).__name__}")
    if value.node is None or value.node.number <= newest:  # nothing was computed that is recorded
        return value
    # The graph of this first time only tells what the value depends on.
    _, ends = behind(value.node, lambda node: node.number <= newest)
    inputs = tuple(ends)
    replay = _Replay(partial(function, *arguments), before, inputs)
    rules = tuple(partial(replay.gradient, number) for number in range(len(inputs)))
    nothing: tuple[tuple[()], ...] = ((),) * len(inputs)
    return tensor_of(value.data, Node(inputs, rules, nothing, nothing))


class _Replay:
    """Computes the graph again, once a walk, for the gradients of all inputs."""

    def __init__(
        self,
        function: Callable[[], Tensor],
        generator: np.random.Generator,
        inputs: tuple[Node, ...],
    ) -> None:
        self.function = function
        self.generator = generator
        self.inputs = inputs
        self.walk = 0
        self.found: dict[Node, Gradient] = {}

    def gradient(self, number: int, g: Gradient) -> Gradient:
        """Return the gradient of an input, g that of the value."""
        if self.walk != state.walk:
            self.walk = state.walk
            self.found = self._gradients(g)
        return self.found.pop(self.inputs[number])

    def _gradients(self, g: Gradient) -> dict[Node, Gradient]:
        with random.drawing_from(self.generator), enable_grad():
            value = self.function()
        found: dict[Node, Gradient] = {}
        recorded = isinstance(g, Tensor)
        wanted = set(self.inputs)
        if value.node is not None:
            walk = Walk(
                value.node,
                found.__setitem__,
                retain=recorded,
                recorded=recorded,
                wanted=wanted,
                nested=True,
            )
            walk.run(g if recorded else tensor_of(g, None))
        if found.keys() != wanted:
            raise RuntimeError(
                "checkpoint: function depends on other tensors the second time; "
                f"{len(wanted - found.keys())} of {len(wanted)} got no gradient"
            )
        return found

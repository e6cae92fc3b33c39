"""Computes a part of the graph twice instead of keeping what its gradients need."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from . import random
from .graph import Gradient, Node, Walk, behind, enable_grad, next_number, state
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
        generator are drawn the same again (from a generator that this one seeds), those from a
        generator of its own are not, and gradients are wrong then. Side effects happen twice: batch
        norm's running statistics move twice.
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
    RuntimeError
        In the walk, if `function` returns another shape the second time or depends on other
        tensors.

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
    call = _Call(partial(function, *arguments), int(random.generator().integers(1 << 63)))
    value, inputs = call()
    if not inputs:
        return tensor_of(value.data, None)
    if value.node in inputs:  # it was there before
        return value
    replay = _Replay(call, value.shape, inputs)
    rules = tuple(partial(replay.gradient, number) for number in range(len(inputs)))
    nothing: tuple[tuple[()], ...] = ((),) * len(inputs)
    node = Node(tuple(inputs), rules, nothing, nothing)
    node.replays = True
    return tensor_of(value.data, node)


class _Call:
    """A function, and the seed of what it draws from the default generator."""

    def __init__(self, function: Callable[[], Tensor], seed: int) -> None:
        self.function = function
        self.seed = seed

    def __call__(self) -> tuple[Tensor, list[Node]]:
        """Return its value, and what was there before, or stays, that the value depends on."""
        newest = next_number()
        with random.drawing_from(np.random.default_rng(self.seed)):
            value = self.function()
        if not isinstance(value, Tensor):
            raise TypeError(f"function: must return a Tensor, returned {type(value).__name__}")
        if value.node is None:
            return value, []

        def ends(node: Node) -> bool:
            return node.number <= newest or (node.tensor is not None and node.tensor() is not None)

        _, inputs = behind(value.node, ends)
        return value, sorted(inputs, key=lambda node: node.number)


class _Replay:
    """Computes the graph again, once a walk, for the gradients that the walk needs."""

    def __init__(self, call: _Call, shape: tuple[int, ...], inputs: list[Node]) -> None:
        self.call = call
        self.shape = shape
        self.inputs = inputs

    def gradient(self, number: int, g: Gradient) -> Gradient:
        """Return the gradient of an input, g that of the value."""
        walk = state.walk
        assert walk is not None
        if self not in walk.replayed:
            leading = walk.leading
            wanted = {node for node in self.inputs if leading is None or node in leading}
            walk.replayed[self] = self._gradients(g, wanted)
        return walk.replayed[self].pop(self.inputs[number])

    def _gradients(self, g: Gradient, wanted: set[Node]) -> dict[Node, Gradient]:
        with enable_grad():
            value, inputs = self.call()
        if inputs != self.inputs or value.shape != self.shape:
            raise RuntimeError(
                "checkpoint: the second time, function depends on other tensors or returns another "
                f"shape: {len(inputs)} tensors and {value.shape}, before {len(self.inputs)} and "
                f"{self.shape}"
            )
        assert value.node is not None
        found: dict[Node, Gradient] = {}
        recorded = isinstance(g, Tensor)
        walk = Walk(
            value.node,
            found.__setitem__,
            retain=recorded,
            recorded=recorded,
            wanted=wanted,
            ends=set(self.inputs),
        )
        walk.run(g if recorded else tensor_of(g, None))
        return found

"""Checkpoints: compute a part of the graph twice instead of keeping its inner values."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from . import random
from .operation import Operation
from .tensor import Tensor, tensor_of
from .value import Array, Gradient, Node, enable_grad, innermost_pass, next_number
from .walk import Walk, behind

if TYPE_CHECKING:
    from collections.abc import Callable


def checkpoint(function: Callable[..., Tensor], *arguments: Any) -> Tensor:
    """Return ``function(*arguments)``, whose inner values the backward pass computes again.

    Parameters
    ----------
    function : callable
        A function of `arguments` that returns one Tensor and may use parameters. The second call
        must return the same value. The default generator, and generators given to `dropout`, draw
        the same numbers in both calls. Side effects happen twice: the running statistics of batch
        normalization change twice. Values computed inside collect no `grad`, even by `retain_grad`.
    *arguments
        Tensors and other objects.

    Returns
    -------
    Tensor
        The value.

    Raises
    ------
    TypeError
        If the value of `function` is not a Tensor.
    RuntimeError
        In the backward pass, if the second call returns another value (a sample of elements is
        compared) or another shape, or depends on other tensors.

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
    # Copies: the owner of a Tensor may change its data and node before the backward pass.
    arguments = tuple(tensor_of(a.data, a.node) if isinstance(a, Tensor) else a for a in arguments)
    call = _Call(partial(function, *arguments), int(random.generator().integers(1 << 63)))
    value, inputs = call()
    if not inputs:
        return tensor_of(value.data, None)
    if value.node in inputs:  # an older tensor
        return value
    replay = _Replay(call, value, inputs)
    rules = tuple(partial(replay.gradient, number) for number in range(len(inputs)))
    # A replay casts each gradient itself: the value in place of each input says so.
    result = Operation.by_gradient(rules).result(tuple(inputs), (value.data,) * (len(inputs) + 1))
    assert result.node is not None
    result.node.replays = True
    return result


class _Call:
    """A function, and what it draws from: first a default generator with the seed."""

    def __init__(self, function: Callable[[], Tensor], seed: int) -> None:
        self.function = function
        self.generators: dict[Any, np.random.Generator] = {None: np.random.default_rng(seed)}

    def __call__(self) -> tuple[Tensor, list[Node]]:
        """Return the value, and the nodes behind it that are older, or leaves that are alive."""
        newest = next_number()
        with random.repeated(self.generators):
            value = self.function()
        if not isinstance(value, Tensor):
            raise TypeError(f"function: expected a Tensor as the value, got {type(value).__name__}")
        if value.node is None:
            return value, []

        def ends(node: Node) -> bool:
            # A leaf from inside that is alive may be a parameter, which another call uses again.
            alive = node.tensor is not None and node.tensor() is not None
            return node.number <= newest or (node.is_leaf and alive)

        _, inputs = behind(value.node, ends)
        return value, sorted(inputs, key=lambda node: node.number)


class _Replay:
    """Computes a part of the graph again, once in each backward pass, and its gradients."""

    def __init__(self, call: _Call, value: Tensor, inputs: list[Node]) -> None:
        self.call = call
        self.shape = value.shape
        self.sample = _sample(value)
        self.inputs = inputs

    def gradient(self, number: int, g: Gradient) -> Gradient:
        """Return the gradient of an input; g is the gradient of the value."""
        walk = innermost_pass.get()
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
            differ = "" if len(inputs) != len(self.inputs) or inputs == self.inputs else " others,"
            raise RuntimeError(
                "function: expected the tensors and the shape of the first call, "
                f"{len(self.inputs)} and {self.shape}, got{differ} {len(inputs)} and {value.shape}"
            )
        # Another kernel may round in another way.
        size = np.abs(self.sample[np.isfinite(self.sample)]).max(initial=0.0)
        if not np.allclose(_sample(value), self.sample, 1e-3, 1e-3 * size, equal_nan=True):
            raise RuntimeError(
                "function: expected the value of the first call, got another; it must draw from "
                "tropical.autograd.generator() alone, or give a generator to dropout"
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


def _sample(value: Tensor) -> Array:
    """Return at most 127 elements of a value, evenly spaced."""
    sample: Array = value.data.flat[:: max(1, value.size // 64)]
    return sample

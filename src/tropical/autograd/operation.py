"""An operation: how its value is computed, and a gradient rule for each differentiable input.

A rule is a function of the value's gradient g and of whatever else it names: inputs (``x``), their
shapes (``x_shape``), other arguments (``axis``), the value itself (``y``). What no rule names is
not kept. Rules are written in operators and operations, so that they compute on arrays, or on
Tensors where a walk is itself recorded (second order).
"""

from __future__ import annotations

import inspect
from functools import partial
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from .graph import OUTPUT, Array, Gradient, Node, Rule, state
from .tensor import Tensor, tensor_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_SHAPE = "_shape"


def _nothing(context: tuple[Any, ...]) -> tuple[Any, ...]:
    return ()


def _getter(names: list[str], known: list[str]) -> Callable[[Any], tuple[Any, ...]]:
    """Return the function that picks a rule's arguments from (arguments..., value)."""
    if not names:
        return _nothing
    if not any(name.endswith(_SHAPE) for name in names):
        first, *rest = (known.index(name) for name in names)
        if rest:
            return itemgetter(first, *rest)
        return lambda context: (context[first],)
    where = [(known.index(name.removesuffix(_SHAPE)), name.endswith(_SHAPE)) for name in names]
    return lambda context: tuple(
        np.shape(context[i]) if is_shape else context[i] for i, is_shape in where
    )


class Operation:
    """Computes a value on arrays, and records it where an input is a Tensor.

    Parameters
    ----------
    value : callable
        ``value(*inputs, *arguments)`` on arrays.
    *rules : callables
        The gradient rules of the first ``len(rules)`` parameters of `value`.
    broadcasts : bool
        The inputs broadcast against each other: their gradients are summed to their shapes.
    """

    __slots__ = ("broadcasts", "getters", "inputs", "rules", "sources", "value")

    def __init__(self, value: Callable[..., Any], *rules: Rule, broadcasts: bool = False) -> None:
        self.value = value
        self.rules = rules
        self.inputs = len(rules)
        self.broadcasts = broadcasts
        known = _parameters(value, len(rules))
        known.append("y")
        getters, sources = [], []
        for rule in rules:
            names = list(inspect.signature(rule).parameters)[1:]
            getters.append(_getter(names, known))
            sources.append(tuple(_source(name, known, self.inputs) for name in names))
        self.getters = tuple(getters)
        self.sources = tuple(sources)

    def __call__(self, *arguments: Any) -> Tensor:
        """Return the value of inputs and arguments; that of arrays alone is an array."""
        inputs = arguments[: self.inputs]
        for argument in inputs:
            if isinstance(argument, Tensor):
                break
        else:
            return self.value(*map(operand, inputs), *arguments[self.inputs :])
        nodes = [x.node if isinstance(x, Tensor) else None for x in inputs]
        arrays = [x.data if isinstance(x, Tensor) else operand(x) for x in inputs]
        arrays += arguments[self.inputs :]
        value = checked(self.value(*arrays))
        if not state.recording or not any(nodes):
            return tensor_of(value, None)
        return tensor_of(value, self.record(tuple(nodes), (*arrays, value)))

    def record(self, nodes: tuple[Node | None, ...], context: tuple[Any, ...]) -> Node:
        """Return the node of the value ``context[-1]`` of the inputs and arguments before it."""
        value = context[-1]
        rules = self.rules
        saved = tuple(
            [
                () if node is None else get(context)
                for node, get in zip(nodes, self.getters, strict=True)
            ]
        )
        for i, (node, x) in enumerate(zip(nodes, context, strict=False)):
            if node is None:
                continue
            if x.dtype != value.dtype or (self.broadcasts and x.shape != value.shape):
                shape = x.shape if self.broadcasts else None
                fitted = partial(_fitted, rules[i], x.dtype, shape)
                rules = (*rules[:i], fitted, *rules[i + 1 :])
        return Node(nodes, rules, saved, self.sources)


def operand(x: Any) -> Any:
    """Return an operand as it is if it is an array or a number, whose dtype yields, else as one."""
    return x if isinstance(x, (np.ndarray, np.generic, int, float)) else np.asarray(x)


def checked(value: Any) -> Array:
    """Return a value as an array; TypeError if a Tensor cannot hold it."""
    array = np.asarray(value)
    if array.dtype.char not in "fd":
        raise TypeError(f"the result would be of {array.dtype}; a Tensor is of float32 or float64")
    return array


def _parameters(value: Callable[..., Any], inputs: int) -> list[str]:
    if isinstance(value, np.ufunc):
        return ["a", "b"] if inputs == 2 else ["x"]
    return list(inspect.signature(value).parameters)


def _source(name: str, known: list[str], inputs: int) -> int | None:
    if name == "y":
        return OUTPUT
    if name.endswith(_SHAPE):
        return None
    number = known.index(name)
    return number if number < inputs else None


def _fitted(rule: Rule, dtype: Any, shape: tuple[int, ...] | None, g: Gradient, *saved: Any) -> Any:
    """Return a rule's gradient, summed where the input was broadcast, in the input's dtype."""
    from .shape import cast, sum_to

    gradient = rule(g, *saved)
    if shape is not None:
        gradient = sum_to(gradient, shape)
    return gradient if gradient.dtype == dtype else cast(gradient, dtype)


def recorded(value: Array, inputs: Sequence[Any], rules: Sequence[Rule]) -> Any:
    """Return `value` as computed from any number of inputs, by rules that name only g."""
    nodes = tuple(x.node if isinstance(x, Tensor) else None for x in inputs)
    if not any(isinstance(x, Tensor) for x in inputs):
        return value
    value = checked(value)
    if not state.recording or not any(nodes):
        return tensor_of(value, None)
    fitted = tuple(
        rule if node is None or x.dtype == value.dtype else partial(_fitted, rule, x.dtype, None)
        for x, node, rule in zip(inputs, nodes, rules, strict=True)
    )
    nothing = ((),) * len(nodes)
    return tensor_of(value, Node(nodes, fitted, nothing, nothing))

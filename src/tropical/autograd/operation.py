"""An operation: a function of arrays, and a gradient rule for each differentiable input.

A rule is a function of the value's gradient g and of arguments that it names: inputs (``x``),
shapes of inputs (``x_shape``), other arguments (``axis``), the value (``y``).
The engine keeps only arrays that a rule names. Rules use operators and operations, so a rule
computes on arrays, or on Tensors if the backward pass is itself recorded (for second derivatives).
"""

from __future__ import annotations

import inspect
from functools import partial
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from tropical.arrays import is_kind, unmasked

from .sums import total
from .tensor import Tensor, tensor_of
from .value import OUTPUT, Array, Gradient, Node, Rule, recording

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
    """Computes a value on arrays, and records the value if an input is a Tensor.

    Parameters
    ----------
    value : callable
        ``value(*inputs, *arguments)`` on arrays.
    *rules : callables
        The gradient rules of the first ``len(rules)`` parameters of `value`.
    broadcasts : bool
        Whether inputs broadcast: each gradient is then summed to the shape of its input.
    """

    __slots__ = ("broadcasts", "getters", "inputs", "names", "rules", "sources", "value")

    def __init__(self, value: Callable[..., Any], *rules: Rule, broadcasts: bool = False) -> None:
        self.value: Any = value
        self.rules: tuple[Rule, ...] = rules
        self.inputs: int = len(rules)
        self.broadcasts: bool = broadcasts
        known = _parameters(value, len(rules))
        # Gradients of rules of others are checked; a list of names says so.
        self.names: list[str] | None = None if all(map(is_own, rules)) else [_name(value), *known]
        known.append("y")
        getters, sources = [], []
        for rule in rules:
            names = list(inspect.signature(rule).parameters)[1:]
            getters.append(_getter(names, known))
            sources.append(tuple(_source(name, known, self.inputs) for name in names))
        self.getters: tuple[Callable[[Any], tuple[Any, ...]], ...] = tuple(getters)
        self.sources: tuple[tuple[int | None, ...], ...] = tuple(sources)

    @classmethod
    def by_gradient(cls, rules: Sequence[Rule]) -> Operation:
        """Return an operation without a function, whose rules name only g."""
        operation = cls.__new__(cls)
        operation.value = None
        operation.rules = tuple(rules)
        operation.inputs = len(rules)
        operation.broadcasts = False
        operation.names = None
        operation.getters = (_nothing,) * len(rules)
        operation.sources = ((),) * len(rules)
        return operation

    def __call__(self, *arguments: Any) -> Tensor:
        """Return the value of inputs and arguments; that of arrays alone is an array."""
        inputs = arguments[: self.inputs]
        for argument in inputs:
            if isinstance(argument, Tensor):
                break
        else:
            return self.value(*map(operand, inputs), *arguments[self.inputs :])
        nodes = tuple([x.node if isinstance(x, Tensor) else None for x in inputs])
        arrays = [x.data if isinstance(x, Tensor) else operand(x) for x in inputs]
        arrays += arguments[self.inputs :]
        return self.result(nodes, (*arrays, self.value(*arrays)))

    def result(self, nodes: tuple[Node | None, ...], context: tuple[Any, ...]) -> Tensor:
        """Return the Tensor of a computed value, and record how the value was computed.

        Every node but a leaf comes from here (and from the short cut in `elementwise`).

        Parameters
        ----------
        nodes : tuple of Node or None
            The node of each input; None for a constant.
        context : tuple
            The inputs' arrays, the other arguments and, last, the value.
        """
        value = context[-1]
        if type(value) is not np.ndarray or value.dtype.char not in "fd":
            value = checked(value)
            context = (*context[:-1], value)
        if not recording.get() or not any(nodes):
            return tensor_of(value, None)
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
            if self.names is not None:
                rules = self._checked(rules, i, x, value)
            if x.dtype != value.dtype or (self.broadcasts and x.shape != value.shape):
                shape = x.shape if self.broadcasts else None
                rule = partial(fitted, rules[i], x.dtype, shape)
                rules = (*rules[:i], rule, *rules[i + 1 :])
        result = Node(nodes, rules, saved, self.sources)
        result.has_foreign_rules = self.names is not None
        return tensor_of(value, result)

    def _checked(
        self, rules: tuple[Rule, ...], number: int, x: Array, value: Array
    ) -> tuple[Rule, ...]:
        """Return the rules with a check of the gradient that the rule of input x computes."""
        assert self.names is not None
        name = f"{self.names[0]}: gradient of {self.names[number + 1]}"
        shapes = {x.shape, value.shape} if self.broadcasts else {x.shape}
        rule = partial(_checked_rule, rules[number], name, shapes, {x.dtype, value.dtype})
        return (*rules[:number], rule, *rules[number + 1 :])


def operand(x: Any) -> Any:
    """Return an array or a number unchanged, because promotion treats them differently."""
    if isinstance(x, (np.generic, int, float)):
        return x
    array = x if type(x) is np.ndarray else unmasked("operand", x)
    if array.dtype.hasobject:
        kind = "an array of objects" if array is x else type(x).__name__
        raise TypeError(f"expected an array or numbers, got {kind}")
    return array


def not_integers(x: Any) -> Any:
    """Return integers as float64, as their differences may wrap, and another operand unchanged."""
    return np.float64(x) if is_kind(np.asarray(x).dtype, "bool", "integer") else x


def number(x: Any) -> Any:
    """Return an operand unless it is an integer that NumPy would compute with as an object."""
    if isinstance(x, int) and np.asarray(x).dtype.hasobject:
        raise TypeError(f"expected an integer of 64 bits, got one of {x.bit_length()} bits")
    return operand(x)


def checked(value: Any) -> Array:
    """Return a value as an array; TypeError if a Tensor cannot hold it."""
    array = np.asarray(value)
    if array.dtype.char not in "fd":
        raise TypeError(f"expected a result of float32 or float64, got {array.dtype}")
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


def _name(value: Any) -> str:
    """Return the name of a function, or where it stands if it is a lambda."""
    name = getattr(value, "__name__", type(value).__name__)
    code = getattr(value, "__code__", None)
    if name != "<lambda>" or code is None:
        return str(name)
    return f"operation at {code.co_filename}:{code.co_firstlineno}"


def is_own(rule: Any) -> bool:
    """Return whether a rule is defined in this package."""
    while isinstance(rule, partial):
        rule = rule.args[0] if rule.func in (fitted, _checked_rule) else rule.func
    return getattr(rule, "__module__", None) is not None and rule.__module__.startswith("tropical.")


def _checked_rule(
    rule: Rule, name: str, shapes: set[Any], dtypes: set[Any], g: Gradient, *saved: Any
) -> Gradient:
    """Return a rule's gradient; raise an error unless the engine can pass it on."""
    gradient = rule(g, *saved)
    kinds = Tensor if isinstance(g, Tensor) else (np.ndarray, np.generic)
    if not isinstance(gradient, kinds):
        expected = "a Tensor, as g is one" if kinds is Tensor else "an ndarray"
        raise TypeError(f"{name}: expected {expected}, got {type(gradient).__name__}")
    if gradient.shape not in shapes:
        expected = " or ".join(map(str, sorted(shapes)))
        raise ValueError(f"{name}: expected shape {expected}, got {gradient.shape}")
    if gradient.dtype not in dtypes:
        expected = " or ".join(sorted(map(str, dtypes)))
        raise TypeError(f"{name}: expected {expected}, got {gradient.dtype}")
    return gradient


def fitted(rule: Rule, dtype: Any, shape: tuple[int, ...] | None, g: Gradient, *saved: Any) -> Any:
    """Return a rule's gradient, summed where the input was broadcast, in the input's dtype."""
    gradient = rule(g, *saved)
    if shape is not None:
        gradient = sum_to(gradient, shape)
    return gradient if gradient.dtype == dtype else cast_to(gradient, dtype)


def of_many(value: Any, inputs: Sequence[Any], rules: Sequence[Rule]) -> Any:
    """Return `value`, computed from any number of inputs, by rules that name only g."""
    if not any(isinstance(x, Tensor) for x in inputs):
        return value
    nodes = tuple([x.node if isinstance(x, Tensor) else None for x in inputs])
    arrays = [x.data if isinstance(x, Tensor) else operand(x) for x in inputs]
    return Operation.by_gradient(rules).result(nodes, (*arrays, value))


# fmt: off
# The operations that fit a gradient to its input.
cast_to: Operation = Operation(lambda x, dtype: np.asarray(x, dtype=dtype),
    lambda g: g)  # `Operation` casts g to the dtype of x
broadcast_along: Operation = Operation(lambda x, shape: np.broadcast_to(x, shape),
    lambda g, x_shape: sum_to(g, x_shape))
sum_to: Operation = Operation(lambda x, shape: _sum_to_value(x, shape),
    lambda g, x_shape: broadcast_along(g, x_shape))
# fmt: on


def _sum_to_value(x: Any, shape: tuple[int, ...]) -> Array:
    if x.shape == shape:
        return x
    leading = x.ndim - len(shape)
    axes = [*range(leading)]
    axes += [leading + i for i, n in enumerate(shape) if n == 1 != x.shape[leading + i]]
    value = total(x, tuple(axes))
    return value if value.shape == shape else np.reshape(value, shape)

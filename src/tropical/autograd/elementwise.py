"""Operations element by element, with NumPy's broadcasting: each gradient below its value."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from tropical.arrays import is_kind

from .operation import Operation, checked, not_integers, number, operand
from .tensor import Operand, Tensor, data_of, tensor_of
from .value import Array, Node, Rule, recording

if TYPE_CHECKING:
    from collections.abc import Callable

Unary: TypeAlias = "Callable[[Operand], Tensor]"
Binary: TypeAlias = "Callable[[Operand, Operand], Tensor]"


def _unary(
    value: Callable[[Array], Array], rule: Rule, documentation: str, name: str | None = None
) -> Unary:
    """Return an operation of one input, by default with the name of `value`."""
    operation = Operation(value, rule)

    def function(x: Operand) -> Tensor:
        result: Tensor = operation(x)
        return result

    return _named(function, name or value.__name__, documentation)


def _named(function: Any, name: str, documentation: str) -> Any:
    function.__name__ = function.__qualname__ = name
    function.__doc__ = documentation
    return function


def _binary(ufunc: np.ufunc, rule_a: Rule, rule_b: Rule, documentation: str) -> Binary:
    """Return an operation of two inputs: an `Operation` without loops.

    A graph of many small values spends nearly all its time here.
    """
    operation = Operation(ufunc, rule_a, rule_b, broadcasts=True)
    rules, sources = operation.rules, operation.sources
    get_a, get_b = operation.getters
    ndarray = np.ndarray
    nothing = None if any(sources) else ((), ())

    def function(a: Operand, b: Operand) -> Tensor:
        x: Any = a
        y: Any = b
        node_a: Node | None = None
        node_b: Node | None = None
        if isinstance(a, Tensor):
            x = a.data
            node_a = a.node
        elif not isinstance(b, Tensor):
            return ufunc(number(a), number(b))
        if isinstance(b, Tensor):
            y = b.data
            node_b = b.node
        alike = (
            type(x) is ndarray and type(y) is ndarray and x.shape == y.shape and x.dtype is y.dtype
        )
        if not alike:
            x, y = operand(x), operand(y)
        value = ufunc(x, y)
        if type(value) is not ndarray or not alike:
            value = checked(value)
        if (node_a is None and node_b is None) or not recording.get():
            return tensor_of(value, None)
        if alike:
            saved: Any = nothing
            if saved is None:
                context = (x, y, value)
                saved = (
                    () if node_a is None else get_a(context),
                    () if node_b is None else get_b(context),
                )
            return tensor_of(value, Node((node_a, node_b), rules, saved, sources))
        return operation.result((node_a, node_b), (x, y, value))

    return _named(function, ufunc.__name__, documentation)


def _masked_value(x: Any, mask: Any) -> Array:
    # By bits, as np.where takes ten times as long over an irregular mask.
    ones = np.negative(mask.view(np.int8))
    bits: Array = np.bitwise_and(x.view(f"i{x.itemsize}"), ones)
    return bits.view(x.dtype)


# fmt: off
# x where the mask holds, else 0: as a product with it, but 0 also for infinite x.
masked: Operation = Operation(lambda x, mask: _masked_value(x, mask),
    lambda g, mask: masked(g, mask))
add: Binary = _binary(np.add,
    lambda g: g,
    lambda g: g, "a + b.")
subtract: Binary = _binary(np.subtract,
    lambda g: g,
    lambda g: -g, "a - b.")
multiply: Binary = _binary(np.multiply,
    lambda g, b: g * b,
    lambda g, a: g * a, "a * b.")
divide: Binary = _binary(np.true_divide,
    lambda g, b: g / b,
    lambda g, b, y: -g * y / b, "a / b.")
power: Binary = _binary(np.power,
    lambda g, a, b: g * b * power(a, _lowered(a, b)),
    lambda g, a, y: g * y * _log_of_base(a, y),
    "a to the power b; the gradient for b is 0 where a <= 0, but -inf where a = 0 and b < 0.")
maximum: Binary = _binary(np.maximum,
    lambda g, a, b: _share(g, data_of(a), data_of(b)),
    lambda g, a, b: _share(g, data_of(b), data_of(a)),
    "The larger of a and b; equal elements share the gradient.")
minimum: Binary = _binary(np.minimum,
    lambda g, a, b: _share(g, data_of(b), data_of(a)),
    lambda g, a, b: _share(g, data_of(a), data_of(b)),
    "The smaller of a and b; equal elements share the gradient.")

negative: Unary = _unary(np.negative,
    lambda g: -g, "-x.")
exp: Unary = _unary(np.exp,
    lambda g, y: g * y, "e to the power x.")
log: Unary = _unary(np.log,
    lambda g, x: g / x, "Natural logarithm.")
sqrt: Unary = _unary(np.sqrt,
    lambda g, y: g / (2 * y), "Square root.")
tanh: Unary = _unary(np.tanh,
    lambda g, y: g * (1 - y * y), "Hyperbolic tangent.")
sigmoid: Unary = _unary(lambda x: _sigmoid_value(x),
    lambda g, y: g * y * (1 - y), "1 / (1 + exp(-x)), without overflow.", "sigmoid")
relu_operation: Operation = Operation(lambda x: np.maximum(x, 0),
    lambda g, y: masked(g, data_of(y) > 0))
absolute: Unary = _unary(np.absolute,
    lambda g, x: g * np.sign(data_of(x)), "The absolute value; the gradient at 0 is 0.")

_where: Operation = Operation(lambda a, b, condition: np.where(condition, a, b),
    lambda g, condition: masked(g, condition),
    lambda g, condition: masked(g, ~condition), broadcasts=True)
_clip: Operation = Operation(lambda x, low, high: np.clip(x, low, high),
    lambda g, x, low, high: masked(g, _inside(data_of(x), low, high)), broadcasts=True)
# fmt: on


def _sigmoid_value(x: Array) -> Array:
    x = not_integers(x)
    result: Array = np.exp(np.minimum(x, 0)) / (1 + np.exp(-np.absolute(x)))
    return result


def relu(x: Operand) -> Tensor:
    """max(x, 0); the gradient at 0 is 0."""
    return relu_operation(x)


# D. Hendrycks and K. Gimpel, "Gaussian error linear units (GELUs)", arXiv:1606.08415, section 2.
_GELU_SCALE = math.sqrt(2 / math.pi)
_GELU_CUBIC = 0.044715


def _gelu_value(x: Array) -> Array:
    result: Array = 0.5 * x * (1 + np.tanh(_GELU_SCALE * (x + _GELU_CUBIC * x * x * x)))
    return result


def _gelu_rule(g: Any, x: Any) -> Any:
    t = tanh(_GELU_SCALE * (x + _GELU_CUBIC * x * x * x))
    inner = _GELU_SCALE * (1 + 3 * _GELU_CUBIC * x * x)
    return g * (0.5 * (1 + t) + 0.5 * x * (1 - t * t) * inner)


gelu: Unary = _unary(
    _gelu_value,
    _gelu_rule,
    """x times the normal distribution function at x, in its tanh form.

    Hendrycks and Gimpel, "Gaussian error linear units (GELUs)", arXiv:1606.08415, section 2.
    """,
    "gelu",
)


def where(condition: Any, a: Operand, b: Operand) -> Tensor:
    """Return a where `condition` (an array of truth values) holds, else b."""
    return _where(a, b, np.asarray(operand(data_of(condition)), dtype=bool))


def clip(
    x: Operand,
    a_min: ArrayLike | None = None,
    a_max: ArrayLike | None = None,
    out: None = None,
    *,
    min: ArrayLike | None = None,
    max: ArrayLike | None = None,
) -> Tensor:
    """Return x limited to [min, max], numbers or arrays; the gradient is 0 outside.

    Parameters
    ----------
    x : Tensor
        Of any shape.
    a_min, a_max : array_like, optional
        The limits, which broadcast to the shape of x.
    out : None
        An argument of `numpy.clip`.
    min, max : array_like, optional
        Other names of the limits.

    Raises
    ------
    ValueError
        If min > max.
    TypeError
        If a limit is given by both names or is a Tensor, or `out` is not None.
    """
    if out is not None:
        raise TypeError("out: expected None; assign the result")
    if (a_min is not None and min is not None) or (a_max is not None and max is not None):
        raise TypeError("min, max: expected each limit once, got a_min and min, or a_max and max")
    low, high = a_min if min is None else min, a_max if max is None else max
    if isinstance(low, Tensor) or isinstance(high, Tensor):
        raise TypeError("min, max: expected arrays, got a Tensor; maximum and minimum take Tensors")
    if low is not None and high is not None and np.any(np.greater(low, high)):
        raise ValueError(f"min: expected at most max = {high!r}, got {low!r}")
    return _clip(x, low, high)


def _inside(x: Array, low: Any, high: Any) -> Array:
    inside = np.ones(x.shape, dtype=bool)
    if low is not None:
        inside = inside & (x >= low)
    return inside if high is None else inside & (x <= high)


def _share(g: Any, mine: Any, other: Any) -> Any:
    return masked(g, np.greater(mine, other)) + masked(g, np.equal(mine, other)) / 2


def _log_of_base(base: Any, power: Any) -> Any:
    """Return the logarithm; 0 for a base of at most 0, but -1 for 0 with infinite powers."""
    if isinstance(base, (int, float)):  # a number does not promote float32
        logarithm: Any = math.log(base) if base > 0 else 0.0
    else:
        if is_kind(data_of(base).dtype, "bool", "integer"):  # NumPy's log of 8 bits is a float16
            base = base.astype(data_of(power).dtype)
        logarithm = log(where(data_of(base) > 0, base, 1))
    infinite = (data_of(base) == 0) & np.isinf(data_of(power))
    return logarithm - infinite.astype(data_of(power).dtype) if np.any(infinite) else logarithm


def _lowered(base: Any, exponent: Any) -> Any:
    """Return the exponent minus 1; but another where the exponent is 0, as the gradient is 0."""
    if isinstance(exponent, (int, float)):  # a constant
        return exponent - 1 if exponent else 0
    if is_kind(data_of(exponent).dtype, "bool", "integer"):  # which would wrap
        exponent = exponent.astype(np.result_type(data_of(base), exponent))
    both = data_of(exponent) == 0
    if np.any(both):  # and where 1 / base is infinite
        least = 1 / np.finfo(data_of(base).dtype).max
        both = both & (np.abs(data_of(base)) <= least)
    return where(both, 1, exponent - 1) if np.any(both) else exponent - 1

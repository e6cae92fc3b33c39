"""The operators and methods of `Tensor`, each of which is an operation.

`Tensor` declares their signatures. Nothing below this module needs to know an operation.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import elementwise, products, reduce, shape
from .backward import backward
from .tensor import Operand, Tensor, defers_to

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import DTypeLike


def _operator(operation: Callable[..., Tensor]) -> Callable[[Tensor, Operand], Tensor]:
    """Return the operator for a Tensor on the left."""

    def operator(self: Tensor, other: Operand) -> Tensor:
        return NotImplemented if defers_to(other) else operation(self, other)

    return operator


def _reflected(operation: Callable[..., Tensor]) -> Callable[[Tensor, Operand], Tensor]:
    """Return the operator for a Tensor on the right."""

    def reflected(self: Tensor, other: Operand) -> Tensor:
        return operation(other, self)

    return reflected


def _copy(x: Tensor) -> Tensor:
    """Return a tensor with data of its own, through which gradients pass."""
    return elementwise.multiply(x, 1.0)


def _astype(x: Tensor, dtype: DTypeLike) -> Tensor:
    """Return x as float32 or float64, with data of its own."""
    result = shape.cast(x, dtype)
    return _copy(result) if result.dtype == x.dtype else result


def _ravel(x: Tensor, order: str = "C") -> Tensor:
    """Return the elements along one axis."""
    return shape.reshape(x, x.size, order=order)


def _flatten(x: Tensor, order: str = "C") -> Tensor:
    """Return the elements along one axis, with data of their own."""
    return _copy(_ravel(x, order))


_OPERATORS: dict[str, Callable[..., Tensor]] = {
    "add": elementwise.add,
    "sub": elementwise.subtract,
    "mul": elementwise.multiply,
    "truediv": elementwise.divide,
    "pow": elementwise.power,
    "matmul": products.matmul,
}
_METHODS: dict[str, Any] = {
    "__abs__": elementwise.absolute,
    "__getitem__": shape.getitem,
    "__neg__": elementwise.negative,
    "T": property(shape.transpose, doc="The tensor with its axes reversed."),
    "abs": elementwise.absolute,
    "astype": _astype,
    "backward": backward,
    "clip": elementwise.clip,
    "copy": _copy,
    "exp": elementwise.exp,
    "flatten": _flatten,
    "gelu": elementwise.gelu,
    "log": elementwise.log,
    "logsumexp": reduce.logsumexp,
    "matmul": products.matmul,
    "max": reduce.max,
    "mean": reduce.mean,
    "min": reduce.min,
    "ravel": _ravel,
    "relu": elementwise.relu,
    "reshape": shape.reshape,
    "sigmoid": elementwise.sigmoid,
    "sqrt": elementwise.sqrt,
    "squeeze": shape.squeeze,
    "sum": reduce.sum,
    "swapaxes": shape.swapaxes,
    "tanh": elementwise.tanh,
    "transpose": shape.transpose,
    "var": reduce.var,
}


def attach() -> None:
    """Give `Tensor` its operators and methods."""
    for name, operation in _OPERATORS.items():
        setattr(Tensor, f"__{name}__", _operator(operation))
        setattr(Tensor, f"__r{name}__", _reflected(operation))
    for name, method in _METHODS.items():
        setattr(Tensor, name, method)

"""Operations that reduce axes: each gradient below its value."""

from __future__ import annotations

from typing import Any

import numpy as np

from .elementwise import exp, masked, where
from .operation import Operation, not_integers
from .shape import broadcast_to, integers, normal_axis, reshape
from .sums import average, total
from .tensor import Axes, Operand, Tensor, data_of
from .value import Array

# fmt: off
_sum: Operation = Operation(lambda x, axes, keepdims: total(x, axes, keepdims),
    lambda g, x_shape, axes: _spread(g, x_shape, axes))
_mean: Operation = Operation(lambda x, axes, keepdims: average(x, axes, keepdims),
    lambda g, x_shape, axes: _spread(g / _count(x_shape, axes), x_shape, axes))
_max: Operation = Operation(lambda x, axes, keepdims: np.max(x, axis=axes, keepdims=keepdims),
    lambda g, x, y, axes: _shared(g, data_of(x), data_of(y), axes))
_min: Operation = Operation(lambda x, axes, keepdims: np.min(x, axis=axes, keepdims=keepdims),
    lambda g, x, y, axes: _shared(g, data_of(x), data_of(y), axes))
_logsumexp: Operation = Operation(lambda x, axes, keepdims: _logsumexp_value(x, axes, keepdims),
    lambda g, x, y, axes: _spread(g, data_of(x).shape, axes) * _shares(x, y, axes))
# fmt: on


def _axes(x: Operand, axis: Axes) -> tuple[int, ...]:
    ndim = np.ndim(data_of(x))
    if axis is None:
        return tuple(range(ndim))
    given = integers(axis, "axis")
    axes = tuple(normal_axis(a, ndim) for a in given)
    if len(set(axes)) < len(axes):
        raise ValueError(f"axis: expected different axes, got {given}")
    return axes


def _refuse(**absent: Any) -> None:
    """Raise TypeError unless the arguments, which NumPy's functions have too, are None."""
    for name, value in absent.items():
        if value is not None:
            raise TypeError(f"{name}: expected None, got {value!r}; cast or assign the result")


def _count(shape: tuple[int, ...], axes: tuple[int, ...]) -> int:
    count = 1
    for axis in axes:
        count *= shape[axis]
    return count


def _spread(g: Any, shape: tuple[int, ...], axes: tuple[int, ...]) -> Any:
    """Return a reduced value, or its gradient, broadcast to the shape before the reduction."""
    kept = tuple(1 if axis in axes else length for axis, length in enumerate(shape))
    return broadcast_to(g if g.shape == kept else reshape(g, kept), shape)


def _shared(g: Any, x: Array, y: Array, axes: tuple[int, ...]) -> Any:
    """Return the gradient, shared equally by the elements of x that are equal to y."""
    attains = x == _spread(y, x.shape, axes)
    count = np.maximum(attains.sum(axis=axes, keepdims=True, dtype=x.dtype), 1)
    return masked(_spread(g, x.shape, axes), attains) / count


def _finite(values: Array) -> Array:
    finite: Array = np.where(np.isfinite(values), values, 0)
    return finite


def _logsumexp_value(x: Array, axes: tuple[int, ...], keepdims: bool) -> Array:
    x = not_integers(x)
    top = _finite(np.max(x, axis=axes, keepdims=True, initial=-np.inf))
    with np.errstate(divide="ignore", over="ignore"):  # for an empty axis, and for infinities
        value = np.log(total(np.exp(x - top), axes, keepdims=True)) + top
    return value if keepdims else np.squeeze(value, axis=axes)


def _shares(x: Any, y: Any, axes: tuple[int, ...]) -> Any:
    """Return exp(x - y), 0 where x is -inf."""
    spread = _spread(y, data_of(x).shape, axes)
    never = np.isneginf(data_of(x))
    return exp(where(never, -np.inf, x - where(never, 0, spread)) if never.any() else x - spread)


def sum(
    x: Operand, axis: Axes = None, dtype: None = None, out: None = None, keepdims: bool = False
) -> Tensor:
    """Return the sum over `axis`, all axes by default, as `numpy.sum`."""
    _refuse(dtype=dtype, out=out)
    return _sum(x, _axes(x, axis), keepdims)


def mean(
    x: Operand, axis: Axes = None, dtype: None = None, out: None = None, keepdims: bool = False
) -> Tensor:
    """Return the mean over `axis`, all axes by default, as `numpy.mean`."""
    _refuse(dtype=dtype, out=out)
    return _mean(x, _axes(x, axis), keepdims)


def max(x: Operand, axis: Axes = None, out: None = None, keepdims: bool = False) -> Tensor:
    """Return the maximum over `axis`, as `numpy.max`; equal elements share the gradient."""
    _refuse(out=out)
    return _max(x, _axes(x, axis), keepdims)


def min(x: Operand, axis: Axes = None, out: None = None, keepdims: bool = False) -> Tensor:
    """Return the minimum over `axis`, as `numpy.min`; equal elements share the gradient."""
    _refuse(out=out)
    return _min(x, _axes(x, axis), keepdims)


def logsumexp(x: Operand, axis: Axes = None, keepdims: bool = False) -> Tensor:
    """Return log(sum(exp(x))) over `axis`, without overflow; -inf over no elements."""
    return _logsumexp(x, _axes(x, axis), keepdims)


def var(
    x: Operand,
    axis: Axes = None,
    dtype: None = None,
    out: None = None,
    ddof: float = 0,
    keepdims: bool = False,
) -> Tensor:
    """Return the variance over `axis`, as `numpy.var`: divided by the number of elements - `ddof`.

    Raises
    ------
    ValueError
        If `ddof` is not 0 and not less than the number of elements.
    """
    _refuse(dtype=dtype, out=out)
    centered = x - mean(x, axis, keepdims=True)
    variance = mean(centered * centered, axis, keepdims=keepdims)
    if not ddof:
        return variance
    count = _count(np.shape(data_of(x)), _axes(x, axis))
    if not ddof < count:
        raise ValueError(f"ddof: expected less than {count}, the number of elements, got {ddof}")
    return variance * (count / (count - ddof))

"""Operations that move elements: each gradient below its value."""

from __future__ import annotations

import math
import operator
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from tropical import _core

from .operation import Operation, broadcast_along, cast_to, of_many, operand
from .tensor import Operand, Tensor, data_of
from .value import Array

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import DTypeLike

# Any index of NumPy.
Index: TypeAlias = Any

# fmt: off
_reshape: Operation = Operation(lambda x, shape: np.reshape(x, shape),
    lambda g, x_shape: _reshape(g, x_shape))
_transpose: Operation = Operation(lambda x, axes: np.transpose(x, axes),
    lambda g, axes: _transpose(g, tuple(np.argsort(axes))))
_take: Operation = Operation(lambda x, index: _take_value(x, index),
    lambda g, x_shape, index: _put(g, x_shape, index))
_put: Operation = Operation(lambda x, shape, index: _put_value(x, shape, index),
    lambda g, index: _take(g, index))
_pad: Operation = Operation(lambda x, widths, constant: _pad_value(x, widths, constant),
    lambda g, x_shape, widths: _take(g, _inner(widths, x_shape)))
_take_along: Operation = Operation(lambda x, index, axis: np.take_along_axis(x, index, axis),
    lambda g, x_shape, index, axis: _put_along(g, x_shape, index, axis))
_put_along: Operation = Operation(
    lambda x, shape, index, axis: _put_along_value(x, shape, index, axis),
    lambda g, index, axis: _take_along(g, index, axis))
# fmt: on


def _is_basic(index: Index) -> bool:
    parts = index if isinstance(index, tuple) else (index,)
    return all(
        part is None or part is ... or isinstance(part, (int, np.integer, slice)) for part in parts
    )


def _is_rows(index: Index) -> bool:
    return type(index) is np.ndarray and index.ndim > 0 and index.dtype == np.intp


def _take_value(x: Array | float, index: Index) -> Array:
    x = np.asarray(x)
    if _is_rows(index) and x.ndim:
        return x.take(index, 0)  # takes two thirds of the time of x[index]
    value: Array = x[index]
    return value


def _put_value(x: Array, shape: tuple[int, ...], index: Index) -> Array:
    result = np.zeros(shape, dtype=x.dtype)
    if _is_basic(index):
        result[index] = x
    elif _is_rows(index):
        rows = np.where(index < 0, index + shape[0], index).reshape(-1, 1)
        if index.size and not 0 <= rows.min() <= rows.max() < shape[0]:
            raise IndexError("index: was changed after it was used, and is out of bounds now")
        parts = x.reshape(len(rows), math.prod(shape[1:]))
        sums = result.reshape(shape[0], parts.shape[1])
        _core.scatter(sums, np.broadcast_to(rows, parts.shape), parts, -2)
    else:
        np.add.at(result, index, x)
    return result


def _put_along_value(x: Array, shape: tuple[int, ...], index: Array, axis: int) -> Array:
    """Return zeros to which the elements of x are added at `index` along one of the last axes."""
    sums = np.zeros(shape, dtype=x.dtype)
    _core.scatter(sums, index, x, axis)
    return sums


def _pad_value(x: Array, widths: Sequence[tuple[int, int]], constant: float) -> Array:
    return np.pad(x, widths, constant_values=constant) if widths else x


def _inner(widths: Sequence[tuple[int, int]], shape: tuple[int, ...]) -> tuple[slice, ...]:
    return tuple(
        slice(before, before + length) for (before, _), length in zip(widths, shape, strict=True)
    )


def integers(values: Any, name: str) -> tuple[int, ...]:
    """Return an integer, or a sequence of at most 64, NumPy's limit of axes, as a tuple of ints."""
    try:
        return (operator.index(values),)
    except TypeError:
        if (length := operator.length_hint(values)) > 64:
            raise ValueError(f"{name}: expected at most 64 integers, got {length}") from None
    try:
        return tuple(map(operator.index, values))
    except TypeError:
        raise TypeError(f"{name}: expected an integer or several, got {values!r}") from None


def normal_axis(axis: int, ndim: int, name: str = "axis") -> int:
    """Return an axis as a number from 0 on."""
    try:
        axis = operator.index(axis)
    except TypeError:
        raise TypeError(f"{name}: expected an integer, got {axis!r}") from None
    if not -ndim <= axis < ndim:
        raise ValueError(f"{name}: expected an axis of {ndim} dimensions, got {axis}")
    return axis % ndim


def reshape(x: Operand, *lengths: Any, shape: Any = None, order: str = "C") -> Tensor:
    """Return x in another shape, as `numpy.reshape`; -1 stands for the remaining length.

    Raises
    ------
    ValueError
        If the shape does not fit, or `order` is not "C".
    TypeError
        If no shape is given, or two, or a length is no integer.
    """
    check_order(order)
    if (shape is None) == (not lengths):
        raise TypeError(f"shape: expected one, got {lengths} and shape={shape}")
    lengths = lengths if shape is None else (shape,)
    return _reshape(x, integers(lengths[0] if len(lengths) == 1 else lengths, "shape"))


def check_order(order: str) -> None:
    """Raise ValueError unless the order of elements is that of C."""
    if order != "C":
        raise ValueError(f"order: expected 'C', got {order!r}; transpose first")


def transpose(x: Operand, *order: Any, axes: Any = None) -> Tensor:
    """Return x with its axes in another order, as `numpy.transpose`; reversed by default.

    Raises
    ------
    ValueError
        If the order does not have each axis once.
    TypeError
        If two orders are given, or an axis is no integer.
    """
    if order and axes is not None:
        raise TypeError(f"axes: expected one order, got {order} and axes={axes}")
    ndim, given = np.ndim(data_of(x)), order or (axes,)
    reverse = given[0] is None
    axes = given[0] if len(given) == 1 else given
    wanted = range(ndim)[::-1] if reverse else integers(axes, "axes")
    normal = tuple(normal_axis(axis, ndim, "axes") for axis in wanted)
    if sorted(normal) != list(range(ndim)):
        raise ValueError(f"axes: expected an order of the {ndim} axes, got {tuple(wanted)}")
    return _transpose(x, normal)


def swap_last(x: Operand) -> Tensor:
    """Return x with its last two axes exchanged."""
    ndim = np.ndim(data_of(x))
    return _transpose(x, (*range(ndim - 2), ndim - 1, ndim - 2))


def broadcast_to(x: Operand, shape: Sequence[int]) -> Tensor:
    """Return x repeated to `shape`, as `numpy.broadcast_to`."""
    return broadcast_along(x, integers(shape, "shape"))


def cast(x: Operand, dtype: DTypeLike) -> Tensor:
    """Return x as float32 or float64."""
    if np.dtype(dtype) not in (np.dtype(np.float32), np.dtype(np.float64)):
        raise TypeError(f"dtype: expected float32 or float64, got {np.dtype(dtype)}")
    return cast_to(x, np.dtype(dtype))


def getitem(x: Operand, index: Index) -> Tensor:
    """Return ``x[index]`` for any index of NumPy.

    Raises
    ------
    IndexError
        If an index is out of range or of a wrong type, or there are too many.
    """
    if isinstance(index, tuple):
        index = tuple(data_of(part) for part in index)
    return _take(x, data_of(index))


def take_along(x: Operand, index: Array, axis: int) -> Tensor:
    """Return ``numpy.take_along_axis(x, index, axis)``."""
    return _take_along(x, index, axis)


def put_along(x: Operand, shape: tuple[int, ...], index: Array, axis: int) -> Tensor:
    """Return zeros of `shape` with x added at `index`: the adjoint of `take_along`."""
    return _put_along(x, shape, index, axis)


def squeeze(x: Operand, axis: Any = None) -> Tensor:
    """Return x without its axes of length 1, or without the given ones."""
    shape = np.shape(data_of(x))
    axes = [i for i, n in enumerate(shape) if n == 1] if axis is None else integers(axis, "axis")
    gone = {normal_axis(i, len(shape)) for i in axes}
    if any(shape[i] != 1 for i in gone):
        raise ValueError(f"axis: expected an axis of length 1 in shape {shape}, got {axis}")
    return _reshape(x, tuple(n for i, n in enumerate(shape) if i not in gone))


def swapaxes(x: Operand, axis1: int, axis2: int) -> Tensor:
    """Return x with two axes exchanged."""
    ndim = np.ndim(data_of(x))
    order = [*range(ndim)]
    i, j = normal_axis(axis1, ndim, "axis1"), normal_axis(axis2, ndim, "axis2")
    order[i], order[j] = j, i
    return _transpose(x, tuple(order))


def pad(
    x: Operand, pad_width: Any, mode: str | float = "constant", *, constant_values: Any = 0.0
) -> Tensor:
    """Return x with a border, as `numpy.pad`.

    Parameters
    ----------
    x : Tensor
        Of any shape.
    pad_width : int, or a pair of ints for each axis
        The elements to add before and after.
    mode : {"constant", "edge", "reflect", "symmetric", "wrap"} or float
        What the border repeats, as in `numpy.pad`; a number means "constant" with this value.
    constant_values : float, default 0
        The value of the border for the mode "constant".

    Raises
    ------
    ValueError
        If the mode is unknown.
    """
    ndim = np.ndim(data_of(x))
    pairs = tuple(map(tuple, np.broadcast_to(np.asarray(pad_width), (ndim, 2)).tolist()))
    if not isinstance(mode, str):
        mode, constant_values = "constant", mode
    if mode == "constant":
        return _pad(x, pairs, constant_values)
    if mode not in ("edge", "reflect", "symmetric", "wrap"):
        modes = '"constant", "edge", "reflect", "symmetric" or "wrap"'
        raise ValueError(f"mode: expected {modes}, got {mode!r}")
    y: Any = getitem(x if isinstance(x, Tensor) else np.asarray(operand(x)), ())
    for axis, widths in enumerate(pairs):
        if any(widths):
            rows = np.pad(np.arange(y.shape[axis]), widths, mode)  # type: ignore[call-overload]
            y = getitem(y, (*(slice(None),) * axis, rows))
    result: Tensor = y
    return result


def concatenate(tensors: Iterable[Operand], axis: int | None = 0) -> Tensor:
    """Join tensors along an axis, or flattened if it is None, as `numpy.concatenate`."""
    tensors = list(tensors)
    if axis is None:
        tensors, axis = [reshape(tensor, -1) for tensor in tensors], 0
    arrays = [np.asarray(operand(data_of(tensor))) for tensor in tensors]
    if not arrays:
        raise ValueError("tensors: expected at least one, got none")
    axis = normal_axis(axis, arrays[0].ndim)
    value = np.concatenate(arrays, axis=axis)
    ends = np.cumsum([array.shape[axis] for array in arrays]).tolist()
    rules = [
        lambda g, i=(*(slice(None),) * axis, slice(begin, end)): g[i]
        for begin, end in zip([0, *ends], ends, strict=False)
    ]
    return of_many(value, tensors, rules)


def stack(tensors: Iterable[Operand], axis: int = 0) -> Tensor:
    """Join tensors of one shape along a new axis, as `numpy.stack`."""
    tensors = list(tensors)
    arrays = [np.asarray(operand(data_of(tensor))) for tensor in tensors]
    if not arrays:
        raise ValueError("tensors: expected at least one, got none")
    axis = normal_axis(axis, arrays[0].ndim + 1)
    value = np.stack(arrays, axis=axis)
    rules = [lambda g, i=(*(slice(None),) * axis, number): g[i] for number in range(len(arrays))]
    return of_many(value, tensors, rules)

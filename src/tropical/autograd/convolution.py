"""Convolution as a matrix product, and pooling. Images are (n, channels, height, width).

Windows of all images stand side by side in one matrix (K. Chellapilla, S. Puri and P. Simard, "High
performance convolutional neural networks for document processing", 2006), so a layer is one
product. The product lies in memory as (channels, n, height, width); the result (n, channels, ...)
is a view of it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from .elementwise import add, masked
from .operation import Operation, operand
from .products import matmul
from .reduce import mean
from .shape import integers, reshape, transpose
from .tensor import Operand, Tensor, data_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .value import Array

Pair: TypeAlias = "int | tuple[int, int]"


@dataclass(frozen=True)
class Windows:
    """Where the windows of a layer lie: kernel, stride and padding as (height, width)."""

    kernel: tuple[int, int]
    stride: tuple[int, int]
    padding: tuple[int, int]

    @property
    def places(self) -> int:
        """The number of pixels of a window."""
        return self.kernel[0] * self.kernel[1]

    def count(self, height: int, width: int) -> tuple[int, int]:
        """Return the numbers of windows down and across an image."""
        down, across = (
            (length + 2 * p - k) // s + 1
            for length, k, s, p in zip(
                (height, width), self.kernel, self.stride, self.padding, strict=True
            )
        )
        if down < 1 or across < 1:
            raise ValueError(
                f"x: expected padded images of at least {self.kernel} pixels, got "
                f"{(height, width)} padded by {self.padding}"
            )
        return down, across

    def offsets(self, down: int, across: int) -> Iterator[tuple[slice, slice]]:
        """Yield, for each place in a window, the pixels of padded images at that place."""
        for i in range(self.kernel[0]):
            for j in range(self.kernel[1]):
                yield (
                    slice(i, i + self.stride[0] * down, self.stride[0]),
                    slice(j, j + self.stride[1] * across, self.stride[1]),
                )

    def padded(self, x: Array, fill: float) -> Array:
        """Return images, channels first, with their border."""
        x = x.transpose(1, 0, 2, 3)
        if self.padding == (0, 0):
            return x
        (p, q), (channels, n, height, width) = self.padding, x.shape
        result = np.full((channels, n, height + 2 * p, width + 2 * q), fill, dtype=x.dtype)
        result[:, :, p : p + height, q : q + width] = x
        return result

    def cropped(self, x: Array, height: int, width: int) -> Array:
        """Return images without their border: the inverse of `padded`."""
        p, q = self.padding
        return x[:, :, p : p + height, q : q + width].transpose(1, 0, 2, 3)

    def padded_shape(self, shape: tuple[int, ...]) -> tuple[int, int, int, int]:
        """Return the shape of the padded images, channels first."""
        n, channels, height, width = shape
        return channels, n, height + 2 * self.padding[0], width + 2 * self.padding[1]


# fmt: off
# (n, channels, height, width) -> (channels * window, n * down * across), and its adjoint.
_unfold: Operation = Operation(lambda x, windows: _unfold_value(x, windows),
    lambda g, x_shape, windows: _fold(g, x_shape, windows))
_fold: Operation = Operation(lambda x, shape, windows: _fold_value(x, shape, windows),
    lambda g, windows: _unfold(g, windows))
# The gradient of a window's largest pixel goes to the pixel at `place` alone.
_max_pool: Operation = Operation(lambda x, place, windows, y: y,
    lambda g, x_shape, place, windows: _unpick(g, x_shape, place, windows))
# The pixel of each window at `place`, and its adjoint.
_pick: Operation = Operation(lambda x, place, windows: _pick_value(x, place, windows),
    lambda g, x_shape, place, windows: _unpick(g, x_shape, place, windows))
_unpick: Operation = Operation(
    lambda x, shape, place, windows: _unpick_value(x, shape, place, windows),
    lambda g, place, windows: _pick(g, place, windows))
# fmt: on


def _columns(x: Array, windows: Windows, fill: float) -> Array:
    """Return the pixels of each place in a window, (channels, places, n, down, across)."""
    n, channels, height, width = x.shape
    down, across = windows.count(height, width)
    padded = windows.padded(x, fill)
    columns = np.empty((channels, windows.places, n, down, across), x.dtype)
    for place, (i, j) in enumerate(windows.offsets(down, across)):
        columns[:, place] = padded[:, :, i, j]
    return columns


def _unfold_value(x: Array, windows: Windows) -> Array:
    columns = _columns(x, windows, 0.0)
    channels, places, *lengths = columns.shape
    return columns.reshape(channels * places, math.prod(lengths))


def _fold_value(x: Array, shape: tuple[int, ...], windows: Windows) -> Array:
    n, channels, height, width = shape
    down, across = windows.count(height, width)
    unfolded = x.reshape(channels, windows.places, n, down, across)
    padded = np.zeros(windows.padded_shape(shape), dtype=x.dtype)
    for place, (rows, columns) in enumerate(windows.offsets(down, across)):
        padded[:, :, rows, columns] += unfolded[:, place]
    return windows.cropped(padded, height, width)


def _largest(x: Array, windows: Windows) -> tuple[Array, Array]:
    """Return the largest pixel of each window, and the place of the first such pixel."""
    columns = _columns(x, windows, -np.inf)
    best = np.maximum.reduce(columns, axis=1)
    place = np.zeros(best.shape, dtype=np.min_scalar_type(windows.places))
    open_ = np.ones(best.shape, dtype=bool)  # no place found yet
    for number, pixels in enumerate(_inside(x.shape, windows)):
        found = columns[:, number] == best
        found |= columns[:, number] != columns[:, number]  # a NaN is the largest
        found &= open_
        if not pixels.all():
            found &= pixels  # the border is -inf, as a pixel may be
        open_ ^= found
        place += found * place.dtype.type(number)
    return best.transpose(1, 0, 2, 3), place.transpose(1, 0, 2, 3)


def _inside(shape: tuple[int, ...], windows: Windows) -> Array:
    """Return whether a place is a pixel rather than border, (places, down, across)."""
    return _columns(np.ones((1, 1, *shape[2:]), dtype=bool), windows, False)[0, :, 0]


def _pick_value(x: Array, place: Array, windows: Windows) -> Array:
    columns = _columns(x, windows, 0.0)
    picked = np.zeros(place.transpose(1, 0, 2, 3).shape, dtype=x.dtype)
    for number in range(windows.places):
        picked += masked(columns[:, number], place.transpose(1, 0, 2, 3) == number)
    return picked.transpose(1, 0, 2, 3)


def _unpick_value(x: Array, shape: tuple[int, ...], place: Array, windows: Windows) -> Array:
    x, place = x.transpose(1, 0, 2, 3), place.transpose(1, 0, 2, 3)
    columns = np.empty((x.shape[0], windows.places, *x.shape[1:]), dtype=x.dtype)
    for number in range(windows.places):
        columns[:, number] = masked(x, place == number)
    return _fold_value(columns, shape, windows)


def pair(value: Pair, name: str, least: int) -> tuple[int, int]:
    """Return (down, across) from one or two ints."""
    both = integers(value)
    if len(both) not in (1, 2) or min(both) < least:
        raise ValueError(f"{name}: expected one or two ints of at least {least}, got {value!r}")
    return both[0], both[-1]


def _images(x: Operand) -> tuple[int, ...]:
    shape: tuple[int, ...] = np.shape(data_of(x))
    if len(shape) != 4:
        raise ValueError(f"x: expected (n, channels, height, width), got {shape}")
    return shape


def conv2d(
    x: Operand,
    weight: Operand,
    bias: Operand | None = None,
    *,
    stride: Pair = 1,
    padding: Pair = 0,
) -> Tensor:
    """Correlate images with filters, as one matrix product.

    Parameters
    ----------
    x : Tensor, (n, channels, height, width)
        Images.
    weight : Tensor, (filters, channels, kernel height, kernel width)
        Filters.
    bias : Tensor, (filters,), optional
        Added to each filter's image.
    stride, padding : int or pair of int
        Down and across. The padding is zeros on both sides.

    Returns
    -------
    Tensor, (n, filters, down, across)
        ``down = (height + 2 padding - kernel height) // stride + 1``; across likewise.

    Raises
    ------
    ValueError
        If shapes do not fit or a window is larger than the padded image.
    """
    n, channels, height, width = _images(x)
    shape = np.shape(data_of(weight))
    if len(shape) != 4 or shape[1] != channels:
        raise ValueError(
            f"weight: expected (filters, {channels}, kernel height, kernel width), got {shape}"
        )
    windows = Windows(shape[2:], pair(stride, "stride", 1), pair(padding, "padding", 0))
    down, across = windows.count(height, width)
    columns = _unfold(x, windows)
    product = matmul(reshape(weight, (shape[0], math.prod(shape[1:]))), columns)
    if bias is not None:
        product = add(product, reshape(bias, (-1, 1)))
    return transpose(reshape(product, (shape[0], n, down, across)), (1, 0, 2, 3))


def max_pool2d(
    x: Operand, kernel: Pair, *, stride: Pair | None = None, padding: Pair = 0
) -> Tensor:
    """Return the largest pixel of each window; the first of equal pixels gets the gradient.

    Parameters
    ----------
    x : Tensor, (n, channels, height, width)
        Images.
    kernel : int or pair of int
        Size of the window.
    stride : int or pair of int, optional
        The size of the window by default.
    padding : int or pair of int
        The width of a border of -inf, at most half of the window.
    """
    windows = pool_windows(kernel, stride, padding)
    _images(x)
    value, place = _largest(np.asarray(operand(data_of(x))), windows)
    return _max_pool(x, place, windows, value)


def avg_pool2d(
    x: Operand, kernel: Pair, *, stride: Pair | None = None, padding: Pair = 0
) -> Tensor:
    """Return the mean of each window, with the zeros of the padding; see `max_pool2d`."""
    windows = pool_windows(kernel, stride, padding)
    n, channels, height, width = _images(x)
    down, across = windows.count(height, width)
    columns = reshape(_unfold(x, windows), (channels, windows.places, n, down, across))
    return transpose(mean(columns, axis=1), (1, 0, 2, 3))


def pool_windows(kernel: Pair, stride: Pair | None, padding: Pair) -> Windows:
    """Check the arguments of pooling; return its windows."""
    size = pair(kernel, "kernel", 1)
    border = pair(padding, "padding", 0)
    if any(2 * p > k for p, k in zip(border, size, strict=True)):
        raise ValueError(f"padding: expected at most half of the window {size}, got {border}")
    return Windows(size, size if stride is None else pair(stride, "stride", 1), border)

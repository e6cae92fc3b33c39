"""Convolution as a matrix product, and pooling. Images are (n, channels, height, width).

Windows of all images stand side by side in one matrix (K. Chellapilla, S. Puri and P. Simard, "High
performance convolutional neural networks for document processing", 2006), so that a layer is one
product; its result lies in memory as (channels, n, height, width), of which (n, channels, ...) is a
view.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from .elementwise import add
from .operation import Operation
from .products import matmul
from .reduce import mean
from .shape import integers, reshape, transpose
from .tensor import Operand, Tensor, data_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .graph import Array

Pair: TypeAlias = "int | tuple[int, int]"


@dataclass(frozen=True)
class Windows:
    """Where the windows of a layer lie: kernel, stride and padding as (height, width)."""

    kernel: tuple[int, int]
    stride: tuple[int, int]
    padding: tuple[int, int]

    def count(self, height: int, width: int) -> tuple[int, int]:
        """Return how many windows there are down and across an image."""
        down, across = (
            (length + 2 * p - k) // s + 1
            for length, k, s, p in zip(
                (height, width), self.kernel, self.stride, self.padding, strict=True
            )
        )
        if down < 1 or across < 1:
            raise ValueError(
                f"x: images of {height} x {width}, padded by {self.padding}, are smaller than "
                f"the window {self.kernel}"
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
        """Return what `padded` took: the inverse, but for the border."""
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
# The pixel of each window at `place`, the number of a place in it, and its adjoint.
_pick: Operation = Operation(lambda x, place, windows: _pick_value(x, place, windows),
    lambda g, x_shape, place, windows: _unpick(g, x_shape, place, windows))
_unpick: Operation = Operation(
    lambda x, shape, place, windows: _unpick_value(x, shape, place, windows),
    lambda g, place, windows: _pick(g, place, windows))
# fmt: on


def _unfold_value(x: Array, windows: Windows) -> Array:
    n, channels, height, width = x.shape
    down, across = windows.count(height, width)
    padded = windows.padded(x, 0.0)
    unfolded = np.empty((channels, windows.kernel[0] * windows.kernel[1], n, down, across), x.dtype)
    for place, (rows, columns) in enumerate(windows.offsets(down, across)):
        unfolded[:, place] = padded[:, :, rows, columns]
    return unfolded.reshape(-1, n * down * across)


def _fold_value(x: Array, shape: tuple[int, ...], windows: Windows) -> Array:
    n, channels, height, width = shape
    down, across = windows.count(height, width)
    unfolded = x.reshape(channels, -1, n, down, across)
    padded = np.zeros(windows.padded_shape(shape), dtype=x.dtype)
    for place, (rows, columns) in enumerate(windows.offsets(down, across)):
        padded[:, :, rows, columns] += unfolded[:, place]
    return windows.cropped(padded, height, width)


def _largest(x: Array, windows: Windows) -> Array:
    """Return the place of the first largest pixel in each window."""
    down, across = windows.count(*x.shape[2:])
    padded = windows.padded(x, -np.inf)
    inside = windows.padded(np.ones((1, 1, *x.shape[2:]), dtype=bool), False)
    best = np.full((*padded.shape[:2], down, across), -np.inf, dtype=x.dtype)
    place = np.full(best.shape, -1, dtype=np.int32)
    for number, (rows, columns) in enumerate(windows.offsets(down, across)):
        candidate = padded[:, :, rows, columns]
        better = ~(candidate <= best)  # a NaN is, and stays
        better &= best == best
        better |= (place < 0) & inside[:, :, rows, columns]  # a border is no pixel
        np.copyto(best, candidate, where=better)
        np.copyto(place, np.int32(number), where=better)
    return place.transpose(1, 0, 2, 3)


def _pick_value(x: Array, place: Array, windows: Windows) -> Array:
    down, across = windows.count(*x.shape[2:])
    padded = windows.padded(x, -np.inf)
    place = place.transpose(1, 0, 2, 3)
    picked = np.empty(place.shape, dtype=x.dtype)
    for number, (rows, columns) in enumerate(windows.offsets(down, across)):
        np.copyto(picked, padded[:, :, rows, columns], where=place == number)
    return picked.transpose(1, 0, 2, 3)


def _unpick_value(x: Array, shape: tuple[int, ...], place: Array, windows: Windows) -> Array:
    down, across = windows.count(*shape[2:])
    padded = np.zeros(windows.padded_shape(shape), dtype=x.dtype)
    x, place = x.transpose(1, 0, 2, 3), place.transpose(1, 0, 2, 3)
    for number, (rows, columns) in enumerate(windows.offsets(down, across)):
        target = padded[:, :, rows, columns]
        np.add(target, x, out=target, where=place == number)
    return windows.cropped(padded, *shape[2:])


def pair(value: Pair, name: str, least: int) -> tuple[int, int]:
    """Return (down, across) of an argument that is an int or two."""
    both = integers(value)
    if len(both) not in (1, 2) or min(both) < least:
        raise ValueError(f"{name}: an int or two, at least {least}, not {value!r}")
    return both[0], both[-1]


def _images(x: Operand) -> tuple[int, ...]:
    shape: tuple[int, ...] = np.shape(data_of(x))
    if len(shape) != 4:
        raise ValueError(f"x: has shape {shape}, (n, channels, height, width) is wanted")
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
        Down and across. Padding is with zeros, on both sides.

    Returns
    -------
    Tensor, (n, filters, down, across)
        ``down = (height + 2 padding - kernel height) // stride + 1``, and so across.

    Raises
    ------
    ValueError
        If shapes do not fit or a window is larger than the padded image.
    """
    n, channels, height, width = _images(x)
    shape = np.shape(data_of(weight))
    if len(shape) != 4 or shape[1] != channels:
        raise ValueError(
            f"weight: shape {shape} does not fit x of shape {_images(x)}; "
            "(filters, channels, kernel height, kernel width) is wanted"
        )
    windows = Windows(shape[2:], pair(stride, "stride", 1), pair(padding, "padding", 0))
    down, across = windows.count(height, width)
    columns = _unfold(x, windows)
    product = matmul(reshape(weight, (shape[0], -1)), columns)
    if bias is not None:
        product = add(product, reshape(bias, (-1, 1)))
    return transpose(reshape(product, (shape[0], n, down, across)), (1, 0, 2, 3))


def max_pool2d(
    x: Operand, kernel: Pair, *, stride: Pair | None = None, padding: Pair = 0
) -> Tensor:
    """Return the largest pixel of each window; the first of them gets the gradient.

    Parameters
    ----------
    x : Tensor, (n, channels, height, width)
        Images.
    kernel : int or pair of int
        Size of the window.
    stride : int or pair of int, optional
        That of the window unless given.
    padding : int or pair of int
        Of minus infinity, at most half of the window.
    """
    windows = _pool(kernel, stride, padding)
    _images(x)
    place = _largest(np.asarray(data_of(x)), windows)
    return _pick(x, place, windows)


def avg_pool2d(
    x: Operand, kernel: Pair, *, stride: Pair | None = None, padding: Pair = 0
) -> Tensor:
    """Return the mean of each window, zeros of the padding included; see `max_pool2d`."""
    windows = _pool(kernel, stride, padding)
    n, channels, height, width = _images(x)
    down, across = windows.count(height, width)
    columns = reshape(_unfold(x, windows), (channels, -1, n, down, across))
    return transpose(mean(columns, axis=1), (1, 0, 2, 3))


def _pool(kernel: Pair, stride: Pair | None, padding: Pair) -> Windows:
    size = pair(kernel, "kernel", 1)
    border = pair(padding, "padding", 0)
    if any(2 * p > k for p, k in zip(border, size, strict=True)):
        raise ValueError(f"padding: {border} is more than half of the window {size}")
    return Windows(size, size if stride is None else pair(stride, "stride", 1), border)

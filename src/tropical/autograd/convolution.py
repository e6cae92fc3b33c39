"""Convolution as a matrix product, and pooling. Images are (n, channels, height, width).

Windows of all images stand side by side in one matrix (K. Chellapilla, S. Puri and P. Simard, "High
performance convolutional neural networks for document processing", 2006), so a layer is one
product. This matrix is never in memory: its blocks are packed from the images (S. Chetlur et al.,
"cuDNN: efficient primitives for deep learning", arXiv:1410.0759, section 3.1). The product lies in
memory as (channels, n, height, width); the result (n, channels, ...) is a view of it.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

import tropical
from tropical import _core
from tropical.arrays import is_kind

from .operation import Operation, operand
from .reduce import mean
from .reduce import sum as sum_over
from .shape import integers, put_along, reshape, transpose
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

    def padded(self, x: Array, dtype: Any) -> Array:
        """Return images, channels first, with a border of zeros."""
        result = np.empty(self.padded_shape(x.shape), dtype)
        _core.pad_images(
            _with_rows(np.asarray(x.transpose(1, 0, 2, 3), dtype)), self.padding, result
        )
        return result

    def cropped(self, x: Array, height: int, width: int) -> Array:
        """Return images without their border: the inverse of `padded`."""
        p, q = self.padding
        return x[:, :, p : p + height, q : q + width].transpose(1, 0, 2, 3)

    def padded_shape(self, shape: tuple[int, ...]) -> tuple[int, int, int, int]:
        """Return the shape of the padded images, channels first."""
        n, channels, height, width = shape
        return channels, n, height + 2 * self.padding[0], width + 2 * self.padding[1]


def _with_rows(images: Array) -> Array:
    """Return images, or a copy of them, whose rows are contiguous."""
    plain = images.strides[-1] == images.itemsize and images.flags.aligned
    return images if plain else images.copy()


@functools.lru_cache(maxsize=16)
def _places_and_pixels(windows: Windows, shape: tuple[int, ...]) -> tuple[Array, Array]:
    """Return where windows lie among the numbers of padded images, channels first.

    Place p of window j is at ``places[p] + pixels[j]``. `shape` is that of the images.
    """
    channels, n, height, width = windows.padded_shape(shape)
    down, across = windows.count(*shape[2:])
    image = height * width
    places = _sums((channels, n * image), (windows.kernel[0], width), (windows.kernel[1], 1))
    rows, columns = (down, windows.stride[0] * width), (across, windows.stride[1])
    return places, _sums((n, image), rows, columns)


def _sums(*axes: tuple[int, int]) -> Array:
    """Return every sum of one multiple from each axis, (count, distance)."""
    total = np.zeros((), np.intp)
    for count, distance in axes:
        total = np.add.outer(total, np.arange(count) * distance)
    # In memory of Python: what NumPy allocates belongs to the pool of a step.
    return np.frombuffer(total.astype(np.intp).tobytes(), np.intp)


# fmt: off
# A layer, and the gradients of its images and of its weight: each is linear in both inputs.
_correlate: Operation = Operation(lambda x, weight, windows: _correlate_value(x, weight, windows),
    lambda g, x_shape, weight, windows: _spread(g, weight, x_shape, windows),
    lambda g, x, weight_shape, windows: _collect(g, x, weight_shape, windows))
_spread: Operation = Operation(
    lambda g, weight, shape, windows: _spread_value(g, weight, shape, windows),
    lambda h, weight, windows: _correlate(h, weight, windows),
    lambda h, g, weight_shape, windows: _collect(g, h, weight_shape, windows))
_collect: Operation = Operation(
    lambda g, x, shape, windows: _collect_value(g, x, shape, windows),
    lambda h, x, windows: _correlate(x, h, windows),
    lambda h, g, x_shape, windows: _spread(g, h, x_shape, windows))
# The bias is added in place.
_correlate_with_bias: Operation = Operation(
    lambda x, weight, bias, windows: _correlate_value(x, weight, windows, bias),
    *_correlate.rules,
    lambda g: sum_over(g, axis=(0, 2, 3)))
# (n, channels, height, width) -> (channels * window, n * down * across), and its adjoint.
_unfold: Operation = Operation(lambda x, windows: _unfold_value(x, windows),
    lambda g, x_shape, windows: _fold(g, x_shape, windows))
_fold: Operation = Operation(lambda x, shape, windows: _fold_value(x, shape, windows),
    lambda g, windows: _unfold(g, windows))
# The largest pixel of each window is the one at `index`, which alone gets the gradient.
_max_pool: Operation = Operation(lambda x, index, y: y,
    lambda g, x_shape, index: _unpick(g, x_shape, index))
# fmt: on


def _product(a: Array, x: Array, windows: Windows, *, transposed: bool = False) -> Array:
    """Multiply a matrix and the windows of images, (channels * places, windows).

    If `transposed`, the transpose of the windows.
    """
    dtype = np.result_type(a, x)
    if is_kind(dtype, "bool", "integer"):
        dtype = np.result_type(dtype, np.int64)  # as sums of bytes would wrap
    source = windows.padded(x, dtype).reshape(-1)
    rows, columns = _places_and_pixels(windows, x.shape)
    if transposed:
        rows, columns = columns, rows
    if dtype.char in "fd":
        out = np.empty((len(a), len(columns)), dtype)
        a = np.asarray(a, dtype)
        if _core.gather_product(a, source, rows, columns, out):
            return out
    matrix = source[np.add.outer(rows, columns)]
    product: Array = tropical.gemm(a, matrix, semiring="plustimes", precision="float32")
    return product


def _correlate_value(x: Array, weight: Array, windows: Windows, bias: Array | None = None) -> Array:
    product = _product(_filters(weight), x, windows)
    if bias is not None:
        dtype = np.result_type(product, bias)
        product = np.add(product, bias[:, None], out=product if product.dtype == dtype else None)
    down, across = windows.count(*x.shape[2:])
    return product.reshape(len(weight), len(x), down, across).transpose(1, 0, 2, 3)


def _filters(weight: Array) -> Array:
    """Return a filter in each row."""
    return weight.reshape(len(weight), math.prod(weight.shape[1:]))


def _as_rows(g: Array) -> Array:
    """Return the pixels of a channel in each row."""
    return _filters(g.transpose(1, 0, 2, 3))


def _spread_value(g: Array, weight: Array, shape: tuple[int, ...], windows: Windows) -> Array:
    """Return the gradient of images: of stride 1, the correlation with the turned filters."""
    if windows.stride != (1, 1):
        columns = tropical.gemm(
            _filters(weight).T, _as_rows(g), semiring="plustimes", precision="float32"
        )
        return _fold_value(columns, shape, windows)
    border = [k - 1 - p for k, p in zip(windows.kernel, windows.padding, strict=True)]
    cut = [
        slice(max(-b, 0), length - max(-b, 0))
        for b, length in zip(border, g.shape[2:], strict=True)
    ]
    turned = weight.transpose(1, 0, 2, 3)[:, :, ::-1, ::-1]
    around = Windows(windows.kernel, (1, 1), (max(border[0], 0), max(border[1], 0)))
    return _correlate_value(g[:, :, cut[0], cut[1]], turned, around)


def _collect_value(g: Array, x: Array, shape: tuple[int, ...], windows: Windows) -> Array:
    """Return the gradient of the weight."""
    return _product(_as_rows(g), x, windows, transposed=True).reshape(shape)


def _unfold_value(x: Array, windows: Windows) -> Array:
    places, pixels = _places_and_pixels(windows, x.shape)
    value: Array = windows.padded(x, x.dtype).reshape(-1)[np.add.outer(places, pixels)]
    return value


def _fold_value(x: Array, shape: tuple[int, ...], windows: Windows) -> Array:
    n, channels, height, width = shape
    down, across = windows.count(height, width)
    unfolded = x.reshape(channels, windows.places, n, down, across)
    padded = np.zeros(windows.padded_shape(shape), dtype=x.dtype)
    for place, (rows, columns) in enumerate(windows.offsets(down, across)):
        padded[:, :, rows, columns] += unfolded[:, place]
    return windows.cropped(padded, height, width)


def _largest(x: Array, windows: Windows) -> tuple[Array, Array]:
    """Return the largest pixel of each window, and where the first such pixel is in its image."""
    n, channels, height, width = x.shape
    dtype = x.dtype.newbyteorder("=") if x.dtype.char in "fd" else np.float64
    images = _with_rows(np.asarray(x.transpose(1, 0, 2, 3), dtype))
    shape = channels, n, *windows.count(height, width)
    value, index = np.empty(shape, images.dtype), np.empty(shape, np.intp)
    _core.max_pool(images, windows.kernel, windows.stride, windows.padding, value, index)
    return value.astype(x.dtype, copy=False).transpose(1, 0, 2, 3), index


def _unpick(g: Any, shape: tuple[int, ...], index: Array) -> Any:
    """Return zeros of the images' shape to which g is added at the pixels of `index`."""
    n, channels, height, width = shape
    flat = channels, n, math.prod(index.shape[2:])
    g = reshape(transpose(g, (1, 0, 2, 3)), flat)
    x = put_along(g, (channels, n, height * width), index.reshape(flat), -1)
    return transpose(reshape(x, (channels, n, height, width)), (1, 0, 2, 3))


def pair(value: Pair, name: str, least: int) -> tuple[int, int]:
    """Return (down, across) from one or two ints."""
    both = integers(value, name)
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
        ``down = (height + 2 padding - kernel height) // stride + 1``; across likewise. Of arrays of
        integers, the sums are int64.

    Raises
    ------
    ValueError
        If shapes do not fit or a window is larger than the padded image.
    """
    _, channels, height, width = _images(x)
    shape = np.shape(data_of(weight))
    if len(shape) != 4 or shape[1] != channels:
        raise ValueError(
            f"weight: expected (filters, {channels}, kernel height, kernel width), got {shape}"
        )
    windows = Windows(shape[2:], pair(stride, "stride", 1), pair(padding, "padding", 0))
    windows.count(height, width)
    if bias is None:
        return _correlate(x, weight, windows)
    return _correlate_with_bias(x, weight, bias, windows)


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
    value, index = _largest(np.asarray(operand(data_of(x))), windows)
    return _max_pool(x, index, value)


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

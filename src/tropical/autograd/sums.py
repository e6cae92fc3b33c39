"""Sums over axes whose rounding errors grow little with the number of elements.

NumPy adds in pairs only along the axis that is contiguous in memory. Along other axes NumPy adds
row after row, and a float32 sum of a million rows has an error of a hundred-thousandth.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tropical import _core

from .value import Array

BLOCK = 128  # rows that are added one after the other
_add: Any = np.add.reduce
_sum: Any = np.sum
_mean: Any = np.mean


def total(x: Array, axes: tuple[int, ...], keepdims: bool = False) -> Array:
    """Return the sum over axes, as `numpy.sum`, by blocks where NumPy adds row after row.

    Parameters
    ----------
    x : ndarray
        Of any shape and layout. NumPy sums subclasses, numbers and other dtypes than float32 and
        float64.
    axes : tuple of int
        Different axes, from 0 on.
    keepdims : bool, default False
        Whether the axes stay, with length 1.

    Returns
    -------
    ndarray
        The sum.

    Notes
    -----
    N. J. Higham, "The accuracy of floating point summation", SIAM Journal on Scientific Computing
    14, 1993, section 2.
    """
    value: Array
    if type(x) is not np.ndarray:
        value = _sum(x, axis=axes, keepdims=keepdims)
    elif (
        math.prod([x.shape[axis] for axis in axes]) <= 2 * BLOCK
        or x.dtype.char not in "fd"
        or (len(axes) == x.ndim and x.flags.forc)
    ):
        value = _add(x, axis=axes, keepdims=keepdims)
    else:
        longer = [axis for axis, length in enumerate(x.shape) if length != 1]
        order = sorted(longer, key=lambda axis: -abs(x.strides[axis]))
        kept = [axis for axis in order if axis not in axes]
        value = _over_axes(*_merged(x, order, axes)).reshape([x.shape[axis] for axis in kept])
        value = value.transpose(np.argsort(kept)).reshape(
            [
                1 if axis in axes else n
                for axis, n in enumerate(x.shape)
                if keepdims or axis not in axes
            ]
        )
    return value


def average(x: Array, axes: tuple[int, ...], keepdims: bool = False) -> Array:
    """Return the mean over axes, as `numpy.mean`, from `total`."""
    if type(x) is not np.ndarray or x.dtype.char not in "fd" or not x.size:
        mean: Array = _mean(x, axis=axes, keepdims=keepdims)
        return mean
    return total(x, axes, keepdims) / math.prod([x.shape[axis] for axis in axes])


def _merged(x: Array, order: list[int], axes: tuple[int, ...]) -> tuple[Array, list[bool]]:
    """Return x with its axes in order, neighbors in memory as one axis, and which are summed."""
    lengths: list[int] = []
    summed: list[bool] = []
    stride = 0  # of the axis before
    for axis in order:
        length, is_summed = x.shape[axis], axis in axes
        if summed and summed[-1] == is_summed and stride == length * x.strides[axis]:
            lengths[-1] *= length
        else:
            lengths.append(length)
            summed.append(is_summed)
        stride = x.strides[axis]
    rest = [axis for axis in range(x.ndim) if axis not in order]
    return x.transpose(*order, *rest).reshape(lengths), summed


def _over_axes(x: Array, summed: list[bool]) -> Array:
    """Return the sum over axes; the last axis is the fastest in memory."""
    axes = tuple(axis for axis, is_summed in enumerate(summed) if is_summed)
    slow = [n if is_summed else 0 for n, is_summed in zip(x.shape, summed, strict=True)][:-1]
    if max(slow, default=0) > 2 * BLOCK:
        return _by_blocks(x, axes, slow.index(max(slow)))
    value: Array = _add(x, axis=axes)
    return value


def _by_blocks(x: Array, axes: tuple[int, ...], rows: int) -> Array:
    """Return the sum over axes, by blocks of the axis `rows`."""
    blocks, rest = divmod(x.shape[rows], BLOCK)
    every = (slice(None),) * rows
    first, last = (*every, slice(blocks * BLOCK)), (*every, slice(blocks * BLOCK, None))
    head = x[first]
    head = head.reshape(*x.shape[:rows], blocks, BLOCK, *x.shape[rows + 1 :])
    partial = _row_by_row(head, tuple(axis if axis < rows else axis + 1 for axis in axes))
    value = total(partial, (rows - sum(axis < rows for axis in axes),))
    if rest:
        value = value + _row_by_row(x[last], axes)
    return value


def _row_by_row(x: Array, axes: tuple[int, ...]) -> Array:
    """Return the sum over axes: of rows as a product, which is faster than NumPy's sum."""
    if axes == (x.ndim - 2,):
        product: Array = _core.gemm(np.ones(x.shape[-2], x.dtype), x, semiring="plustimes")
        return product
    value: Array = _add(x, axis=axes)
    return value

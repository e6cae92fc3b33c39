"""Initial weights."""

from __future__ import annotations

import math
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import DTypeLike, NDArray

from tropical.autograd import random

from .checks import Rng, check_shape, float_dtype

Array: TypeAlias = NDArray[Any]


def uniform(
    shape: tuple[int, ...], bound: float, *, dtype: DTypeLike = np.float32, rng: Rng = None
) -> Array:
    """Return values drawn uniformly from [-bound, bound)."""
    kind = float_dtype(dtype)
    check_shape(shape)
    values = random.chosen(rng).random(shape, dtype=np.float64)
    return ((2 * values - 1) * float(bound)).astype(kind)


def normal(
    shape: tuple[int, ...], deviation: float, *, dtype: DTypeLike = np.float32, rng: Rng = None
) -> Array:
    """Return values drawn from a normal distribution of mean 0."""
    kind = float_dtype(dtype)
    check_shape(shape)
    return (random.chosen(rng).standard_normal(shape) * float(deviation)).astype(kind)


def _fans(shape: tuple[int, ...]) -> tuple[int, int]:
    """Return inputs per output and outputs per input, for weights (out, in, ...)."""
    check_shape(shape, least=2)
    window = math.prod(shape[2:])
    return shape[1] * window, shape[0] * window


def fan_in_uniform(
    shape: tuple[int, ...], *, dtype: DTypeLike = np.float32, rng: Rng = None
) -> Array:
    """Return uniform weights in [-1, 1) / sqrt(inputs), the default of PyTorch's layers.

    The variance is a third of that in Y. LeCun, L. Bottou, G. Orr and K.-R. Müller, "Efficient
    backprop", 1998, section 4.6.

    Parameters
    ----------
    shape : tuple of int
        (outputs, inputs), or (filters, channels, height, width): an element of the result then
        has channels * height * width inputs. The other functions of weights take the same.
    dtype : dtype, default float32
        float32 or float64.
    rng : numpy.random.Generator, optional
        `tropical.autograd.generator()` by default.
    """
    return uniform(shape, 1 / math.sqrt(max(_fans(shape)[0], 1)), dtype=dtype, rng=rng)


def he_normal(shape: tuple[int, ...], *, dtype: DTypeLike = np.float32, rng: Rng = None) -> Array:
    """Return normal weights of variance 2 / inputs, for layers before ReLU.

    He, Zhang, Ren and Sun, "Delving deep into rectifiers", ICCV 2015, section 2.2.
    """
    return normal(shape, math.sqrt(2 / max(_fans(shape)[0], 1)), dtype=dtype, rng=rng)


def he_uniform(shape: tuple[int, ...], *, dtype: DTypeLike = np.float32, rng: Rng = None) -> Array:
    """Return uniform weights of the variance of `he_normal`."""
    return uniform(shape, math.sqrt(6 / max(_fans(shape)[0], 1)), dtype=dtype, rng=rng)


def glorot_uniform(
    shape: tuple[int, ...], *, dtype: DTypeLike = np.float32, rng: Rng = None
) -> Array:
    """Return uniform weights of variance 2 / (inputs + outputs).

    X. Glorot and Y. Bengio, "Understanding the difficulty of training deep feedforward neural
    networks", AISTATS 2010, equation 16.
    """
    return uniform(shape, math.sqrt(6 / max(sum(_fans(shape)), 1)), dtype=dtype, rng=rng)

"""Operations of neural networks besides products: each gradient below its value."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from tropical import _core
from tropical.arrays import check_number, check_share, unmasked

from . import random
from .elementwise import exp, multiply, subtract
from .operation import Operation, operand, sum_to
from .reduce import mean, sum, var
from .shape import getitem, normal_axis, reshape
from .sums import average, total
from .tensor import Operand, Tensor, data_of, floats
from .value import Array

if TYPE_CHECKING:
    from collections.abc import Sequence

# fmt: off
_softmax: Operation = Operation(lambda x, axis: _softmax_value(x, axis),
    lambda g, y, axis: _softmax_rule(g, y, axis))
_log_softmax: Operation = Operation(lambda x, axis: _log_softmax_value(x, axis),
    lambda g, y, axis: g - exp(y) * sum(g, axis, keepdims=True))
_cross_entropy: Operation = Operation(
    lambda x, targets, scale: _cross_entropy_value(x, targets, scale),
    lambda g, x, targets, scale: _error(x, g, targets, scale))
# (softmax(x) - one hot) g scale
_error: Operation = Operation(
    lambda x, g, targets, scale: _error_value(x, g, targets, scale),
    lambda v, x, g, scale: _softmax_rule(v * g * scale, softmax(x)),
    lambda v, x, targets, scale: sum(v * _error(x, 1.0, targets, scale)))
# Mean 0 and variance 1 over `axes`.
_standardize: Operation = Operation(lambda x, axes, eps: _standardize_value(x, axes, eps),
    lambda g, x, y, axes, eps: _standardize_rule(g, x, y, axes, eps))
# Of one dtype; statistics: the mean and the scale of each row.
_layer_norm: Operation = Operation(lambda x, weight, bias, eps, statistics, value: value,
    lambda g, x, weight, eps, statistics: _layer_norm_rule(g, x, weight, eps, statistics),
    lambda g, x, weight_shape, eps, statistics: _norm_weight_rule(g, x, eps, statistics),
    lambda g, bias_shape: sum_to(g, bias_shape))
# fmt: on


def _softmax_value(x: Array, axis: int) -> Array:
    y = x - np.maximum.reduce(x, axis=axis, keepdims=True, initial=-np.inf)
    np.exp(y, out=y)
    y /= total(y, (axis,), keepdims=True)
    return y


def _softmax_rule(g: Any, y: Any, axis: int = -1) -> Any:
    return y * (g - sum(g * y, axis, keepdims=True))


def _log_softmax_value(x: Array, axis: int) -> Array:
    y = x - np.maximum.reduce(x, axis=axis, keepdims=True, initial=-np.inf)
    if y.size:
        y -= np.log(total(np.exp(y), (axis,), keepdims=True))
    return y


def _cross_entropy_value(x: Array, targets: Array, scale: float) -> Array:
    loss = _core.cross_entropy(x, targets)
    if loss is None:
        raise _no_class(targets, x.shape[1])
    value: Array = x.dtype.type(loss * scale)
    return value


def _error_value(x: Array, g: Any, targets: Array, scale: float) -> Array:
    error = np.empty(x.shape, x.dtype)
    if not _core.cross_entropy_gradient(x, targets, float(g * scale), error):
        raise _no_class(targets, x.shape[1])
    return error


def _no_class(targets: Array, classes: int) -> ValueError:
    return ValueError(
        f"targets: expected classes from 0 to {classes - 1}, got {targets.min()} to {targets.max()}"
    )


def _standardize_value(x: Array, axes: tuple[int, ...], eps: float) -> Array:
    y = x - average(x, axes, keepdims=True)
    y /= np.sqrt(average(y * y, axes, keepdims=True) + eps)
    return y


def _standardize_rule(g: Any, x: Any, y: Any, axes: tuple[int, ...], eps: float) -> Any:
    """Return the gradient through mean and variance.

    Ioffe and Szegedy, "Batch normalization", ICML 2015, section 3.
    """
    scale = (var(x, axes, keepdims=True) + eps) ** -0.5
    return scale * (g - mean(g, axes, keepdims=True) - y * mean(g * y, axes, keepdims=True))


def _as_rows(x: Array) -> Array:
    return _plain(x).reshape(-1, x.shape[-1])


def _plain(x: Array) -> Array:
    """Return `x`, or a copy in C order that is aligned."""
    return np.require(x, requirements=["C", "A"])


def _layer_norm_rule(g: Any, x: Any, weight: Any, eps: float, statistics: Array) -> Any:
    if isinstance(g, Tensor):
        axes = (x.ndim - 1,)
        return _standardize_rule(g * weight, x, _standardize(x, axes, eps), axes, eps)
    result = np.empty(x.shape, x.dtype)
    out = result.reshape(-1, x.shape[-1])
    scale = _plain(weight)
    _core.layer_norm_gradient(_as_rows(g), _as_rows(x), scale, statistics, out)
    return result


def _norm_weight_rule(g: Any, x: Any, eps: float, statistics: Array) -> Any:
    if isinstance(g, Tensor):
        return sum_to(g * _standardize(x, (x.ndim - 1,), eps), x.shape[-1:])
    out = np.empty(x.shape[-1], x.dtype)
    _core.layer_norm_weight_gradient(_as_rows(g), _as_rows(x), statistics, out)
    return out


def softmax(x: Operand, axis: int = -1) -> Tensor:
    """Return exp(x) / sum(exp(x)) along `axis`, without overflow."""
    values = floats(x)
    return _softmax(values, normal_axis(axis, values.ndim))


def log_softmax(x: Operand, axis: int = -1) -> Tensor:
    """Return the logarithm of `softmax`, without cancellation."""
    values = floats(x)
    return _log_softmax(values, normal_axis(axis, values.ndim))


def cross_entropy(logits: Operand, targets: ArrayLike, *, reduction: str = "mean") -> Tensor:
    """Return the cross entropy of softmax(logits) against classes.

    Parameters
    ----------
    logits : Tensor, (n, classes)
        Unnormalized log-probabilities.
    targets : array_like of int, (n,)
        The class of each row, from 0 on.
    reduction : {"mean", "sum"}
        The reduction over the rows.

    Returns
    -------
    Tensor
        One number, in nats.

    Raises
    ------
    ValueError
        If shapes do not fit or a target is no class.
    TypeError
        If targets are not integers.

    Notes
    -----
    Rows are computed in C++ on one thread, in float64 whatever the dtype of the logits, and
    floating-point errors give no warnings. The greatest logit of a row is taken out before the
    exponentials, so none overflows.
    """
    scores = floats(logits)
    shape = scores.shape
    classes = unmasked("targets", targets)
    if len(shape) != 2 or classes.shape != shape[:1]:
        raise ValueError(
            "targets: expected (n,) for logits of shape (n, classes), got "
            f"{classes.shape} for {shape}"
        )
    if classes.dtype.kind not in "iu":
        raise TypeError(f"targets: expected integers, got {classes.dtype}")
    _check_reduction(reduction)
    scale = 1.0 / max(len(classes), 1) if reduction == "mean" else 1.0
    return _cross_entropy(scores, classes, scale)


def mse(x: Operand, targets: Operand, *, reduction: str = "mean") -> Tensor:
    """Return the mean (or the sum) of ``(x - targets) ** 2``.

    Raises
    ------
    ValueError
        If the shapes differ.
    """
    expected, got = np.shape(data_of(x)), np.shape(data_of(targets))
    if got != expected:
        raise ValueError(f"targets: expected {expected}, the shape of x, got {got}")
    _check_reduction(reduction)
    error = subtract(floats(x), targets)
    return (mean if reduction == "mean" else sum)(error * error)


def _check_reduction(reduction: str) -> None:
    if reduction not in ("mean", "sum"):
        raise ValueError(f'reduction: expected "mean" or "sum", got {reduction!r}')


def dropout(
    x: Operand, p: float = 0.5, *, training: bool = True, rng: np.random.Generator | None = None
) -> Tensor:
    """Set elements to 0 with probability p and multiply the others by 1 / (1 - p).

    Parameters
    ----------
    x : Tensor
        Of any shape.
    p : float, default 0.5
        In [0, 1).
    training : bool, default True
        False: return x unchanged.
    rng : numpy.random.Generator, optional
        `tropical.autograd.generator()` by default.

    Notes
    -----
    N. Srivastava et al., "Dropout: a simple way to prevent neural networks from overfitting",
    Journal of Machine Learning Research 15, 2014.
    """
    check_share("p", p)
    if not training or p == 0:
        unchanged: Any = x if isinstance(x, Tensor) else np.asarray(operand(data_of(x)))
        return unchanged
    x = floats(x)
    array = data_of(x)
    draws: Any = random.chosen(rng).random(array.shape, dtype=array.dtype)
    mask = (draws >= p).astype(array.dtype)
    mask /= 1 - p
    return multiply(x, mask)


def standardize(x: Operand, axes: Sequence[int], eps: float = 1e-5) -> Tensor:
    """Return x minus its mean over `axes`, divided by sqrt(variance + eps)."""
    check_number("eps", eps)
    values = floats(x)
    return _standardize(values, tuple(normal_axis(a, values.ndim, "axes") for a in axes), eps)


def layer_norm(
    x: Operand, weight: Operand | None = None, bias: Operand | None = None, *, eps: float = 1e-5
) -> Tensor:
    """Standardize over the last axis, then scale and shift.

    Parameters
    ----------
    x : Tensor, (..., n)
        Rows.
    weight, bias : Tensor, (n,), optional
        Scale and shift.
    eps : float, default 1e-5
        Added to the variance.

    Raises
    ------
    TypeError
        If `eps` is not a number.
    ValueError
        If `weight` or `bias` does not broadcast to x.

    Notes
    -----
    Ba, Kiros and Hinton, "Layer normalization", arXiv:1607.06450, section 3.

    The variance is the mean of the squared differences to the mean, and long sums are added in
    float64. Where x, weight and bias have one dtype, the rows are computed in C++, and
    floating-point errors give no warnings.
    """
    check_number("eps", eps)
    x = floats(x)
    if (fused := _fused_layer_norm(x, weight, bias, eps)) is not None:
        return fused
    y = standardize(x, (-1,), eps)
    for name, own in ("weight", weight), ("bias", bias):
        if own is not None:
            _check_broadcasts(name, np.shape(data_of(own)), y.shape)
    if weight is not None:
        y = y * weight
    return y if bias is None else y + bias


def _check_broadcasts(name: str, shape: tuple[int, ...], to: tuple[int, ...]) -> None:
    ahead = to[len(to) - len(shape) :]
    if len(shape) > len(to) or any(n not in (1, m) for n, m in zip(shape, ahead, strict=True)):
        raise ValueError(f"{name}: expected shape {to[-1:]}, got {shape}")


def _fused_layer_norm(
    x: Operand, weight: Operand | None, bias: Operand | None, eps: float
) -> Tensor | None:
    """Return the value in one pass; None for what broadcasts, or has several dtypes."""
    array = data_of(x)
    if type(array) is not np.ndarray or not array.size:
        return None
    kind, dtype = array.shape[-1:], array.dtype
    if dtype.char not in "fd" or not dtype.isnative or not kind:
        return None
    scale = np.ones(kind, dtype) if weight is None else weight
    shift = np.zeros(kind, dtype) if bias is None else bias
    arrays = [data_of(scale), data_of(shift)]
    for own in arrays:
        if type(own) is not np.ndarray or own.shape != kind or own.dtype != dtype:
            return None
    rows = _as_rows(array)
    value, statistics = np.empty(array.shape, dtype), np.empty((2, len(rows)), dtype)
    out = value.reshape(rows.shape)
    own_scale, own_shift = map(_plain, arrays)
    _core.layer_norm(rows, own_scale, own_shift, eps, out, statistics)
    return _layer_norm(x, scale, shift, eps, statistics, value)


def batch_norm(
    x: Operand,
    weight: Operand | None = None,
    bias: Operand | None = None,
    *,
    running_mean: Array | None = None,
    running_var: Array | None = None,
    training: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """Standardize each channel over the batch, then scale and shift.

    Parameters
    ----------
    x : Tensor, (n, channels, ...)
        A batch.
    weight, bias : Tensor, (channels,), optional
        Scale and shift.
    running_mean, running_var : ndarray, (channels,), optional
        In training, these arrays move in place toward the mean and the unbiased variance of the
        batch, as in PyTorch; otherwise they replace the mean and the variance of the batch.
    training : bool, default True
        Use the mean and the variance of the batch.
    momentum : float, default 0.1
        The share of the batch in the new running values.
    eps : float, default 1e-5
        Added to the variance.

    Raises
    ------
    ValueError
        If shapes do not fit or there are too few values; the running values are unchanged then.

    Notes
    -----
    Ioffe and Szegedy, "Batch normalization", ICML 2015, algorithm 1.
    """
    x = floats(x)
    array = data_of(x)
    if array.ndim < 2:
        raise ValueError(f"x: expected (n, channels, ...), got {array.shape}")
    axes = (0, *range(2, array.ndim))
    along = (1, array.shape[1], *(1,) * (array.ndim - 2))
    per_channel = {
        "weight": weight,
        "bias": bias,
        "running_mean": running_mean,
        "running_var": running_var,
    }
    for name, values in per_channel.items():
        if values is not None and np.shape(data_of(values)) != array.shape[1:2]:
            raise ValueError(
                f"{name}: expected {array.shape[1:2]}, the channels of x, "
                f"got {np.shape(data_of(values))}"
            )
    if training:
        count = array.size // max(array.shape[1], 1)
        if count < 2:
            raise ValueError(
                f"x: expected at least two values a channel for training, got {array.shape}"
            )
        y = standardize(x, axes, eps)
        if running_mean is not None:
            running_mean += momentum * (average(array, axes) - running_mean)
        if running_var is not None:
            centered = array - average(array, axes, keepdims=True)
            unbiased = average(centered * centered, axes) * (count / (count - 1))
            running_var += momentum * (unbiased - running_var)
    else:
        if running_mean is None or running_var is None:
            raise ValueError("running_mean, running_var: expected arrays unless training")
        check_number("eps", eps)
        scale = 1 / np.sqrt(running_var + eps)
        shifted = subtract(x, running_mean.reshape(along))
        y = shifted * scale.astype(shifted.dtype, copy=False).reshape(along)
    if weight is not None:
        y = y * reshape(weight, along)
    return y if bias is None else y + reshape(bias, along)


def embedding(weight: Operand, indices: ArrayLike) -> Tensor:
    """Return the rows of `weight` at `indices`.

    Parameters
    ----------
    weight : Tensor, (rows, n)
        The table.
    indices : array_like of int, any shape
        From 0 on.

    Returns
    -------
    Tensor, indices.shape + (n,)
        The rows.

    Raises
    ------
    IndexError
        If there is no such row.
    TypeError
        If indices are not integers.
    ValueError
        If `weight` has no rows.
    """
    rows = unmasked("indices", indices)
    if not rows.size:  # NumPy gives an empty list float64
        rows = rows.astype(np.intp)
    if rows.dtype.kind not in "iu":
        raise TypeError(f"indices: expected integers, got {rows.dtype}")
    shape = np.shape(data_of(weight))
    if not shape:
        raise ValueError("weight: expected (rows, n), got ()")
    count = shape[0]
    if rows.size and not 0 <= rows.min() <= rows.max() < count:
        raise IndexError(
            f"indices: expected rows from 0 to {count - 1}, got {rows.min()} to {rows.max()}"
        )
    return getitem(weight, rows.astype(np.intp, copy=False))

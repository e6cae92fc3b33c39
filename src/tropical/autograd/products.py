"""Matrix products over semirings, every one a `tropical.gemm`: each gradient below its value."""

from __future__ import annotations

import contextlib
import cProfile
import math
import warnings
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

import tropical
from tropical import _core
from tropical.arrays import is_kind
from tropical.epilogue import Epilogue
from tropical.semirings import Semiring
from tropical.semirings import get as semiring_named

from . import winners
from .elementwise import gelu, masked, relu_operation
from .operation import Operation, checked, operand, sum_to
from .shape import broadcast_to, put_along, reshape, swap_last, take_along
from .tensor import Operand, Tensor, data_of, tensor_of
from .value import Array, recording
from .weighted import shift, weighted

if TYPE_CHECKING:
    from collections.abc import Iterator


_gemm: Any = tropical.gemm
_fused: Any = _core.linear


def weight_gradient(g: Any, x: Any, by_inputs: bool) -> Any:
    """Return the gradient of the weight of `linear`, with columns side by side if `by_inputs`."""
    a, b = swap_last(_rows(g)), _rows(x)
    if isinstance(g, Tensor) or not by_inputs:
        return _matmul(a, b)
    out = np.empty((a.shape[0], b.shape[1]), np.result_type(a, b), order="F")
    return _gemm(a, b, semiring="plustimes", out=out)


def bias_gradient(g: Any, bias_shape: tuple[int, ...]) -> Any:
    """Return the gradient of the bias of `linear`."""
    return sum_to(g, bias_shape)


def add_weight_gradient(weight: Array, scale: float, g: Array, x: Array) -> None:
    """Add `scale` times the gradient of the weight to the weight, in one product."""
    _gemm(_rows(g * scale).T, _rows(x), semiring="plustimes", out=weight, accumulate=True)


# fmt: off
_matmul: Operation = Operation(lambda a, b: _gemm(a, b, semiring="plustimes"),
    lambda g, a_shape, b: sum_to(_matmul(g, swap_last(b)), a_shape),
    lambda g, a, b_shape: _gradient_of_b(g, a, b_shape))
# The product comes with the index of each winner. An element depends on its winner alone, and on
# nothing if the element is the semiring's zero, which no product attains.
_best_sum: Operation = Operation(lambda a, b, index, won, c: c,
    lambda g, a_shape, index, won: _put_a(_if_won(g, won), a_shape, index),
    lambda g, b_shape, index, won: _put_b(_if_won(g, won), b_shape, index))
_best_product: Operation = Operation(lambda a, b, index, won, c: c,
    lambda g, a_shape, b, index, won: _put_a(_if_won(g, won, _pick_b(b, index)), a_shape, index),
    lambda g, a, b_shape, index, won: _put_b(_if_won(g, won, _pick_a(a, index)), b_shape, index))
_best_choice = Operation(lambda a, b, index, of_a, of_b, c: c,  # of_a: the winner is from a
    lambda g, a_shape, index, of_a: _put_a(masked(g, of_a), a_shape, index),
    lambda g, b_shape, index, of_b: _put_b(masked(g, of_b), b_shape, index))
# Over logplus: see `weighted`. y is the product itself.
_log_product: Operation = Operation(lambda a, b: _gemm(a, b, semiring="logplus"),
    lambda g, a, a_shape, b, y: sum_to(_weighted(g, -y, _one(b), swap_last(b), a), a_shape),
    lambda g, a, b, b_shape, y: sum_to(_weighted(_one(a), swap_last(a), g, -y, b), b_shape))
_weighted: Operation = Operation(lambda u, r, v, s, t: weighted(u, r, v, s, t),
    lambda g, u_shape, r, v, s, t: sum_to(_to_rows(g, r, v, s, t), u_shape),
    lambda g, u, r, r_shape, v, s, t: sum_to(u * _to_rows(g, r, v, s, t), r_shape),
    lambda g, u, r, v_shape, s, t: sum_to(_to_columns(g, u, r, s, t), v_shape),
    lambda g, u, r, v, s, s_shape, t: sum_to(v * _to_columns(g, u, r, s, t), s_shape),
    lambda g, t_shape, y: sum_to(g * y, t_shape))
replaced: Operation = Operation(lambda x, value: value,  # by an array of equal numbers
    lambda g: g)
# The weight's rule comes after the one that needs the weight.
_linear: Operation = Operation(lambda x, weight, bias, by_inputs: _fused(x, weight, bias),
    lambda g, weight: _matmul(g, weight),
    weight_gradient,
    bias_gradient)
_linear_without_bias: Operation = Operation(lambda x, weight, by_inputs: _fused(x, weight),
    *_linear.rules[:2])
# fmt: on


def _rows(x: Any) -> Any:
    return x if x.ndim == 2 else reshape(x, (math.prod(x.shape[:-1]), x.shape[-1]))


def _gradient_of_b(g: Any, a: Any, b_shape: tuple[int, ...]) -> Any:
    if len(b_shape) == 2:  # one b for a whole batch: one product
        return _matmul(swap_last(_rows(a)), _rows(g))
    return sum_to(_matmul(swap_last(a), g), b_shape)


def _one(x: Any) -> Array:
    return np.ones((1, 1), x.dtype)


def _to_rows(g: Any, r: Any, v: Any, s: Any, t: Any) -> Any:
    return _weighted(g, t, swap_last(v), swap_last(s), r)


def _to_columns(g: Any, u: Any, r: Any, s: Any, t: Any) -> Any:
    return _weighted(swap_last(u), swap_last(r), g, t, s)


def _put_a(g: Any, a_shape: tuple[int, ...], index: Array) -> Any:
    shape = (*index.shape[:-1], a_shape[-1])
    return sum_to(put_along(g, shape, index, -1), a_shape)


def _put_b(g: Any, b_shape: tuple[int, ...], index: Array) -> Any:
    shape = (*index.shape[:-2], b_shape[-2], index.shape[-1])
    return sum_to(put_along(g, shape, index, -2), b_shape)


def _if_won(g: Any, won: Array | None, factor: Any = None) -> Any:
    """Return g, times the factor if given, where there is a winner, else 0; None: everywhere.

    The factor may be infinite where there is no winner.
    """
    g = g if won is None else masked(g, won)
    return g if factor is None else g * _if_won(factor, won)


def _pick_a(a: Any, index: Array) -> Any:
    return take_along(broadcast_to(a, (*index.shape[:-1], a.shape[-1])), index, -1)


def _pick_b(b: Any, index: Array) -> Any:
    shape = (*index.shape[:-2], b.shape[-2], index.shape[-1])
    return take_along(broadcast_to(b, shape), index, -2)


def matmul(a: Operand, b: Operand, *, semiring: str | Semiring = "plustimes") -> Tensor:
    """Multiply matrices over a semiring, as `tropical.gemm`.

    Over a selective semiring each element of the result is one product, and the gradient goes to
    the two factors of the first such product. An element that is the semiring's zero has no
    gradient, because no product attains it.

    Over logplus each term of a sum has a share of the gradient: the share of its exponential in
    the sum of exponentials. This is right for logarithms of any range. An element that is infinite
    has no gradient.

    Parameters
    ----------
    a : Tensor or array_like, (..., m, k) or (k,)
        Left operand.
    b : Tensor or array_like, (..., k, n) or (k,)
        Right operand.
    semiring : str or Semiring, default "plustimes"
        Any but orand.

    Returns
    -------
    Tensor, (..., m, n)
        The product; shapes as for `numpy.matmul`.

    Raises
    ------
    ValueError
        If shapes do not fit or the semiring is unknown.
    TypeError
        If the semiring has no gradient ("orand").

    Examples
    --------
    >>> from tropical.autograd import Tensor, matmul
    >>> legs = Tensor([[0.0, 4.0, 9.0], [4.0, 0.0, 3.0], [9.0, 3.0, 0.0]], requires_grad=True)
    >>> lengths = matmul(legs, legs, semiring="minplus")
    >>> lengths[0, 2].backward()  # 7, by way of 1
    >>> legs.grad
    Tensor([[0., 1., 0.],
            [0., 0., 1.],
            [0., 0., 0.]])
    """
    x, y = (np.asarray(operand(data_of(z))) for z in (a, b))
    a, b = (a if isinstance(a, Tensor) else x), (b if isinstance(b, Tensor) else y)
    if min(x.ndim, y.ndim) < 2:
        return _vectors(a, b, x.ndim, y.ndim, semiring)
    ring = semiring_named(semiring)
    result: Tensor
    if winners.is_ordinary(ring):
        result = _matmul(a, b)
    elif not (ring.selective or winners.is_logarithmic(ring)):
        raise TypeError(f"semiring: expected one with a gradient, got {ring}")
    elif not (isinstance(a, Tensor) or isinstance(b, Tensor)):
        result = _gemm(x, y, semiring=ring.name)
    elif not (recording.get() and (_requires_grad(a) or _requires_grad(b))):
        result = tensor_of(checked(_gemm(x, y, semiring=ring.name)), None)
    elif not ring.selective:
        c = _gemm(x, y, semiring=ring.name)
        x, y = (z if is_kind(z.dtype, "floating") else z.astype(c.dtype) for z in (x, y))
        a, b = (z if isinstance(z, Tensor) else w for z, w in ((a, x), (b, y)))
        shifted = _log_product(a - shift(x, -1), b - shift(y, -2))
        result = replaced(shifted, checked(c))
    else:
        c, index, won = winners.attained(x, y, ring)
        if not (winners.needs_operands(ring) and x.shape[-1]):  # without products, no gradient
            result = _best_sum(a, b, index, won, c)
        elif winners.is_product(ring):
            result = _best_product(a, b, index, won, c)
        else:
            first = winners.is_first(ring, _pick_a(x, index), _pick_b(y, index))
            some = True if won is None else won
            result = _best_choice(a, b, index, some & first, some & ~first, c)
    return result


def _requires_grad(x: Operand | None) -> bool:
    return isinstance(x, Tensor) and x.requires_grad


def _vectors(a: Operand, b: Operand, a_ndim: int, b_ndim: int, semiring: str | Semiring) -> Tensor:
    """Return the product if an operand is 1-D: a row on the left, a column on the right."""
    if not a_ndim or not b_ndim:
        raise ValueError("a, b: expected one dimension or more, got a 0-D operand")
    row, column = a_ndim == 1, b_ndim == 1
    c = matmul(
        reshape(a, (1, -1)) if row else a, reshape(b, (-1, 1)) if column else b, semiring=semiring
    )
    batch, (m, n) = c.shape[:-2], c.shape[-2:]
    return reshape(c, (*batch, *(() if row else (m,)), *(() if column else (n,))))


def linear(
    x: Operand, weight: Operand, bias: Operand | None = None, *, activation: str | None = None
) -> Tensor:
    """Return ``x @ weight.T + bias``, with bias and activation fused into the product.

    Parameters
    ----------
    x : Tensor, (..., k)
        Rows.
    weight : Tensor, (n, k)
        In the layout of PyTorch.
    bias : Tensor, (n,), optional
        Added to every row.
    activation : {None, "relu", "gelu"}
        The function applied to the sum. GELU is fused where nothing is recorded, as under
        `no_grad`; its last digit may then differ. Its gradient needs the sum, which a fused product
        does not keep.

    Returns
    -------
    Tensor, (..., n)
        The new rows.

    Raises
    ------
    ValueError
        If shapes do not fit or `activation` is unknown.
    """
    if activation not in (None, "relu", "gelu"):
        raise ValueError(f'activation: expected "relu", "gelu" or None, got {activation!r}')
    rows = x.data if isinstance(x, Tensor) else _array(x)
    matrix = weight.data if isinstance(weight, Tensor) else _array(weight)
    row = bias.data if isinstance(bias, Tensor) else None if bias is None else _array(bias)
    inputs = (x, weight, bias)
    if activation == "gelu":
        needs_sum = recording.get() and any(map(_requires_grad, inputs))
        if needs_sum or not _are_plain(rows, matrix, *(() if row is None else (row,))):
            return gelu(linear(x, weight, bias))
        layer = Epilogue(bias=row, activation="gelu")
        value = _gemm(rows, matrix.T, semiring="plustimes", epilogue=layer)
    else:
        value = _fused(rows, matrix, row, relu=activation == "relu")
    result: Tensor = value
    if not (isinstance(weight, Tensor) or isinstance(x, Tensor) or isinstance(bias, Tensor)):
        return result
    if not recording.get() or activation == "gelu":
        return tensor_of(value, None)
    nodes = tuple([y.node if isinstance(y, Tensor) else None for y in inputs])
    by_inputs = not matrix.flags.c_contiguous  # the optimizer then reads the gradient as it lies
    if bias is None:
        result = _linear_without_bias.result(nodes[:2], (rows, matrix, by_inputs, value))
    else:
        result = _linear.result(nodes, (rows, matrix, row, by_inputs, value))
    # The gradient of ReLU needs the value of ReLU only, so nothing keeps the sum.
    if activation == "relu" and result.node is not None:
        result = relu_operation.result((result.node,), (result.data, result.data))
    return result


def _array(x: Any) -> Array:
    return x if type(x) is np.ndarray else np.asarray(operand(x))


def _are_plain(x: Array, weight: Array, *bias: Array) -> bool:
    """Return whether `linear` takes the arrays as they are; else it converts them or raises."""
    kinds = {y.dtype for y in (x, weight, *bias)}
    return (
        len(kinds) == 1
        and kinds <= {np.dtype(np.float32), np.dtype(np.float64)}
        and x.ndim > 0
        and weight.ndim == 2
        and x.shape[-1] == weight.shape[1]
        and all(y.shape == weight.shape[:1] for y in bias)
    )


@contextlib.contextmanager
def time_products() -> Iterator[SimpleNamespace]:
    """Count and time the products of this thread in a ``with`` block.

    .. deprecated:: 0.1
       Use `cProfile`: ``tropical._core.gemm`` and ``linear`` have a line each in a profile.
    """
    warnings.warn("time_products is deprecated; use cProfile", DeprecationWarning, stacklevel=3)
    clock = SimpleNamespace(calls=0, seconds=0.0)
    with cProfile.Profile() as profile:
        yield clock
    for entry in profile.getstats():
        if entry.code in ("<tropical._core.gemm>", "<tropical._core.linear>"):
            clock.calls += entry.callcount
            clock.seconds += entry.totaltime

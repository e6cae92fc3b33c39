"""Matrix products over semirings, every one a `tropical.gemm`: each gradient below its value."""

from __future__ import annotations

import contextlib
import math
import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

import tropical
from tropical import _core
from tropical.semirings import Semiring
from tropical.semirings import get as semiring_named

from .elementwise import masked, relu_operation
from .graph import Array, Node, state
from .operation import Operation, checked
from .shape import broadcast_to, put_along, reshape, sum_to, swap_last, take_along
from .tensor import Operand, Tensor, data_of, tensor_of

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(eq=False)
class ProductTime:
    """What `time_products` has measured: calls and seconds of the products, checks included."""

    calls: int = 0
    seconds: float = 0.0


def _timed(function: Any) -> Any:
    """Return the function, with the clocks of `time_products` on it while there are any."""

    def call(*args: Any, **keywords: Any) -> Any:
        if not _clocks:
            return function(*args, **keywords)
        start = time.perf_counter()
        result = function(*args, **keywords)
        seconds = time.perf_counter() - start
        with _counting:
            for clock in _clocks:
                clock.seconds += seconds
                clock.calls += 1
        return result

    return call


_clocks: list[ProductTime] = []
_counting = threading.Lock()
_gemm = _timed(tropical.gemm)
_fused = _timed(_core.linear)


def weight_gradient(g: Any, x: Any) -> Any:
    """Return the gradient of the weight of `linear`."""
    return _matmul(swap_last(_rows(g)), _rows(x))


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
# The optimum is computed with the index that attains it; it depends on that element alone, and on
# nothing where it is the semiring's zero, which no product attains.
_best_sum: Operation = Operation(lambda a, b, index, won, c: c,
    lambda g, a_shape, index, won: _put_a(_if_won(g, won), a_shape, index),
    lambda g, b_shape, index, won: _put_b(_if_won(g, won), b_shape, index))
_best_product: Operation = Operation(lambda a, b, index, won, c: c,
    lambda g, a_shape, b, index, won: _put_a(_if_won(g, won, _pick_b(b, index)), a_shape, index),
    lambda g, a, b_shape, index, won: _put_b(_if_won(g, won, _pick_a(a, index)), b_shape, index))
_best_choice = Operation(lambda a, b, index, of_a, of_b, c: c,  # of_a: where it is the one of a
    lambda g, a_shape, index, of_a: _put_a(masked(g, of_a), a_shape, index),
    lambda g, b_shape, index, of_b: _put_b(masked(g, of_b), b_shape, index))
# The weight's rule comes after the one that needs the weight.
_linear: Operation = Operation(lambda x, weight, bias: _fused(x, weight, bias),
    lambda g, weight: _matmul(g, weight),
    weight_gradient,
    bias_gradient)
_linear_without_bias: Operation = Operation(lambda x, weight: _fused(x, weight),
    *_linear.rules[:2])
# fmt: on


def _rows(x: Any) -> Any:
    return x if x.ndim == 2 else reshape(x, (math.prod(x.shape[:-1]), x.shape[-1]))


def _gradient_of_b(g: Any, a: Any, b_shape: tuple[int, ...]) -> Any:
    if len(b_shape) == 2:  # one b for a whole batch: one product
        return _matmul(swap_last(_rows(a)), _rows(g))
    return sum_to(_matmul(swap_last(a), g), b_shape)


def _put_a(g: Any, a_shape: tuple[int, ...], index: Array) -> Any:
    shape = (*index.shape[:-1], a_shape[-1])
    return sum_to(put_along(g, shape, index, -1), a_shape)


def _put_b(g: Any, b_shape: tuple[int, ...], index: Array) -> Any:
    shape = (*index.shape[:-2], b_shape[-2], index.shape[-1])
    return sum_to(put_along(g, shape, index, -2), b_shape)


def _if_won(g: Any, won: Array | None, factor: Any = None) -> Any:
    """Return the gradient where the optimum is a product; None: everywhere, as nearly always.

    Elsewhere the factor, if there is one, may be infinite.
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

    Over the selective semirings each element of the result is one product, that at the index
    which attains it; its gradient goes there alone (the first such index where several do). An
    element that is the semiring's zero, which no product attains, has none.

    Parameters
    ----------
    a : Tensor or array_like, (..., m, k) or (k,)
        Left operand.
    b : Tensor or array_like, (..., k, n) or (k,)
        Right operand.
    semiring : str or Semiring, default "plustimes"
        plustimes, maxplus, minplus, maxtimes, maxmin or minmax.

    Returns
    -------
    Tensor, (..., m, n)
        The product; shapes as for `numpy.matmul`.

    Raises
    ------
    ValueError
        If shapes do not fit or the semiring is unknown.
    TypeError
        If the semiring has no gradient here ("orand", "logplus").

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
    x, y = np.asarray(data_of(a)), np.asarray(data_of(b))
    a, b = (a if isinstance(a, Tensor) else x), (b if isinstance(b, Tensor) else y)
    if min(x.ndim, y.ndim) < 2:
        return _vectors(a, b, x.ndim, y.ndim, semiring)
    ring = semiring_named(semiring)
    result: Tensor
    if ring.name == "plustimes":
        result = _matmul(a, b)
    elif not ring.selective:
        raise TypeError(f"semiring: {ring.name} has no gradient, and does not select")
    elif not (isinstance(a, Tensor) or isinstance(b, Tensor)):
        result = _gemm(x, y, semiring=ring.name)
    elif not (state.recording and (_requires_grad(a) or _requires_grad(b))):
        result = tensor_of(checked(_gemm(x, y, semiring=ring.name)), None)
    else:
        c, index = _gemm(x, y, semiring=ring.name, return_argmax=True)
        some = c != ring.zero(c.dtype)
        won = None if some.all() else some
        if ring.multiply == "+" or not x.shape[-1]:  # of no products nothing has a gradient
            result = _best_sum(a, b, index, won, c)
        elif ring.multiply == "x":
            result = _best_product(a, b, index, won, c)
        else:
            u, v = _pick_a(x, index), _pick_b(y, index)
            chosen = (u <= v if ring.multiply == "min" else u >= v) | np.isnan(u)
            result = _best_choice(a, b, index, some & chosen, some & ~chosen, c)
    return result


def _requires_grad(x: Operand) -> bool:
    return isinstance(x, Tensor) and x.requires_grad


def _vectors(a: Operand, b: Operand, a_ndim: int, b_ndim: int, semiring: str | Semiring) -> Tensor:
    """Return the product where an operand is 1-D: a row on the left, a column on the right."""
    if not a_ndim or not b_ndim:
        raise ValueError("matmul: a and b need at least one dimension, got a 0-D operand")
    row, column = a_ndim == 1, b_ndim == 1
    c = matmul(
        reshape(a, (1, -1)) if row else a, reshape(b, (-1, 1)) if column else b, semiring=semiring
    )
    batch, (m, n) = c.shape[:-2], c.shape[-2:]
    return reshape(c, (*batch, *(() if row else (m,)), *(() if column else (n,))))


def linear(
    x: Operand, weight: Operand, bias: Operand | None = None, *, activation: str | None = None
) -> Tensor:
    """Return ``x @ weight.T + bias``, with bias and ReLU fused into the product.

    Parameters
    ----------
    x : Tensor, (..., k)
        Rows.
    weight : Tensor, (n, k)
        As PyTorch keeps it.
    bias : Tensor, (n,), optional
        Added to every row.
    activation : {None, "relu"}
        What to apply to the sum.

    Returns
    -------
    Tensor, (..., n)
        The new rows.

    Raises
    ------
    ValueError
        If shapes do not fit or `activation` is another.
    """
    if activation not in (None, "relu"):
        raise ValueError(f'activation: "relu" or None, not {activation!r}')
    inputs = (x, weight) if bias is None else (x, weight, bias)
    arrays = [np.asarray(data_of(operand)) for operand in inputs]
    value = _fused(*arrays, relu=activation == "relu")
    tensors = [operand for operand in inputs if isinstance(operand, Tensor)]
    if not tensors:
        result: Tensor = value
        return result
    value = checked(value)
    nodes = tuple([operand.node if isinstance(operand, Tensor) else None for operand in inputs])
    if not state.recording or not any(nodes):
        return tensor_of(value, None)
    # ReLU's rule asks for its value alone: the sum before it need not exist.
    operation = _linear_without_bias if bias is None else _linear
    node: Node = operation.record(nodes, (*arrays, value))
    if activation == "relu":
        node = relu_operation.record((node,), (value, value))
    return tensor_of(value, node)


@contextlib.contextmanager
def time_products() -> Iterator[ProductTime]:
    """In a ``with`` block, measure the time that the matrix products of this module take.

    All threads are measured; those of a block inside count in both.

    Examples
    --------
    >>> from tropical.autograd import Tensor, time_products
    >>> with time_products() as clock:
    ...     y = Tensor([[1.0, 2.0]]) @ [[3.0], [4.0]]
    >>> clock.calls
    1
    """
    clock = ProductTime()
    with _counting:
        _clocks.append(clock)
    try:
        yield clock
    finally:
        with _counting:
            _clocks.remove(clock)

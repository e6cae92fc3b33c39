"""Products of matrices in PyTorch."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

import tropical
from tropical import _core, semirings
from tropical.arrays import check_product
from tropical.autograd.winners import (
    attained_or_k,
    check_differentiable,
    is_logarithmic,
    needs_operands,
    parts,
    pooled,
)

from .operators import differentiable, in_front, operator, torch
from .weighted import shifted, weighted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import Tensor

    from tropical.semirings import Semiring


def gemm(a: Tensor, b: Tensor, semiring: str | Semiring = "maxplus") -> Tensor:
    """Multiply matrices over a semiring, as `tropical.gemm`, with gradients.

    Over a selective semiring an element of the product is equal to a product a[i, p] (x) b[p, j],
    and its gradient goes to the factors of the first such product. Over maxmin and minmax the
    gradient goes to the factor that is equal to the product, to that of a if both are. An element
    that is the semiring's zero has no gradient, because no product attains it.

    Over logplus each term of a sum has a share of the gradient: the share of its exponential in
    the sum of exponentials. This is right for logarithms of any range. An element that is infinite
    has no gradient.

    Parameters
    ----------
    a : Tensor, (..., m, k) or (k,)
        Left operand, on the CPU or an NVIDIA GPU, with any strides; it is not copied.
    b : Tensor, (..., k, n) or (k,)
        Right operand, of the dtype and on the device of `a`. Vectors and batches are treated as by
        `torch.matmul`.
    semiring : str or Semiring, default "maxplus"
        Any semiring. Integers and booleans (orand) have no gradients.

    Returns
    -------
    Tensor, (..., m, n)
        The product, of the operands' dtype. Operands of float16 and bfloat16 (`Semiring.stored`)
        are copied to float32, and the product is rounded once; `tropical.gemm` makes no such copy.

    Raises
    ------
    TypeError
        If an operand is not a tensor, the dtypes differ, or the semiring has no such dtype.
    ValueError
        If shapes do not fit, the semiring is unknown, or a tensor is sparse or on another device.

    Notes
    -----
    The argmax, which makes the product take half as long again, is computed only for gradients.
    The number of threads is `tropical.get_num_threads`.

    Under `torch.autocast`, floating operands of different dtypes, or of 16 bits, are converted to
    the wider dtype, at least float32, as for PyTorch's functions that need float32.

    The operator, ``torch.ops.tropical.gemm``, works under `torch.compile`, `torch.export` and
    `torch.func.vmap`, which makes one batched product. `torch.func.grad` takes this function, but
    not the operator itself, and PyTorch does not compile it. There is no forward mode.

    Examples
    --------
    >>> import torch
    >>> from tropical.interop.torch import gemm
    >>> legs = torch.tensor([[0.0, 4.0, 9.0], [4.0, 0.0, 3.0], [9.0, 3.0, 0.0]], requires_grad=True)
    >>> lengths = gemm(legs, legs, "minplus")
    >>> lengths[0, 2].backward()  # 7, by way of 1
    >>> legs.grad
    tensor([[0., 1., 0.],
            [0., 0., 1.],
            [0., 0., 0.]])
    """
    ring = semirings.get(semiring)
    a, b = widened(a, b)
    _check(a, b, ring)
    dtype, a, b = a.dtype, computed(a), computed(b)
    row, column = a.ndim == 1, b.ndim == 1
    if row:
        a = a.unsqueeze(0)
    if column:
        b = b.unsqueeze(1)
    c = _product(a, b, ring.name)[0].to(dtype)
    if row:
        c = c.squeeze(-2)
    return c.squeeze(-1) if column else c


_DTYPES = {
    ring.name: tuple(getattr(torch, dtype) for dtype in (*ring.dtypes, *ring.stored))
    for ring in semirings.ALL
}
_STORED = (torch.float16, torch.bfloat16)


def widened(*operands: Tensor) -> tuple[Tensor, ...]:
    """Return, under autocast, floating operands in one dtype of 32 bits or more.

    Other operands stay as they are.
    """
    on_gpu = getattr(operands[0], "is_cuda", False)
    if not torch.is_autocast_enabled("cuda" if on_gpu else "cpu"):
        return operands
    if not all(isinstance(x, torch.Tensor) and x.is_floating_point() for x in operands):
        return operands
    dtype = torch.float32
    for x in operands:
        dtype = torch.promote_types(dtype, x.dtype)
    return tuple(x.to(dtype) for x in operands)


def computed(x: Tensor) -> Tensor:
    """Return a tensor of float16 or bfloat16 in float32, in which it is computed."""
    return x.to(torch.float32) if x.dtype in _STORED else x


def check_place(name: str, x: Tensor, on_gpu: bool = False) -> None:
    """Raise an error unless `x` is a strided tensor in the memory of the CPU, perhaps of a GPU."""
    if not isinstance(x, torch.Tensor):
        raise TypeError(f"{name}: expected a torch.Tensor, got {type(x).__name__}")
    if x.device.type not in ("cpu", "meta") and not (on_gpu and x.device.type == "cuda"):
        places = "the CPU or an NVIDIA GPU" if on_gpu else "the CPU"
        raise ValueError(f"{name}: expected a tensor on {places}, got one on {x.device}")
    if x.layout != torch.strided:
        raise ValueError(f"{name}: expected layout torch.strided, got {x.layout}")


def check_tensor(name: str, x: Tensor, ring: Semiring, on_gpu: bool = False) -> None:
    """Raise an error unless `x` is a tensor that functions over the semiring take."""
    check_place(name, x, on_gpu)
    if x.dtype not in _DTYPES[ring.name]:
        raise TypeError(
            f"{name}: expected a dtype of {ring.name} ("
            f"{', '.join((*ring.dtypes, *ring.stored))}), got {x.dtype}"
        )


def _check(a: Tensor, b: Tensor, ring: Semiring) -> None:
    check_tensor("a", a, ring, on_gpu=True)
    check_tensor("b", b, ring, on_gpu=True)
    if a.dtype != b.dtype:
        raise TypeError(f"b: expected {a.dtype}, the dtype of a, got {b.dtype}")
    check_product(tuple(a.shape), tuple(b.shape))


# --- the operator: of matrices, (..., m, k) and (..., k, n) ---


def _compute(a: Tensor, b: Tensor, semiring: str, with_index: bool) -> tuple[Tensor, Tensor]:
    if a.is_cuda or b.is_cuda:
        return _compute_on_gpu(a.detach(), b.detach(), semiring, with_index)
    x, y = a.detach().numpy(), b.detach().numpy()
    if with_index:
        c, index = attained_or_k(x, y, semiring)
        return torch.from_numpy(c), torch.from_numpy(index)
    return torch.from_numpy(tropical.gemm(x, y, semiring=semiring)), _no_index(a)


def _compute_on_gpu(a: Tensor, b: Tensor, semiring: str, with_index: bool) -> tuple[Tensor, Tensor]:
    if not with_index:
        return tropical.gemm(a, b, semiring=semiring), _no_index(a)
    ring = semirings.get(semiring)
    c, index = tropical.gemm(a, b, semiring=ring, return_argmax=True)
    zero = ring.zero(str(a.dtype).removeprefix("torch."))
    return c, torch.where(c == zero, a.shape[-1], index)  # k: no product attains zero


def _no_index(a: Tensor) -> Tensor:
    return a.new_empty(0, dtype=torch.int64)


def _fake(a: Tensor, b: Tensor, semiring: str, with_index: bool) -> tuple[Tensor, Tensor]:
    batch = torch.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    c = a.new_empty((*batch, a.shape[-2], b.shape[-1]))
    return c, torch.empty_like(c, dtype=torch.int64) if with_index else _no_index(a)


def _save(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor]) -> None:
    a, b, semiring, ctx.with_index = inputs
    index = output[1]
    ctx.mark_non_differentiable(index)
    ctx.set_materialize_grads(False)  # the index has no gradient
    ctx.ring = semirings.get(semiring)
    ctx.shapes = a.shape, b.shape
    keeps = needs_operands(ctx.ring) or is_logarithmic(ctx.ring)
    ctx.save_for_backward(index, *((a, b) if keeps else ()))


def _gradients(ctx: Any, g: Tensor | None, _: None) -> tuple[Tensor | None, ...]:
    if g is None:
        return None, None, None, None
    index, *operands = ctx.saved_tensors
    check_differentiable(ctx.ring)
    if ctx.ring.selective and not ctx.with_index:
        raise RuntimeError(f"with_index: expected True for gradients over {ctx.ring.name}")
    rule = _selective if ctx.ring.selective else _ordinary
    if is_logarithmic(ctx.ring):
        rule = _logarithmic
    to_a, to_b = rule(ctx, g, index, *operands)
    return to_a, to_b, None, None


def _ordinary(
    ctx: Any, g: Tensor, index: Tensor, a: Tensor, b: Tensor
) -> tuple[Tensor | None, Tensor | None]:
    need_a, need_b, *_ = ctx.needs_input_grad
    return (
        _product(g, b.mT, "plustimes")[0].sum_to_size(a.shape) if need_a else None,
        _product(a.mT, g, "plustimes")[0].sum_to_size(b.shape) if need_b else None,
    )


def _logarithmic(
    ctx: Any, g: Tensor, index: Tensor, a: Tensor, b: Tensor
) -> tuple[Tensor | None, Tensor | None]:
    need_a, need_b, *_ = ctx.needs_input_grad
    if not a.shape[-1]:
        return torch.zeros_like(a), torch.zeros_like(b)
    a_shape, b_shape = a.shape, b.shape
    a, b, one = shifted(a, -1), shifted(b, -2), a.new_ones(1, 1)
    c = _product(a, b, ctx.ring.name)[0]
    return (
        weighted(g, -c, one, b.mT, a).sum_to_size(a_shape) if need_a else None,
        weighted(one, a.mT, g, -c, b).sum_to_size(b_shape) if need_b else None,
    )


def _selective(
    ctx: Any, g: Tensor, index: Tensor, *operands: Tensor
) -> tuple[Tensor | None, Tensor | None]:
    (need_a, need_b, *_), (a_shape, b_shape) = ctx.needs_input_grad, ctx.shapes
    to_a = to_b = g
    if operands and a_shape[-1]:
        x, y = (_pick(x, index, dim) for x, dim in zip(operands, (-1, -2), strict=True))
        if torch.is_grad_enabled():  # without a winner, its gradient would be 0 * inf
            x, y = (z.masked_fill(index == a_shape[-1], 0) for z in (x, y))
        to_a, to_b = parts(ctx.ring, g, g, x, y, lambda mask, d: torch.where(mask, d, 0))
    return (
        _put(to_a, index, a_shape, -1) if need_a else None,
        _put(to_b, index, b_shape, -2) if need_b else None,
    )


def _pick(x: Tensor, index: Tensor, dim: int) -> Tensor:
    """Return the elements of x at the index, expanded to the batch; any if the index is k."""
    whole = x.expand(*index.shape[:-2], *x.shape[-2:])
    return whole.gather(dim, index.clamp(max=x.shape[dim] - 1))


def _put(g: Tensor, index: Tensor, shape: Sequence[int], dim: int) -> Tensor:
    """Return zeros of `shape` with g added at the index along `dim`; nothing at index k."""
    if not torch.is_grad_enabled() and torch.autograd.forward_ad._current_level < 0:
        return _scatter(g, index, shape, dim)
    return _put_by_torch(g, index, shape, dim)  # this gradient may need derivatives


def _put_by_torch(g: Tensor, index: Tensor, shape: Sequence[int], dim: int) -> Tensor:
    k, size = shape[dim], list(index.shape)
    size[dim] = k + 1
    sums = g.new_zeros(size).scatter_add(dim, index, g)
    return sums.narrow(dim, 0, k).sum_to_size(shape)


def _compute_scatter(g: Tensor, index: Tensor, shape: Sequence[int], dim: int) -> Tensor:
    if g.is_cuda:
        return _put_by_torch(g.detach(), index, shape, dim)
    terms = g.detach().numpy()
    with pooled(math.prod(shape)):
        sums = np.zeros(shape, terms.dtype)
    _core.scatter(sums, index.numpy(), terms, dim)
    return torch.from_numpy(sums)


# PyTorch's scatter_add takes four times as long, and its threads, which spin for a while, the cores
# of the next product.
_scatter = operator(
    "scatter",
    "(Tensor g, Tensor index, SymInt[] shape, int dim) -> Tensor",
    _compute_scatter,
    lambda g, index, shape, dim: g.new_empty(shape),
)


def _vmap(
    run: Any,
    info: Any,
    dims: tuple[int | None, ...],
    a: Tensor,
    b: Tensor,
    semiring: str,
    with_index: bool,
) -> tuple[tuple[Tensor, Tensor], tuple[int, int | None]]:
    """Compute one product of batches."""
    a, b = in_front(dims, (a, b))
    c, index = run(a, b, semiring, with_index or _needs_index(a, b, semiring))
    return ((c, index), (0, 0)) if with_index else ((c, _no_index(a)), (0, None))


_gemm = differentiable(
    operator(
        "gemm",
        "(Tensor a, Tensor b, str semiring, bool with_index) -> (Tensor, Tensor)",
        _compute,
        _fake,
    ),
    _save,
    _gradients,
    _vmap,
)


def _product(
    a: Tensor, b: Tensor, semiring: str, with_index: bool = False
) -> tuple[Tensor, Tensor]:
    """Return the product of matrices, and the index on request or for a gradient."""
    return _gemm(a, b, semiring, with_index or _needs_index(a, b, semiring))


def _needs_index(a: Tensor, b: Tensor, semiring: str) -> bool:
    gradient = torch.is_grad_enabled() and (a.requires_grad or b.requires_grad)
    return gradient and semirings.get(semiring).selective

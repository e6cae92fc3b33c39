"""Products over semirings as operators of PyTorch, with gradients, under its compiler and vmap.

Tensors share their memory with the products. Where a backward walk is itself recorded, gradients
are made of PyTorch's own operations, so that they have gradients in turn.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

import tropical
from tropical import _core, semirings
from tropical.extras import require
from tropical.interop.attained import attained, check_differentiable, pooled

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import Tensor

    from tropical.semirings import Semiring

    Gradients: TypeAlias = tuple[Tensor | None, Tensor | None]

torch = require("torch", "'tropical-blas[torch]'")

__all__ = ["gemm"]


def gemm(a: Tensor, b: Tensor, semiring: str | Semiring = "maxplus") -> Tensor:
    """Multiply matrices over a semiring, as `tropical.gemm`, with gradients.

    Over a selective semiring an element of the product depends on the one product a[i, p] (x)
    b[p, j] that attains it, the first where several do; its gradient goes there alone. Over maxmin
    and minmax it goes to that one of the two operands which the product is, to a's where they are
    equal. An element that is the semiring's zero has no gradient: no product attains it.

    Parameters
    ----------
    a : Tensor, (..., m, k) or (k,)
        Left operand, on the CPU, with any strides; it is not copied.
    b : Tensor, (..., k, n) or (k,)
        Right operand, of the dtype of `a`. Vectors and batches are treated as by `torch.matmul`.
    semiring : str or Semiring, default "maxplus"
        Any. Integers, booleans (orand) and logplus have no gradients.

    Returns
    -------
    Tensor, (..., m, n)
        The product, of the operands' dtype.

    Raises
    ------
    TypeError
        If an operand is no tensor, or their dtypes differ or are not the semiring's.
    ValueError
        If shapes do not fit, the semiring is unknown, or a tensor is sparse or on another device.

    Notes
    -----
    The argmax is computed, at a half more than the product's time, only where a gradient is asked
    for. Threads are those of `tropical.get_num_threads`.

    The operator, ``torch.ops.tropical.gemm``, works under `torch.compile`, `torch.export` and
    `torch.func`'s grad and vmap, which makes one batched product; not in forward mode. PyTorch does
    not compile `torch.func`'s grad of an operator.

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
    _check(a, b, ring)
    row, column = a.ndim == 1, b.ndim == 1
    if row:
        a = a.unsqueeze(0)
    if column:
        b = b.unsqueeze(1)
    c = _product(a, b, ring.name)[0]
    if row:
        c = c.squeeze(-2)
    return c.squeeze(-1) if column else c


_DTYPES = {
    ring.name: tuple(getattr(torch, dtype) for dtype in ring.dtypes) for ring in semirings.ALL
}


def _check(a: Tensor, b: Tensor, ring: Semiring) -> None:
    # Outside the compiler `_Product` refuses forward mode; inside, tangents would silently be 0.
    if torch.compiler.is_compiling() and torch.autograd.forward_ad._current_level >= 0:
        raise NotImplementedError("gemm has no forward mode (jvp)")
    for name, x in (("a", a), ("b", b)):
        if not isinstance(x, torch.Tensor):
            raise TypeError(f"{name}: a torch.Tensor is wanted, got {type(x).__name__}")
        if x.device.type not in ("cpu", "meta"):
            raise ValueError(f"{name}: is on {x.device}; products are computed on the CPU")
        if x.layout != torch.strided:
            raise ValueError(f"{name}: is of layout {x.layout}, torch.strided is wanted")
        if x.dtype not in _DTYPES[ring.name]:
            raise TypeError(
                f"{name}: has dtype {x.dtype}; {ring.name} has {', '.join(ring.dtypes)}"
            )
    if a.dtype != b.dtype:
        raise TypeError(f"a has dtype {a.dtype}, b has dtype {b.dtype}: they must be the same")
    if not a.ndim or not b.ndim:
        raise ValueError(f"a and b need a dimension, got {tuple(a.shape)} and {tuple(b.shape)}")
    if a.shape[-1] != b.shape[-2 if b.ndim > 1 else 0]:
        raise ValueError(
            f"the last axis of a and the last but one of b differ: a has shape {tuple(a.shape)}, "
            f"b has shape {tuple(b.shape)}"
        )


# --- the operator: of matrices, (..., m, k) and (..., k, n) ---


def _compute(a: Tensor, b: Tensor, semiring: str, with_index: bool) -> tuple[Tensor, Tensor]:
    x, y = a.detach().numpy(), b.detach().numpy()
    if with_index:
        c, index = attained(x, y, semiring)
        return torch.from_numpy(c), torch.from_numpy(index)
    return torch.from_numpy(tropical.gemm(x, y, semiring=semiring)), _no_index(a)


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
    ctx.set_materialize_grads(False)  # of the index there is none to make zeros for
    ctx.ring = semirings.get(semiring)
    ctx.shapes = a.shape, b.shape
    ctx.save_for_backward(index, *((a, b) if ctx.ring.multiply != "+" else ()))


def _gradients(ctx: Any, g: Tensor | None, _: None) -> tuple[Tensor | None, ...]:
    if g is None:
        return None, None, None, None
    index, *operands = ctx.saved_tensors
    check_differentiable(ctx.ring)
    if ctx.ring.selective and not ctx.with_index:
        raise RuntimeError(f"gradients over {ctx.ring.name} need with_index=True")
    rule = _plustimes if ctx.ring.name == "plustimes" else _selective
    to_a, to_b = rule(ctx, g, index, *operands)
    return to_a, to_b, None, None


def _plustimes(ctx: Any, g: Tensor, index: Tensor, a: Tensor, b: Tensor) -> Gradients:
    need_a, need_b, *_ = ctx.needs_input_grad
    return (
        _product(g, b.mT, "plustimes")[0].sum_to_size(a.shape) if need_a else None,
        _product(a.mT, g, "plustimes")[0].sum_to_size(b.shape) if need_b else None,
    )


def _selective(ctx: Any, g: Tensor, index: Tensor, *operands: Tensor) -> Gradients:
    (need_a, need_b, *_), (a_shape, b_shape) = ctx.needs_input_grad, ctx.shapes
    to_a = to_b = g
    if operands and a_shape[-1]:
        x, y = (_pick(x, index, dim) for x, dim in zip(operands, (-1, -2), strict=True))
        if ctx.ring.multiply == "x":
            if torch.is_grad_enabled():  # what is put nowhere would return as 0 * inf
                x, y = (z.masked_fill(index == a_shape[-1], 0) for z in (x, y))
            to_a, to_b = g * y, g * x
        else:
            chosen = (x <= y if ctx.ring.multiply == "min" else x >= y) | x.isnan()
            to_a, to_b = torch.where(chosen, g, 0), torch.where(chosen, 0, g)
    return (
        _put(to_a, index, a_shape, -1) if need_a else None,
        _put(to_b, index, b_shape, -2) if need_b else None,
    )


def _pick(x: Tensor, index: Tensor, dim: int) -> Tensor:
    """Return the elements of x, expanded to the batch, at the index; any where that is k."""
    whole = x.expand(*index.shape[:-2], *x.shape[-2:])
    return whole.gather(dim, index.clamp(max=x.shape[dim] - 1))


def _put(g: Tensor, index: Tensor, shape: Sequence[int], dim: int) -> Tensor:
    """Return zeros of `shape` with g added at the index along `dim`, nowhere where that is k."""
    result: Tensor
    if not torch.is_grad_enabled() and torch.autograd.forward_ad._current_level < 0:
        result = _scatter(g, index, shape, dim)
    else:  # this gradient may have derivatives in turn: only PyTorch's own operations do
        k = shape[dim]
        size = list(index.shape)
        size[dim] = k + 1
        sums = g.new_zeros(size).scatter_add(dim, index, g)
        result = sums.narrow(dim, 0, k).sum_to_size(shape)
    return result


def _compute_scatter(g: Tensor, index: Tensor, shape: Sequence[int], dim: int) -> Tensor:
    terms = g.detach().numpy()
    with pooled(math.prod(shape)):
        sums = np.zeros(shape, terms.dtype)
    _core.scatter(sums, index.numpy(), terms, dim)
    return torch.from_numpy(sums)


def _fake_scatter(g: Tensor, index: Tensor, shape: Sequence[int], dim: int) -> Tensor:
    return g.new_empty(shape)


# PyTorch's scatter_add takes four times as long, and its threads, which spin for a while, the cores
# of the next product.
_scatter = torch.library.custom_op(
    "tropical::scatter",
    _compute_scatter,
    mutates_args=(),
    schema="(Tensor g, Tensor index, SymInt[] shape, int dim) -> Tensor",
)
_scatter.register_fake(_fake_scatter)
_gemm = torch.library.custom_op(
    "tropical::gemm",
    _compute,
    mutates_args=(),
    schema="(Tensor a, Tensor b, str semiring, bool with_index) -> (Tensor, Tensor)",
)
_gemm.register_fake(_fake)
_gemm.register_autograd(_gradients, setup_context=_save)


Function: Any = torch.autograd.Function


class _Product(Function):  # type: ignore[misc]
    """The operator as a function: of operators torch.func takes no gradients.

    In forward mode an operator's tangent would be 0, silently; a function's is an error.
    """

    setup_context = staticmethod(_save)
    backward = staticmethod(_gradients)

    @staticmethod
    def forward(a: Tensor, b: Tensor, semiring: str, with_index: bool) -> tuple[Tensor, Tensor]:
        result: tuple[Tensor, Tensor] = _gemm(a, b, semiring, with_index)
        return result

    @staticmethod
    def vmap(
        info: Any,
        dims: tuple[int | None, ...],
        a: Tensor,
        b: Tensor,
        semiring: str,
        with_index: bool,
    ) -> tuple[tuple[Tensor, Tensor], tuple[int, int | None]]:
        """Compute one product of batches: the mapped axis goes in front of as many others."""
        a, b = (
            x.unsqueeze(0) if dim is None else x.movedim(dim, 0)
            for x, dim in zip((a, b), dims, strict=False)
        )
        rank = max(a.ndim, b.ndim)
        a, b = (x.reshape(x.shape[:1] + (1,) * (rank - x.ndim) + x.shape[1:]) for x in (a, b))
        c, index = _product(a, b, semiring, with_index)
        return ((c, index), (0, 0)) if with_index else ((c, _no_index(a)), (0, None))


def _product(
    a: Tensor, b: Tensor, semiring: str, with_index: bool = False
) -> tuple[Tensor, Tensor]:
    """Return the product of matrices, and its index where asked for, or a gradient may be."""
    gradient = torch.is_grad_enabled() and (a.requires_grad or b.requires_grad)
    selective = semirings.get(semiring).selective
    # The compiler looks into the function anyway, with warnings of its own.
    product = _gemm if torch.compiler.is_compiling() else _Product.apply
    result: tuple[Tensor, Tensor]
    result = product(a, b, semiring, with_index or (selective and gradient))
    return result


_gemm.register_vmap(_Product.vmap)

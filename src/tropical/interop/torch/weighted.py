"""Weighted sums of exponentials, the gradients over logplus, as an operator of PyTorch."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import tropical
from tropical.autograd import weighted as calculus

from .operators import differentiable, in_front, operator, torch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from torch import Tensor


def shifted(x: Tensor, dim: int) -> Tensor:
    """Return x minus its maxima along `dim`, which count as constants; see `calculus.shift`."""
    return x - _most(x, dim)


def _most(x: Tensor, dim: int) -> Tensor:
    most: Tensor = x.detach().amax(dim, keepdim=True)
    return most.masked_fill(most.isinf(), 0)


def _compute(u: Tensor, r: Tensor, v: Tensor, s: Tensor, t: Tensor) -> Tensor:
    if t.is_cuda:
        return _compute_on_gpu(*(x.detach() for x in (u, r, v, s, t)))
    arrays = [x.detach().numpy() for x in (u, r, v, s, t)]
    return torch.from_numpy(calculus.weighted(*arrays))


def _compute_on_gpu(u: Tensor, r: Tensor, v: Tensor, s: Tensor, t: Tensor) -> Tensor:
    """Return the sums by the last of the ways of `calculus.weighted`, which is right in any range.

    So the GPU says of the numbers only which signs occur.
    """
    sums = torch.zeros_like(_fake(u, r, v, s, t))
    if not sums.numel() or not r.shape[-1]:
        return sums
    r, s, t = (x.masked_fill(x == math.inf, -math.inf) for x in (r, s, t))
    of_rows, of_columns = _most(r, -1), _most(s, -2)
    scales = (t + of_rows) + of_columns
    for sign, left in _logarithms(u, r - of_rows):
        for other, right in _logarithms(v, s - of_columns):
            logs = tropical.gemm(left, right, semiring="logplus") + scales
            sums += sign * other * logs.exp()
    return sums.masked_fill(t == -math.inf, 0)


def _logarithms(u: Tensor, r: Tensor) -> Iterator[tuple[int, Tensor]]:
    """Yield a sign and the logarithms of u exp(r) of this sign, for each sign that u has."""
    logs = (u.abs().log() + r).masked_fill(r == -math.inf, -math.inf)
    for sign in (1, -1):
        others = u * sign <= 0
        if not others.all():
            yield sign, logs.masked_fill(others, -math.inf)


def _fake(u: Tensor, r: Tensor, v: Tensor, s: Tensor, t: Tensor) -> Tensor:
    batch = torch.broadcast_shapes(*(x.shape[:-2] for x in (u, r, v, s, t)))
    return t.new_empty((*batch, r.shape[-2], s.shape[-1]))


def _save(ctx: Any, inputs: tuple[Tensor, ...], output: Tensor) -> None:
    ctx.save_for_backward(*inputs, output)


def _gradients(ctx: Any, g: Tensor) -> tuple[Tensor | None, ...]:
    u, r, v, s, t, value = ctx.saved_tensors
    needs = ctx.needs_input_grad
    to_u = weighted(g, t, v.mT, s.mT, r) if needs[0] or needs[1] else None
    to_v = weighted(u.mT, r.mT, g, t, s) if needs[2] or needs[3] else None
    gradients = (
        to_u,
        None if to_u is None else u * to_u,
        to_v,
        None if to_v is None else v * to_v,
        g * value if needs[4] else None,
    )
    return tuple(
        to_x.sum_to_size(x.shape) if to_x is not None and needed else None
        for to_x, x, needed in zip(gradients, (u, r, v, s, t), needs, strict=True)
    )


def _vmap(
    run: Any, info: Any, dims: tuple[int | None, ...], *tensors: Tensor
) -> tuple[Tensor, int]:
    return run(*in_front(dims, tensors)), 0


weighted: Callable[..., Any] = differentiable(
    operator(
        "weighted",
        "(Tensor u, Tensor r, Tensor v, Tensor s, Tensor t) -> Tensor",
        _compute,
        _fake,
    ),
    _save,
    _gradients,
    _vmap,
)

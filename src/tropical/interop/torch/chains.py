"""Likelihoods of chains as an operator of PyTorch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tropical import sequence
from tropical.extras import require

from .operators import differentiable, operator

if TYPE_CHECKING:
    from torch import Tensor

torch = require("torch", "'tropical-blas[torch]'")


def crf_log_likelihood(
    initial: Tensor,
    transition: Tensor,
    emission: Tensor,
    states: Tensor,
    lengths: Tensor | None = None,
) -> Tensor:
    """Return the log-likelihood of states in a conditional random field, differentiable once.

    Parameters
    ----------
    initial : Tensor, (s,)
        Scores of the first states.
    transition : Tensor, (s, s)
        Element (i, j): the score of state j behind state i.
    emission : Tensor, (..., t, s)
        Scores of the states at each step, all of float32 or float64, on the CPU.
    states : Tensor of integers, (..., t)
        They are not read beyond the lengths.
    lengths : Tensor of integers, (...), optional
        The steps of each sequence. Default: t.

    Returns
    -------
    Tensor, (...)

    Raises
    ------
    ValueError, TypeError
        As for `tropical.sequence.crf_log_likelihood`.
    NotImplementedError
        For vmap over the model.
    RuntimeError
        For second derivatives.

    Examples
    --------
    >>> import torch
    >>> from tropical.interop.torch import crf_log_likelihood
    >>> emission = torch.zeros(3, 2, requires_grad=True)
    >>> states = torch.tensor([0, 1, 1])
    >>> crf_log_likelihood(torch.zeros(2), torch.zeros(2, 2), emission, states).backward()
    >>> emission.grad
    tensor([[ 0.5000, -0.5000],
            [-0.5000,  0.5000],
            [-0.5000,  0.5000]])
    """
    if lengths is None:
        lengths = states.new_full(states.shape[:-1], states.shape[-1], dtype=torch.int64)
    value: Tensor = _crf(initial, transition, emission, states, lengths)[0]
    return value


def _compute(*tensors: Tensor) -> tuple[Tensor, ...]:
    known = sequence.crf_log_likelihood(*(x.detach().numpy() for x in tensors))
    return tuple(torch.as_tensor(x) for x in known)


def _fake(
    initial: Tensor, transition: Tensor, emission: Tensor, states: Tensor, lengths: Tensor
) -> tuple[Tensor, ...]:
    batch, count = emission.shape[:-2], emission.shape[-1]
    new = emission.new_empty
    return (
        new(batch),
        new((*batch, count)),
        new((*batch, count, count)),
        new(emission.shape),
    )


def _save(ctx: Any, inputs: tuple[Tensor, ...], output: tuple[Tensor, ...]) -> None:
    ctx.mark_non_differentiable(*output[1:])
    ctx.save_for_backward(*output[1:])


def _gradients(ctx: Any, g: Tensor, *_: Tensor) -> tuple[Tensor | None, ...]:
    to_initial, to_transition, to_emission = ctx.saved_tensors
    first = (g[..., None] * to_initial).reshape(-1, to_initial.shape[-1]).sum(0)
    weights = (g[..., None, None] * to_transition).reshape(-1, *to_transition.shape[-2:]).sum(0)
    return first, weights, g[..., None, None] * to_emission, None, None


def _vmap(info: Any, dims: tuple[int | None, ...], *tensors: Tensor) -> tuple[Any, Any]:
    if dims[0] is not None or dims[1] is not None:
        raise NotImplementedError("crf_log_likelihood: vmap over initial and transition")
    moved = [
        x.expand(info.batch_size, *x.shape) if dim is None else x.movedim(dim, 0)
        for x, dim in zip(tensors[2:], dims[2:], strict=True)
    ]
    return _crf(*tensors[:2], *moved), (0, 0, 0, 0)


_crf = differentiable(
    operator(
        "crf_log_likelihood",
        "(Tensor initial, Tensor transition, Tensor emission, Tensor states, Tensor lengths)"
        " -> (Tensor, Tensor, Tensor, Tensor)",
        _compute,
        _fake,
    ),
    _save,
    torch.autograd.function.once_differentiable(_gradients),
    _vmap,
)

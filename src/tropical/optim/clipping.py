"""Clipping of gradients, in place."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tropical.autograd import Tensor

from .optimizer import PIECE

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

Array: TypeAlias = NDArray[Any]


def _gradients(parameters: Iterable[Tensor] | Tensor, **limit: float) -> list[Array]:
    """Check the limit, given by name; return the gradients of the parameters."""
    ((name, value),) = limit.items()
    if not value >= 0:
        raise ValueError(f"{name}: expected at least 0, got {value}")
    several = [parameters] if isinstance(parameters, Tensor) else list(parameters)
    for number, p in enumerate(several):
        if not isinstance(p, Tensor):
            raise TypeError(f"parameters[{number}]: expected a Tensor, got {type(p).__name__}")
    return [p.grad.data for p in several if p.grad is not None]


def _pieces(array: Array) -> Iterator[Array]:
    flat = array.reshape(-1)
    return (flat[start : start + PIECE] for start in range(0, flat.size, PIECE))


def _norm(x: Array) -> float:
    """Return the Euclidean norm; no square on the way overflows or underflows."""
    wide = x.astype(np.float64, copy=False)
    square = float(np.vdot(wide, wide))
    if 1e-200 < square < math.inf:
        return math.sqrt(square)
    largest = float(np.abs(wide).max(initial=0.0))
    if not 0 < largest < math.inf:
        return largest
    scaled = wide / largest
    return largest * math.sqrt(np.vdot(scaled, scaled))


def clip_grad_norm(parameters: Iterable[Tensor] | Tensor, max_norm: float) -> float:
    """Scale all gradients, in place, so that their common Euclidean norm is at most `max_norm`.

    Parameters
    ----------
    parameters : iterable of Tensors, or Tensor
        Parameters; those without a gradient are skipped.
    max_norm : float
        The largest allowed norm; infinity to compute the norm only.

    Returns
    -------
    float
        The norm before the clipping, summed in float64. If the norm is NaN, the gradients do not
        change. If the norm is infinite, infinities become NaN and other elements 0. Check the norm
        before the step of the optimizer.

    Notes
    -----
    R. Pascanu, T. Mikolov and Y. Bengio, "On the difficulty of training recurrent neural networks",
    ICML 2013, algorithm 1.
    """
    gradients = _gradients(parameters, max_norm=max_norm)
    norm = _norm(np.array([_norm(piece) for g in gradients for piece in _pieces(g)]))
    if norm > max_norm:
        with np.errstate(invalid="ignore"):  # infinity times zero
            for g in {id(g): g for g in gradients}.values():
                g *= max_norm / norm
    return norm


def clip_grad_value(parameters: Iterable[Tensor] | Tensor, clip_value: float) -> None:
    """Limit every element of every gradient, in place, to [-clip_value, clip_value]; NaN stays.

    Parameters
    ----------
    parameters : iterable of Tensors, or Tensor
        Parameters; those without a gradient are skipped.
    clip_value : float
        The largest allowed absolute value.
    """
    for g in _gradients(parameters, clip_value=clip_value):
        np.clip(g, -clip_value, clip_value, out=g)

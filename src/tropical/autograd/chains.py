"""Likelihoods of chains: the gradients come with the value."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tropical.sequence import crf_log_likelihood as likelihood

from .operation import Operation, checked
from .tensor import Operand, Tensor, data_of

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from .value import Array

# fmt: off
_crf: Operation = Operation(
    lambda initial, transition, emission, to_initial, to_transition, to_emission, value: value,
    lambda g, to_initial: _weighted(g, to_initial, 1),
    lambda g, to_transition: _weighted(g, to_transition, 2),
    lambda g, to_emission: _first(g)[..., None, None] * to_emission)
# fmt: on


def _first(g: Any) -> Array:
    if isinstance(g, Tensor):  # a backward pass that is recorded
        raise NotImplementedError("crf_log_likelihood has no second derivatives")
    array: Array = g
    return array


def _weighted(g: Any, gradients: Array, axes: int) -> Array:
    """Return the sum over the batch of g times the gradients (batch..., axes...)."""
    batch = gradients.ndim - axes
    result: Array = np.tensordot(_first(g), gradients, batch)
    return result


def crf_log_likelihood(
    initial: Operand,
    transition: Operand,
    emission: Operand,
    states: ArrayLike,
    lengths: ArrayLike | None = None,
) -> Tensor:
    """Return the log-likelihood of states in a conditional random field.

    The gradients are the states that are given minus those that are expected. A
    backward pass that is recorded, for second derivatives, raises NotImplementedError.

    Parameters
    ----------
    initial : Tensor or array_like, (s,)
    transition : Tensor or array_like, (s, s)
    emission : Tensor or array_like, (..., t, s)
    states : array_like of int, (..., t)
    lengths : array_like of int, (...), optional
        As for `tropical.sequence.crf_log_likelihood`.

    Returns
    -------
    Tensor, (...)

    Raises
    ------
    ValueError, TypeError
        As for `tropical.sequence.crf_log_likelihood`.

    Examples
    --------
    >>> import numpy as np
    >>> from tropical.autograd import Tensor, crf_log_likelihood
    >>> emission = Tensor(np.zeros((3, 2)), requires_grad=True)
    >>> crf_log_likelihood(np.zeros(2), np.zeros((2, 2)), emission, [0, 1, 1]).backward()
    >>> emission.grad
    Tensor([[ 0.5, -0.5],
            [-0.5,  0.5],
            [-0.5,  0.5]])
    """
    first, weights, scores = (np.asarray(data_of(x)) for x in (initial, transition, emission))
    known = likelihood(first, weights, scores, states, lengths)
    gradients = known.initial, known.transition, known.emission
    result: Tensor = _crf(initial, transition, emission, *gradients, checked(known.value))
    return result

"""Scores and likelihoods of chains: the gradients come with the value."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tropical.sequence import crf_log_likelihood as crf_and_gradients
from tropical.sequence.gradients import log_likelihood_and_gradients, viterbi_and_gradients

from .operation import Operation, checked, operand
from .tensor import Operand, Tensor, data_of

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from .value import Array

# fmt: off
_chain: Operation = Operation(
    lambda initial, transition, emission, to_initial, to_transition, to_emission, value: value,
    lambda g, to_initial: _weighted(g, to_initial, 1),
    lambda g, to_transition: _weighted(g, to_transition, 2),
    lambda g, to_emission: _first(g)[..., None, None] * to_emission)
# fmt: on


def _first(g: Any) -> Array:
    if isinstance(g, Tensor):  # a backward pass that is recorded
        raise NotImplementedError("likelihoods of chains have no second derivatives")
    array: Array = g
    return array


def _weighted(g: Any, gradients: Array, axes: int) -> Array:
    """Return the sum over the batch of g times the gradients (batch..., axes...)."""
    batch = gradients.ndim - axes
    result: Array = np.tensordot(_first(g), gradients, batch)
    return result


def _arrays(initial: Operand, transition: Operand, emission: Operand) -> tuple[Array, Array, Array]:
    first, between, each = (
        np.asarray(operand(data_of(x))) for x in (initial, transition, emission)
    )
    return first, between, each


def _differentiable(
    initial: Operand, transition: Operand, emission: Operand, known: tuple[Array, ...]
) -> Tensor:
    value, *gradients = known
    result: Tensor = _chain(initial, transition, emission, *gradients, checked(value))
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
    known = crf_and_gradients(*_arrays(initial, transition, emission), states, lengths)
    return _differentiable(initial, transition, emission, known)


def log_likelihood(
    initial: Operand,
    transition: Operand,
    emission: Operand,
    lengths: ArrayLike | None = None,
) -> Tensor:
    """Return the logarithm of the probability of all observations, by the forward algorithm.

    The gradients are posteriors: the expected numbers of first states, transitions and states. So
    gradient ascent fits any model whose logarithms are differentiable. Impossible sequences have
    gradient 0. A backward pass that is recorded, for second derivatives, raises
    NotImplementedError.

    Parameters
    ----------
    initial : Tensor or array_like, (s,)
    transition : Tensor or array_like, (s, s)
    emission : Tensor or array_like, (..., t, s)
    lengths : array_like of int, (...), optional
        As for `tropical.sequence.log_likelihood`.

    Returns
    -------
    Tensor, (...)

    Raises
    ------
    ValueError, TypeError
        As for `tropical.sequence.log_likelihood`.

    Notes
    -----
    J. Eisner, "Inside-outside and forward-backward algorithms are just backprop", Workshop on
    Structured Prediction for NLP, 2016.

    Examples
    --------
    >>> import numpy as np
    >>> from tropical.autograd import Tensor, log_likelihood
    >>> initial = Tensor(np.log([0.75, 0.25]), requires_grad=True)
    >>> log_likelihood(initial, np.zeros((2, 2)), np.zeros((3, 2))).backward()
    >>> initial.grad
    Tensor([0.75, 0.25])
    """
    known = log_likelihood_and_gradients(*_arrays(initial, transition, emission), lengths)
    return _differentiable(initial, transition, emission, known)


def viterbi(
    initial: Operand,
    transition: Operand,
    emission: Operand,
    lengths: ArrayLike | None = None,
) -> tuple[NDArray[np.intp], Tensor]:
    """Return the most likely path of states of each sequence, and its score.

    The gradient of a score is its path: how often the path uses each element. Impossible sequences
    have gradient 0. A backward pass that is recorded raises NotImplementedError.

    Parameters
    ----------
    initial : Tensor or array_like, (s,)
    transition : Tensor or array_like, (s, s)
    emission : Tensor or array_like, (..., t, s)
    lengths : array_like of int, (...), optional
        As for `tropical.sequence.viterbi`.

    Returns
    -------
    paths : ndarray of intp, (..., t)
    scores : Tensor, (...)

    Raises
    ------
    ValueError, TypeError
        As for `tropical.sequence.viterbi`.

    Examples
    --------
    >>> import numpy as np
    >>> from tropical.autograd import Tensor, viterbi
    >>> transition = Tensor(np.eye(2), requires_grad=True)
    >>> path, score = viterbi(np.zeros(2), transition, np.array([[0, 2], [0, 1], [3, 0]]))
    >>> path
    array([1, 1, 0])
    >>> score.backward()
    >>> transition.grad
    Tensor([[0., 0.],
            [1., 1.]])
    """
    *known, paths = viterbi_and_gradients(*_arrays(initial, transition, emission), lengths)
    return paths, _differentiable(initial, transition, emission, tuple(known))

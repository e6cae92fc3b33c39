"""Conditional random fields: the likelihood of given states, and its gradients."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tropical.arrays import Array, is_kind, unmasked
from tropical.sequence.chains import Batch, Layout, read
from tropical.sequence.marginals import Posteriors, posteriors_of

__all__ = ["CRFLikelihood", "crf_log_likelihood"]


class CRFLikelihood(NamedTuple):
    """The logarithm of the probability of given states, and its gradients.

    Attributes
    ----------
    value : ndarray, (...)
    initial : ndarray, (..., s)
        The gradient with respect to the scores of the first states.
    transition : ndarray, (..., s, s) or (..., t - 1, s, s)
        That with respect to the scores of transitions.
    emission : ndarray, (..., t, s)
        That with respect to the scores of states; 0 beyond the length of a sequence.
    """

    value: Array
    initial: Array
    transition: Array
    emission: Array


def crf_log_likelihood(
    initial: ArrayLike,
    transition: ArrayLike,
    emission: ArrayLike,
    states: ArrayLike,
    lengths: ArrayLike | None = None,
) -> CRFLikelihood:
    """Return the log-likelihood of states in a linear-chain conditional random field.

    The probability of states is the exponential of their score, which is that of `viterbi`, divided
    by the sum of the exponentials over all states that a sequence may have.

    Parameters
    ----------
    initial : array_like, (s,)
        Scores of the first states.
    transition : array_like, (s, s)
        Element (i, j): the score of state j behind state i.
    emission : array_like, (..., t, s)
        Scores of the states at each step, such as what a network computes.
    states : array_like of int, (..., t)
        The states whose likelihood is wanted. They are not read beyond the lengths.
    lengths : array_like of int, (...), optional
        As for `viterbi`.

    Returns
    -------
    CRFLikelihood
        The values, and their gradients: the states that are given minus those that are expected.

    Raises
    ------
    ValueError, TypeError
        As for `viterbi`; if a state is none of the model's, or its score is -inf.

    Notes
    -----
    J. Lafferty, A. McCallum, F. Pereira, "Conditional random fields: probabilistic models for
    segmenting and labeling sequence data", ICML 2001, section 3. One pass of `posteriors` computes
    the sum and all gradients.

    Examples
    --------
    >>> import numpy as np
    >>> from tropical.sequence import crf_log_likelihood
    >>> emission = np.array([[2.0, 0.0], [0.0, 1.0], [0.5, 0.0]])
    >>> known = crf_log_likelihood(np.zeros(2), np.eye(2), emission, [0, 1, 1])
    >>> round(float(known.value), 4)
    -1.462
    >>> known.emission.round(3)
    array([[ 0.16 , -0.16 ],
           [-0.491,  0.491],
           [-0.593,  0.593]])
    """
    batch = read_model(initial, transition, emission, lengths)
    chosen = _states(states, batch)
    first, weights, scores = (np.asarray(x, batch.dtype) for x in (initial, transition, emission))
    known = posteriors_of(batch)
    value = _score(first, weights, scores, chosen, batch) - known.log_likelihood.reshape(-1)
    if not np.isfinite(value).all():
        worst = np.unravel_index(int(np.flatnonzero(~np.isfinite(value))[0]), batch.shape)
        at = tuple(int(i) for i in worst)
        raise ValueError(f"states: expected states of finite scores, got -inf at {at}")
    gradients = given_minus_expected(known, chosen, batch)
    return CRFLikelihood(batch.each(value.astype(batch.dtype))[()], *map(batch.each, gradients))


def read_model(
    initial: ArrayLike, transition: ArrayLike, emission: ArrayLike, lengths: ArrayLike | None
) -> Batch:
    """Check the arguments of `crf_log_likelihood`: one model for all sequences."""
    for name, scores, axes in ("initial", initial, 1), ("transition", transition, 2):
        given = unmasked(name, scores)  # which refuses sparse arrays
        if given.ndim != axes:
            expected = "(s,)" if axes == 1 else "(s, s)"
            raise ValueError(f"{name}: expected {expected} for all sequences, got {given.shape}")
    batch = read(initial, transition, emission, Layout(lengths))
    if lengths is not None and batch.shape != np.shape(emission)[:-2]:
        raise ValueError(
            f"lengths: expected {np.shape(emission)[:-2]}, one for each sequence of emission, got "
            f"{np.shape(lengths)}"
        )
    return batch


def _score(
    initial: Array, transition: Array, emission: Array, states: NDArray[np.intp], batch: Batch
) -> NDArray[np.float64]:
    """Return the scores of states (sequences, t), in float64."""
    within = states >= 0
    scores = emission.reshape(-1).take(_places(states, batch))
    score = _sum_where(within, scores)
    score += _sum_where(within[:, 1:], transition.reshape(-1).take(_pairs(states, batch)))
    return score + _sum_where(within[:, :1], initial.take(np.maximum(states[:, :1], 0)))


def given_minus_expected(
    known: Posteriors, states: NDArray[np.intp], batch: Batch
) -> tuple[Array, Array, Array]:
    """Return the gradients of initial, transition and emission, of each sequence.

    `states` (sequences, t) are -1 where there is none. The gradients take the memory of `known`.
    """
    within, count = states >= 0, batch.states
    items, steps = states.shape
    to_emission = np.negative(known.states, out=known.states).reshape(items, steps, count)
    to_emission.reshape(-1)[_places(states, batch)[within]] += 1
    # A sequence without steps has no first state.
    to_initial = to_emission[:, 0] if steps else np.zeros((items, count), batch.dtype)
    cell = _pairs(states, batch) + np.arange(items)[:, None] * (count * count)
    given = np.bincount(cell[within[:, 1:]], minlength=items * count * count)
    to_transition = known.transitions.reshape(-1)
    np.subtract(given.astype(batch.dtype), to_transition, out=to_transition)
    return to_initial.copy(), to_transition.reshape(items, count, count), to_emission


def _places(states: NDArray[np.intp], batch: Batch) -> NDArray[np.intp]:
    """Return where each state lies in the emissions, (sequences, t); any place if none does."""
    places: NDArray[np.intp] = np.arange(0, states.size * batch.states, batch.states)
    return places.reshape(states.shape) + np.maximum(states, 0)


def _pairs(states: NDArray[np.intp], batch: Batch) -> NDArray[np.intp]:
    """Return where each transition lies in a matrix, (sequences, t - 1); any place if none does."""
    pairs: NDArray[np.intp] = np.maximum(states[:, :-1] * batch.states + states[:, 1:], 0)
    return pairs


def _sum_where(within: NDArray[np.bool_], x: Array) -> NDArray[np.float64]:
    """Return the sums over the steps."""
    sums: NDArray[np.float64] = np.where(within, x, 0).sum(axis=1, dtype=np.float64)
    return sums


def _states(states: ArrayLike, batch: Batch) -> NDArray[np.intp]:
    """Return checked states, (sequences, t), -1 beyond the lengths."""
    chosen = unmasked("states", states)
    if not is_kind(chosen.dtype, "integer"):
        raise TypeError(f"states: expected integers, got {chosen.dtype}")
    steps = batch.steps or 0
    wanted = (*batch.shape, steps)
    if chosen.shape != wanted:
        raise ValueError(f"states: expected {wanted}, as emission has, got {chosen.shape}")
    within = batch.within().reshape(wanted)
    wrong = ((chosen < 0) | (chosen >= batch.states)) & within
    if wrong.any():
        at = tuple(int(i) for i in np.argwhere(wrong)[0])
        raise ValueError(f"states: expected 0 to {batch.states - 1}, got {chosen[at]} at {at}")
    return np.where(within, chosen, -1).astype(np.intp).reshape(len(batch.lengths), steps)

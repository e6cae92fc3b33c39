"""Conditional random fields: the likelihood of given states, and its gradients."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tropical.arrays import Array, is_kind, unmasked
from tropical.foreign import answers_alike
from tropical.sequence.chains import Batch, Layout, read, refuse_unknown
from tropical.sequence.marginals import Posteriors, posteriors_of


class CRFLikelihood(NamedTuple):
    """The logarithm of the probability of given states, and its gradients.

    Attributes
    ----------
    value : ndarray, (...)
    initial : ndarray, (..., s)
        The gradient with respect to the scores of the first states.
    transition : ndarray, (..., s, s)
        That with respect to the scores of transitions.
    emission : ndarray, (..., t, s)
        That with respect to the scores of states; 0 beyond the length of a sequence.
    """

    value: Array
    initial: Array
    transition: Array
    emission: Array


@answers_alike
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
    known = posteriors_of(batch, _states(states, batch))
    value = batch.each(known.log_likelihood)
    if not np.isfinite(value).all():
        at = tuple(int(i) for i in np.argwhere(~np.isfinite(value))[0])
        raise ValueError(f"states: expected states of finite scores, got -inf at {at}")
    return CRFLikelihood(*with_gradients(known, batch))


def with_gradients(known: Posteriors, batch: Batch) -> tuple[Array, Array, Array, Array]:
    """Return the likelihoods of sequences, and their gradients of initial, transition, emission."""
    first = known.states[..., :1, :].sum(axis=-2)  # a sequence without steps has no first state
    value = batch.scores(known.log_likelihood)
    return value, first, known.transitions[..., 0, :, :], known.states


def read_model(
    initial: ArrayLike,
    transition: ArrayLike,
    emission: ArrayLike,
    lengths: ArrayLike | None,
    *,
    within_bounds: bool = False,
) -> Batch:
    """Check the arguments of `crf_log_likelihood`: one model for all sequences; see `read`."""
    for name, scores, axes in ("initial", initial, 1), ("transition", transition, 2):
        given = unmasked(name, scores)  # which refuses sparse arrays
        if given.ndim != axes:
            expected = "(s,)" if axes == 1 else "(s, s)"
            raise ValueError(f"{name}: expected {expected} for all sequences, got {given.shape}")
    batch = read(initial, transition, emission, Layout(lengths), within_bounds=within_bounds)
    if lengths is not None and batch.shape != np.shape(emission)[:-2]:
        raise ValueError(
            f"lengths: expected {np.shape(emission)[:-2]}, one for each sequence of emission, got "
            f"{np.shape(lengths)}"
        )
    return batch


def _states(states: ArrayLike, batch: Batch) -> NDArray[np.intp]:
    """Return checked states, (sequences * t,); any number beyond the lengths."""
    chosen = unmasked("states", states)
    if not is_kind(chosen.dtype, "integer") and chosen.size:
        raise TypeError(f"states: expected integers, got {chosen.dtype}")
    wanted = (*batch.shape, batch.steps or 0)
    if chosen.shape != wanted:
        raise ValueError(f"states: expected {wanted}, as emission has, got {chosen.shape}")
    # One pass is enough for most: as unsigned numbers, negative ones are the greatest.
    flat = np.require(chosen, np.intp, ["C", "A"]).reshape(-1)
    if np.max(flat.view(np.uintp), initial=0) >= batch.states:
        refuse_unknown("states", chosen, batch.states, batch.within().reshape(wanted))
    return flat

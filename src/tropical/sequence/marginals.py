"""Likelihoods and posteriors of a chain: sums over all paths, forward and backward."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tropical import _core
from tropical.arrays import Array
from tropical.foreign import answers_alike
from tropical.sequence.chains import Batch, Layout, read


class Posteriors(NamedTuple):
    """The probabilities of the states of a sequence, given all observations.

    Attributes
    ----------
    states : ndarray, (..., t, s)
        The probability of each state at each step. 0 beyond the length of a sequence, and for an
        impossible sequence.
    transitions : ndarray, (..., s, s) or (..., t - 1, s, s)
        Element (i, j): the expected number of times that state j follows state i. With `per_step`:
        the probability of this, for each step but the first. (..., edges) for sparse transitions:
        those that are stored, in the order of ``log_transition.tocsc()`` with sorted indices; of a
        DIA array all elements of its diagonals, zeros too, which its ``tocsc()`` leaves out.
    log_likelihood : ndarray, (...)
        The logarithm of the probability of all observations; -inf if they are impossible.
    """

    states: Array
    transitions: Array
    log_likelihood: Array


@answers_alike
def forward(
    log_initial: ArrayLike,
    log_transition: ArrayLike,
    log_emission: ArrayLike,
    lengths: ArrayLike | None = None,
    *,
    symbols: ArrayLike | None = None,
    concatenated: bool = False,
    per_step: bool = False,
) -> tuple[Array, Array]:
    """Return the forward sums of each sequence, and the logarithm of its likelihood.

    Parameters
    ----------
    log_initial, log_transition, log_emission, lengths, symbols, concatenated, per_step
        As for `viterbi`.

    Returns
    -------
    log_alpha : ndarray, (..., t, s)
        The logarithm of the joint probability of a state at a step and all observations up to that
        step: the sum over all paths to the state. -inf beyond the length of a sequence.
    log_likelihood : ndarray, (...)
        The logarithm of the probability of all observations: -inf if they are impossible, 0 for a
        sequence of no steps.

    Raises
    ------
    ValueError, TypeError
        As for `viterbi`.

    Notes
    -----
    L. R. Rabiner, "A tutorial on hidden Markov models and selected applications in speech
    recognition", Proceedings of the IEEE 77(2), 1989, sections III.A and V.A. The steps compute
    with probabilities in float64, also for float32 arguments, and scale them by powers of two,
    which rounds nothing. Steps whose probabilities float64 cannot hold are computed again on
    logarithms. So all logarithms are exact to about t times 1e-16 relative to the greatest number
    among the arguments and results, and impossible paths stay impossible.

    Examples
    --------
    >>> import numpy as np
    >>> from tropical.sequence import forward
    >>> initial, transition = np.log([0.5, 0.5]), np.log([[0.7, 0.3], [0.3, 0.7]])
    >>> emission = np.log([[0.9, 0.2], [0.9, 0.2], [0.1, 0.8]])
    >>> log_alpha, log_likelihood = forward(initial, transition, emission)
    >>> print(round(float(np.exp(log_likelihood)), 5))
    0.12044
    """
    batch = read(
        log_initial, log_transition, log_emission, Layout(lengths, symbols, concatenated, per_step)
    )
    log_alpha = batch.rows(-np.inf)
    likelihood = batch.scores(_sum_paths(batch, log_alpha=log_alpha))
    return batch.shaped(log_alpha), likelihood


@answers_alike
def log_likelihood(
    log_initial: ArrayLike,
    log_transition: ArrayLike,
    log_emission: ArrayLike,
    lengths: ArrayLike | None = None,
    *,
    symbols: ArrayLike | None = None,
    concatenated: bool = False,
    per_step: bool = False,
) -> Array:
    """Return the logarithm of the probability of all observations of each sequence.

    The second result of `forward`, without memory for the first.

    Parameters
    ----------
    log_initial, log_transition, log_emission, lengths, symbols, concatenated, per_step
        As for `viterbi`.

    Returns
    -------
    log_likelihood : ndarray, (...)

    Raises
    ------
    ValueError, TypeError
        As for `viterbi`.

    Examples
    --------
    >>> import numpy as np
    >>> from tropical.sequence import log_likelihood
    >>> initial, transition = np.log([0.5, 0.5]), np.log([[0.7, 0.3], [0.3, 0.7]])
    >>> table = np.log([[0.9, 0.1], [0.2, 0.8]])
    >>> known = log_likelihood(initial, transition, table, symbols=[0, 0, 1])
    >>> print(round(float(np.exp(known)), 5))
    0.12044
    """
    batch = read(
        log_initial, log_transition, log_emission, Layout(lengths, symbols, concatenated, per_step)
    )
    return batch.scores(_sum_paths(batch))


@answers_alike
def backward(
    log_transition: ArrayLike,
    log_emission: ArrayLike,
    lengths: ArrayLike | None = None,
    *,
    symbols: ArrayLike | None = None,
    concatenated: bool = False,
    per_step: bool = False,
) -> Array:
    """Return the backward sums of each sequence.

    Parameters
    ----------
    log_transition, log_emission, lengths, symbols, concatenated, per_step
        As for `viterbi`.

    Returns
    -------
    log_beta : ndarray, (..., t, s)
        The logarithm of the probability of all observations after a step, given the state at the
        step: 0 at the last step of a sequence, -inf beyond.

    Raises
    ------
    ValueError, TypeError
        As for `viterbi`.

    Examples
    --------
    >>> import numpy as np
    >>> from tropical.sequence import backward
    >>> transition = np.log([[0.7, 0.3], [0.3, 0.7]])
    >>> emission = np.log([[0.9, 0.2], [0.9, 0.2], [0.1, 0.8]])
    >>> np.exp(backward(transition, emission)).round(4)
    array([[0.2307, 0.1663],
           [0.31  , 0.59  ],
           [1.    , 1.    ]])
    """
    batch = read(
        None, log_transition, log_emission, Layout(lengths, symbols, concatenated, per_step)
    )
    log_beta = batch.rows(-np.inf)
    _core.sum_paths(batch.chains, batch.place, None, log_beta, None, None, None)
    return batch.shaped(log_beta)


@answers_alike
def posteriors(
    log_initial: ArrayLike,
    log_transition: ArrayLike,
    log_emission: ArrayLike,
    lengths: ArrayLike | None = None,
    *,
    symbols: ArrayLike | None = None,
    concatenated: bool = False,
    per_step: bool = False,
) -> Posteriors:
    """Return the probabilities of states and transitions, given all observations.

    Parameters
    ----------
    log_initial, log_transition, log_emission, lengths, symbols, concatenated, per_step
        As for `viterbi`.

    Returns
    -------
    Posteriors
        `states`, `transitions`, `log_likelihood`: the inputs of a step of the Baum-Welch algorithm.

    Raises
    ------
    ValueError, TypeError
        As for `viterbi`.

    Examples
    --------
    >>> import numpy as np
    >>> from tropical.sequence import posteriors
    >>> initial, transition = np.log([0.5, 0.5]), np.log([[0.7, 0.3], [0.3, 0.7]])
    >>> emission = np.log([[0.9, 0.2], [0.9, 0.2], [0.1, 0.8]])
    >>> known = posteriors(initial, transition, emission)
    >>> known.states.round(3)
    array([[0.862, 0.138],
           [0.799, 0.201],
           [0.191, 0.809]])
    >>> known.transitions.round(3)
    array([[0.91 , 0.751],
           [0.08 , 0.259]])
    """
    batch = read(
        log_initial, log_transition, log_emission, Layout(lengths, symbols, concatenated, per_step)
    )
    known = posteriors_of(batch)
    known = known._replace(log_likelihood=batch.scores(known.log_likelihood))
    if batch.edges is not None:
        return known
    if not per_step:
        return known._replace(transitions=known.transitions[..., 0, :, :])
    if batch.steps == 0 or batch.steps == 1:  # no transition at all
        return known._replace(transitions=known.transitions[..., :0, :, :])
    return known


def posteriors_of(batch: Batch, given: NDArray[np.intp] | None = None) -> Posteriors:
    """Return the posteriors of a batch; transitions are (..., matrices, s, s) or (..., edges).

    With a state given for each row: what these use minus the posteriors, and the logarithm of their
    own likelihood. Likelihoods are (sequences,) in float64.
    """
    states = batch.rows(0)
    transitions = batch.transitions()
    likelihood = _sum_paths(batch, states=states, transitions=transitions, given=given)
    return Posteriors(batch.shaped(states), batch.each(transitions), likelihood)


def _sum_paths(
    batch: Batch,
    log_alpha: Array | None = None,
    states: Array | None = None,
    transitions: Array | None = None,
    given: NDArray[np.intp] | None = None,
) -> NDArray[np.float64]:
    """Fill the results that are given, and return the logarithms of the likelihoods, (b,)."""
    likelihood = np.empty(len(batch.lengths))
    _core.sum_paths(
        batch.chains, batch.place, log_alpha, None, states, transitions, likelihood, given
    )
    return likelihood

"""Likelihoods and posteriors of a chain: forward and backward sums on logplus products."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

import tropical
from tropical import semirings
from tropical.arrays import Array
from tropical.sequence.chains import Chains, Scaled, read

__all__ = ["Posteriors", "backward", "forward", "posteriors"]

LOGPLUS = semirings.logplus


class Posteriors(NamedTuple):
    """The probabilities of the states of a sequence, given all observations.

    Attributes
    ----------
    states : ndarray, (..., t, s)
        The probability of each state at each step. 0 beyond the length of a sequence, and for an
        impossible sequence.
    transitions : ndarray, (..., s, s)
        Element (i, j): the expected number of times that state j follows state i.
    log_likelihood : ndarray, (...)
        The logarithm of the probability of all observations; -inf if they are impossible.
    """

    states: Array
    transitions: Array
    log_likelihood: Array


def forward(
    log_initial: ArrayLike,
    log_transition: ArrayLike,
    log_emission: ArrayLike,
    lengths: ArrayLike | None = None,
) -> tuple[Array, Array]:
    """Return the forward sums of each sequence, and the logarithm of its likelihood.

    Parameters
    ----------
    log_initial, log_transition, log_emission, lengths
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
    recognition", Proceedings of the IEEE 77(2), 1989, section III.A, on logarithms, which do not
    underflow. Every 16 steps the sums are rescaled as in `viterbi`, and only the results have the
    full size of the logarithms.

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
    chains = read(log_initial, log_transition, log_emission, lengths)
    alpha = chains.forward(LOGPLUS)
    likelihood = chains.total(alpha, LOGPLUS)
    return _as_given(chains, alpha.logarithms()), chains.as_given(likelihood)[()]


def backward(
    log_transition: ArrayLike, log_emission: ArrayLike, lengths: ArrayLike | None = None
) -> Array:
    """Return the backward sums of each sequence.

    Parameters
    ----------
    log_transition, log_emission, lengths
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
    chains = read(None, log_transition, log_emission, lengths)
    return _as_given(chains, _backward(chains)[0].logarithms())


def posteriors(
    log_initial: ArrayLike,
    log_transition: ArrayLike,
    log_emission: ArrayLike,
    lengths: ArrayLike | None = None,
) -> Posteriors:
    """Return the probabilities of states and transitions, given all observations.

    Parameters
    ----------
    log_initial, log_transition, log_emission, lengths
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
    chains = read(log_initial, log_transition, log_emission, lengths)
    alpha = chains.forward(LOGPLUS)
    beta, arriving = _backward(chains)
    likelihood = chains.total(alpha, LOGPLUS)
    leaving = alpha.sums.copy()
    states, total = _normalized(np.add(alpha.sums, beta.sums, out=alpha.sums))
    # The sums before a step and those after it have different offsets where they were rescaled.
    total[:-1] += beta.offset[:-1] - beta.offset[1:]
    transitions = _transitions(chains, leaving[:-1], arriving[1:], total[:-1, :, None])
    transitions[likelihood == -np.inf] = 0
    return Posteriors(
        _as_given(chains, states), chains.as_given(transitions), chains.as_given(likelihood)[()]
    )


def _backward(chains: Chains) -> tuple[Scaled, Array]:
    """Return the backward sums, and those sums with the emission of their own step, (t, b, s).

    `arriving` has the offset of the backward sums.
    """
    scaled, arriving = chains.per_step(), chains.per_step().sums
    sums = scaled.sums
    for step in range(len(sums) - 1, -1, -1):
        count, on = chains.active[step], chains.active[step + 1]
        sums[step, on:count] = 0
        if on:
            chains.multiply(arriving[step + 1, :on], LOGPLUS, sums[step, :on], back=True)
            scaled.rescale(step, step + 1, on)
        np.add(sums[step, :count], chains.emitted(step, count), out=arriving[step, :count])
    return scaled, arriving


def _transitions(chains: Chains, leaving: Array, entering: Array, total: Array) -> Array:
    """Return the expected transitions (b, s, s): one product over the steps of each sequence.

    Each step is divided by the sum over its own paths: the likelihood, whose rounding grows with
    the length of a sequence, is not needed.
    """
    # The logarithms decline from step to step. Subtracting the greatest of each step keeps them
    # near 0.
    most = leaving.max(axis=-1, keepdims=True, initial=-np.inf)
    most[most == -np.inf] = 0
    leaving -= most
    entering += most - total
    pairs: Array = tropical.gemm(
        leaving.transpose(1, 2, 0), entering.transpose(1, 0, 2), semiring=LOGPLUS
    )
    pairs += chains.transition
    np.exp(pairs, out=pairs)
    return pairs


def _normalized(logs: Array) -> tuple[Array, NDArray[np.float64]]:
    """Return exp(logs), in place, divided by the sums of the last axis, and the sums' logarithms.

    Where all logs are -inf, the results are 0.
    """
    most = logs.max(axis=-1, keepdims=True)
    most[most == -np.inf] = 0
    logs -= most
    np.exp(logs, out=logs)
    total = logs.sum(axis=-1, keepdims=True)
    total[total == 0] = 1
    logs /= total
    return logs, (most + np.log(total, dtype=np.float64))[..., 0]


def _as_given(chains: Chains, x: Array) -> Array:
    """Return x (t, b, s) as (*batch, t, s)."""
    return chains.as_given(np.ascontiguousarray(x.transpose(1, 0, 2)))

"""The most likely path through a chain: the Viterbi algorithm on max-plus products."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tropical import semirings
from tropical.arrays import Array
from tropical.sequence.chains import Chains, read

__all__ = ["viterbi"]


def viterbi(
    log_initial: ArrayLike,
    log_transition: ArrayLike,
    log_emission: ArrayLike,
    lengths: ArrayLike | None = None,
) -> tuple[NDArray[np.intp], Array]:
    """Return the most likely path of states of each sequence, and its score.

    Path x of n steps scores ``log_initial[x[0]] + log_emission[0, x[0]] + log_transition[x[0],
    x[1]] + log_emission[1, x[1]] + ...``.

    Parameters
    ----------
    log_initial : array_like, (..., s)
        Logarithms of the probabilities of the states at the first step; -inf for impossible states.
        Normalization is not needed: any scores that add up along a path are allowed.
    log_transition : array_like, (..., s, s)
        Element (i, j): the logarithm of the probability that state j follows state i.
    log_emission : array_like, (..., t, s)
        Logarithms of the probabilities of the observation at each step, given the state.
    lengths : array_like of int, (...), optional
        The number of steps of each sequence, at most t. Later steps are not read. Default: t.

    Returns
    -------
    paths : ndarray of intp, (..., t)
        States; -1 beyond the length of a sequence, and everywhere if no path is possible.
    scores : ndarray, (...)
        Scores of the paths: -inf if no path is possible, 0 for a sequence of no steps. The dtype is
        float32 if all arguments are float32, else float64; integers count as float64.

    Raises
    ------
    ValueError
        If shapes do not match, a length is negative or larger than t, or there is a NaN or +inf;
        if log_transition has a matrix for each of the t - 1 steps between the t observations of
        one sequence.
    TypeError
        If a dtype is no real number of up to 64 bits, lengths are no integers, or an argument is a
        masked array.

    Notes
    -----
    A. J. Viterbi, "Error bounds for convolutional codes and an asymptotically optimum decoding
    algorithm", IEEE Transactions on Information Theory 13(2), 1967; G. D. Forney, "The Viterbi
    algorithm", Proceedings of the IEEE 61(3), 1973. A step of all sequences is one max-plus
    product. Only the way back, along the best path, looks for the state that attained a maximum. So
    the memory of each sequence is t times s numbers.

    Of equal scores the lowest state wins: the lowest last state, then at each step back the lowest
    earlier state that attains the score in rounded sums.

    Every 16 steps, the greatest score of the step is subtracted and kept in float64. So float32
    rounds the differences between states, and not scores that grow with the sequence.

    Leading axes are a batch and broadcast: one model for many sequences, or many models.

    Examples
    --------
    Rain or shine, told by an umbrella:

    >>> import numpy as np
    >>> from tropical.sequence import viterbi
    >>> initial, transition = np.log([0.5, 0.5]), np.log([[0.7, 0.3], [0.3, 0.7]])
    >>> umbrella = np.array([1, 1, 0, 1, 1])
    >>> emission = np.log([[0.1, 0.9], [0.8, 0.2]]).T[umbrella]  # (5 days, rain and shine)
    >>> path, score = viterbi(initial, transition, emission)
    >>> path
    array([0, 0, 1, 0, 0])
    >>> print(round(float(np.exp(score)), 6))
    0.011574
    """
    chains = read(log_initial, log_transition, log_emission, lengths)
    scores = chains.forward(semirings.maxplus)
    states = _trace_back(chains, scores.sums)
    best = chains.total(scores, semirings.maxplus)
    states[:, best == -np.inf] = -1
    return chains.as_given(np.ascontiguousarray(states.T)), chains.as_given(best)[()]


def _trace_back(chains: Chains, scores: Array) -> NDArray[np.intp]:
    """Return the states of the best paths, (t, b); -1 beyond their ends.

    An offset common to the scores of a step changes no state.
    """
    states = np.full(scores.shape[:2], -1, np.intp)
    into = np.ascontiguousarray(chains.transition.swapaxes(-1, -2))  # rows: from every state to j
    each = np.arange(len(chains.lengths))
    for step in range(len(scores) - 1, -1, -1):
        count, on = chains.active[step], chains.active[step + 1]
        here, after = states[step], states[step + 1 : step + 2, :on]
        if on:
            way = into[after[0]] if into.ndim == 2 else into[each[:on], after[0]]
            way += scores[step, :on]
            way.argmax(axis=-1, out=here[:on])
        if on < count:  # these end here
            scores[step, on:count].argmax(axis=-1, out=here[on:count])
    return states

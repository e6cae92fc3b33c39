"""The most likely path through a chain: the Viterbi algorithm."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tropical import _core, semirings
from tropical.arrays import Array, read_count
from tropical.foreign import answers_alike
from tropical.semirings import Semiring
from tropical.sequence.chains import Batch, Layout, read


@answers_alike
def viterbi(
    log_initial: ArrayLike,
    log_transition: ArrayLike,
    log_emission: ArrayLike,
    lengths: ArrayLike | None = None,
    *,
    symbols: ArrayLike | None = None,
    concatenated: bool = False,
    per_step: bool = False,
    semiring: str | Semiring = "maxplus",
) -> tuple[NDArray[np.intp], Array]:
    """Return the most likely path of states of each sequence, and its score.

    Path x of n steps scores ``log_initial[x[0]] + log_emission[0, x[0]] + log_transition[x[0],
    x[1]] + log_emission[1, x[1]] + ...``.

    Parameters
    ----------
    log_initial : array_like, (..., s)
        Logarithms of the probabilities of the states at the first step; -inf for impossible states.
        Normalization is not needed: any scores that add up along a path are allowed.
    log_transition : array_like, (..., s, s), or sparse array of SciPy, (s, s)
        Element (i, j): the logarithm of the probability that state j follows state i. What a sparse
        array does not store is impossible; a step costs as much as there are stored elements.
    log_emission : array_like, (..., t, s)
        Logarithms of the probabilities of the observation at each step, given the state.
    lengths : array_like of int, (...), optional
        The number of steps of each sequence, at most t. Later steps are not read. Default: t.
    symbols : array_like of int, (..., t), optional
        The observed symbol of each step, from 0 to k - 1. `log_emission` is a table then, (..., s,
        k): element (i, j) is the logarithm of the probability that state i emits symbol j.
    concatenated : bool, optional
        The sequences follow each other along the axis of steps, without padding: `log_emission` (t,
        s) or `symbols` (t,), and `lengths` (sequences,) whose sum is t. So are the results of all
        steps. This is the convention of hmmlearn.
    per_step : bool, optional
        `log_transition` has a matrix for each step but the first, (..., t - 1, s, s): matrix i
        leads from step i to step i + 1.
    semiring : str or Semiring, optional
        One whose sums are one of their terms: what "best" and "score" mean. "minplus" takes costs,
        "maxmin" finds the path whose weakest link is strongest, "maxtimes" takes probabilities as
        they are, which may underflow.

    Returns
    -------
    paths : ndarray of intp, (..., t)
        States; -1 beyond the length of a sequence, and everywhere if no path is possible.
    scores : ndarray, (...)
        Scores of the paths: the semiring's zero (-inf) if no path is possible, its one (0) for a
        sequence of no steps. The dtype is that of the integers if all arguments are integers, else
        float32 or float64, to which the arguments promote. Integers without a sign are computed in
        the next dtype that has one, with its zero and one; uint64 in float64. Sums of integers
        saturate.

    Raises
    ------
    ValueError
        If shapes do not match, a length is negative or larger than t, a symbol is not in the table,
        or there is a NaN or +inf (an infinity that is neither zero nor one of the semiring); if the
        score of a best path is infinite over maxtimes; if log_transition has a matrix for each of
        the t - 1 steps between the t observations of one sequence, without `per_step`; if the
        semiring's sums are not one of their terms.
    TypeError
        If a dtype is no real number of up to 64 bits, lengths or symbols are no integers, or an
        argument is a masked array.

    Notes
    -----
    A. J. Viterbi, "Error bounds for convolutional codes and an asymptotically optimum decoding
    algorithm", IEEE Transactions on Information Theory 13(2), 1967; G. D. Forney, "The Viterbi
    algorithm", Proceedings of the IEEE 61(3), 1973. One loop in C++ takes the steps; sequences are
    shared among the threads. Only the way back, along the best path, looks for the state that
    attained a maximum. So the memory of each sequence is t times s numbers. Of long sequences only
    the scores of every sixteenth step are kept, and the others are computed again.

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
    layout = Layout(lengths, symbols, concatenated, per_step, _selective(semiring))
    model = log_initial, log_transition, log_emission
    batch, states, scores = best_paths(partial(read, *model, layout), layout.ring, 1)
    return batch.shaped(states[0]), batch.each(scores[0])[()]


@answers_alike
def k_best(
    log_initial: ArrayLike,
    log_transition: ArrayLike,
    log_emission: ArrayLike,
    k: int,
    lengths: ArrayLike | None = None,
    *,
    symbols: ArrayLike | None = None,
    concatenated: bool = False,
    per_step: bool = False,
    semiring: str | Semiring = "maxplus",
) -> tuple[NDArray[np.intp], Array]:
    """Return the k best paths of each sequence, the best first, and their scores.

    Parameters
    ----------
    log_initial, log_transition, log_emission, lengths, symbols, concatenated, per_step
        As for `viterbi`, but no sparse array.
    k : int
        How many paths, at least 1.
    semiring : {"maxplus", "minplus"}, optional
        As for `viterbi`. Arguments that are integers count as float64.

    Returns
    -------
    paths : ndarray of intp, (..., k, t)
        No two are the same. -1 beyond the length of a sequence, and in paths that do not exist or
        are impossible. With `concatenated`: (k, t).
    scores : ndarray, (..., k)
        Scores of the paths in descending order (ascending for minplus): the semiring's zero for
        paths that do not exist or are impossible.

    Raises
    ------
    ValueError, TypeError
        As for `viterbi`; if `k` is no integer or less than 1, or for another semiring.

    Notes
    -----
    E. L. Lawler, "A procedure for computing the k best solutions to discrete optimization
    problems", Management Science 18(7), 1972. The scores of all steps are computed once, and stay
    in memory. The next path leaves one of those before it at some step, going back, where the loss
    is the difference of two scores. So each path takes about as long as the way back of `viterbi`.
    Rounding may exchange paths whose scores differ by rounding alone.

    Examples
    --------
    >>> import numpy as np
    >>> from tropical.sequence import k_best
    >>> initial, transition = np.log([0.5, 0.5]), np.log([[0.7, 0.3], [0.3, 0.7]])
    >>> umbrella = np.array([1, 1, 0, 1, 1])
    >>> emission = np.log([[0.1, 0.9], [0.8, 0.2]]).T[umbrella]
    >>> paths, scores = k_best(initial, transition, emission, 3)
    >>> paths
    array([[0, 0, 1, 0, 0],
           [0, 0, 0, 0, 0],
           [0, 0, 1, 1, 0]])
    >>> np.exp(scores).round(6)
    array([0.011574, 0.007876, 0.002572])
    """
    ring = _selective(semiring)
    if hasattr(log_transition, "tocsc"):
        raise TypeError("log_transition: expected a dense matrix for k_best, got a sparse one")
    k = read_count("k", k, 1)
    if ring not in (semirings.maxplus, semirings.minplus):
        raise ValueError(f"semiring: expected maxplus or minplus, got {ring.name}")
    layout = Layout(lengths, symbols, concatenated, per_step, ring, floating=True)
    model = log_initial, log_transition, log_emission
    batch, states, scores = best_paths(partial(read, *model, layout), ring, k)
    return batch.paths(states), batch.each(np.ascontiguousarray(scores.T))


def _selective(semiring: str | Semiring) -> Semiring:
    ring = semirings.get(semiring)
    if not ring.selective:
        known = ", ".join(name for name in semirings.names() if semirings.get(name).selective)
        raise ValueError(f"semiring: expected one of {known}, got {ring.name}")
    return ring


def best_paths(
    model: Callable[..., Batch], ring: Semiring, k: int
) -> tuple[Batch, NDArray[np.intp], Array]:
    """Return the model, the states (k, rows) of the best paths, and their scores (k, sequences).

    Sequences without a path of finite score, as sums of very large numbers are infinite, have those
    of ``model(within_bounds=True)``.
    """
    batch = model()
    states, scores = _best_paths_of(batch, ring, k)
    if not np.isfinite(scores).all():
        if ring not in (semirings.maxplus, semirings.minplus):
            _check_scores(scores, ring)
        elif batch.exceeds_bounds():
            _replace_lost(states, scores, model(within_bounds=True), ring)
    if batch.score_dtype != batch.dtype:
        limits = np.iinfo(batch.score_dtype)
        scores = scores.clip(limits.min, limits.max).astype(batch.score_dtype)
    return batch, states, scores


def _replace_lost(states: NDArray[np.intp], scores: Array, batch: Batch, ring: Semiring) -> None:
    """Write the paths of a bounded model where the best one has no finite score."""
    k, limits = len(scores), np.finfo(scores.dtype)
    found, numbers = _best_paths_of(batch, ring, k)
    for item in np.flatnonzero(~np.isfinite(scores[0])):
        rows = slice(batch.place[item], batch.place[item] + batch.lengths[item])
        states[:, rows] = found[:, rows]
        there = (found[:, rows] >= 0).any(axis=1)  # their scores are the nearest numbers
        numbers[there, item] = numbers[there, item].clip(limits.min, limits.max)
        scores[:, item] = numbers[:, item]


def _check_scores(scores: Array, ring: Semiring) -> None:
    known = (ring.zero(scores.dtype), ring.one(scores.dtype))
    beyond = ~np.isfinite(scores) & ~np.isin(scores, known)
    if beyond.any():
        rank, item = np.argwhere(beyond)[0]
        raise ValueError(
            f"log_emission, log_transition: expected paths whose scores {scores.dtype} "
            f"holds, got {scores[rank, item]} for sequence {item}"
        )


def _best_paths_of(batch: Batch, ring: Semiring, k: int) -> tuple[NDArray[np.intp], Array]:
    states = np.full((k, batch.row_count), -1, np.intp)
    scores = np.full((k, len(batch.lengths)), ring.zero(batch.dtype), batch.dtype)
    _core.best_paths(ring.name, batch.chains, batch.place, states, scores)
    return states, scores

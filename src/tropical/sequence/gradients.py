"""Scores and likelihoods of one model with their gradients, for engines that take gradients."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tropical import semirings
from tropical.arrays import Array
from tropical.sequence.crf import given_minus_expected, read_model
from tropical.sequence.decode import best_paths_of
from tropical.sequence.marginals import Posteriors, posteriors_of


def log_likelihood_and_gradients(
    initial: ArrayLike, transition: ArrayLike, emission: ArrayLike, lengths: ArrayLike | None = None
) -> tuple[Array, Array, Array, Array]:
    """Return `log_likelihood`, and its gradients of initial, transition and emission.

    They are the expected numbers of what a path uses, for each sequence: (..., s), (..., s, s) and
    (..., t, s). 0 for impossible sequences.
    """
    batch = read_model(initial, transition, emission, lengths)
    known = posteriors_of(batch)
    first = known.states[..., :1, :].sum(axis=-2)  # a sequence without steps has none
    return known.log_likelihood, first, known.transitions[..., 0, :, :], known.states


def viterbi_and_gradients(
    initial: ArrayLike, transition: ArrayLike, emission: ArrayLike, lengths: ArrayLike | None = None
) -> tuple[Array, Array, Array, Array, NDArray[np.intp]]:
    """Return the scores of `viterbi`, their gradients as above for the best path, and the paths."""
    batch = read_model(initial, transition, emission, lengths)
    (states,), (scores,) = best_paths_of(batch, semirings.maxplus, 1)
    paths = states.reshape(len(batch.lengths), batch.steps or 0)
    nothing = Posteriors(batch.rows(), batch.transitions(), scores)
    first, transitions, each = map(batch.each, given_minus_expected(nothing, paths, batch))
    return batch.each(scores)[()], first, transitions, each, batch.shaped(states)

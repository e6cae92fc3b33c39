"""Scores and likelihoods of one model with their gradients, for engines that take gradients."""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tropical import semirings
from tropical.arrays import Array
from tropical.sequence.chains import Batch
from tropical.sequence.crf import read_model, with_gradients
from tropical.sequence.decode import best_paths
from tropical.sequence.marginals import posteriors_of


def log_likelihood_and_gradients(
    initial: ArrayLike, transition: ArrayLike, emission: ArrayLike, lengths: ArrayLike | None = None
) -> tuple[Array, Array, Array, Array]:
    """Return `log_likelihood`, and its gradients of initial, transition and emission.

    They are the expected numbers of what a path uses, for each sequence: (..., s), (..., s, s) and
    (..., t, s). 0 for impossible sequences.
    """
    batch = read_model(initial, transition, emission, lengths)
    return with_gradients(posteriors_of(batch), batch)


def viterbi_and_gradients(
    initial: ArrayLike, transition: ArrayLike, emission: ArrayLike, lengths: ArrayLike | None = None
) -> tuple[Array, Array, Array, Array, NDArray[np.intp]]:
    """Return the scores of `viterbi`, their gradients as above for the best path, and the paths."""
    model = partial(read_model, initial, transition, emission, lengths)
    batch, (states,), (scores,) = best_paths(model, semirings.maxplus, 1)
    paths = states.reshape(len(batch.lengths), batch.steps or 0)
    first, transitions, each = map(batch.each, _used(paths, batch))
    return batch.each(scores)[()], first, transitions, each, batch.shaped(states)


def _used(paths: NDArray[np.intp], batch: Batch) -> tuple[Array, Array, Array]:
    """Return how often each path (sequences, t) uses each number; -1 stands for no state."""
    (items, steps), states = paths.shape, batch.states
    emission = np.zeros((items, steps, states), batch.dtype)
    item, step = np.nonzero(paths >= 0)
    emission[item, step, paths[item, step]] = 1
    pair = paths[:, :-1] * states + paths[:, 1:] + np.arange(items)[:, None] * (states * states)
    pairs = np.bincount(pair[paths[:, 1:] >= 0], minlength=items * states * states)
    transition = pairs.astype(batch.dtype).reshape(items, states, states)
    return emission[:, :1].sum(axis=1), transition, emission

"""Paths of a chain drawn at random, given all observations."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tropical import _core
from tropical.arrays import read_count
from tropical.foreign import answers_alike
from tropical.sequence.chains import Layout, read


@answers_alike
def sample(
    log_initial: ArrayLike,
    log_transition: ArrayLike,
    log_emission: ArrayLike,
    size: int,
    lengths: ArrayLike | None = None,
    *,
    rng: int | np.random.Generator | None = None,
    symbols: ArrayLike | None = None,
    concatenated: bool = False,
    per_step: bool = False,
) -> NDArray[np.intp]:
    """Return paths of each sequence, drawn by their probabilities given all observations.

    Parameters
    ----------
    log_initial, log_transition, log_emission, lengths, symbols, concatenated, per_step
        As for `viterbi`.
    size : int
        How many paths of each sequence; they are independent, and may be the same.
    rng : int or numpy.random.Generator, optional
        As for `numpy.random.default_rng`, which gives a key of 128 bits. Equal keys give equal
        paths on every number of threads, on one instruction set.

    Returns
    -------
    ndarray of intp, (..., size, t)
        States; -1 beyond the length of a sequence, and everywhere if no path is possible. With
        `concatenated`: (size, t).

    Raises
    ------
    ValueError, TypeError
        As for `viterbi`; if `size` is no integer or negative.

    Notes
    -----
    Forward sums, then states from the last step to the first: S. Chib, "Calculating posterior
    distributions and modal estimates in Markov mixture models", Journal of Econometrics 75(1),
    1996. Paths that are in the same state share the sums of their chances. The numbers that are
    drawn are functions of the key, the path and the row of ``log_emission`` (of all sequences, with
    padding): Threefry-2x64 of J. K. Salmon et al., "Parallel random numbers: as easy as 1, 2, 3",
    SC 2011, with 20 rounds. A number has 52 bits. Which state a number means depends on the
    instruction set, as sums are taken in the order of its lanes.

    Examples
    --------
    >>> import numpy as np
    >>> from tropical.sequence import posteriors, sample
    >>> initial, transition = np.log([0.5, 0.5]), np.log([[0.7, 0.3], [0.3, 0.7]])
    >>> emission = np.log([[0.9, 0.2], [0.9, 0.2], [0.1, 0.8]])
    >>> paths = sample(initial, transition, emission, 100_000, rng=1)
    >>> paths.shape
    (100000, 3)
    >>> paths.mean(axis=0).round(2)  # how often the second state was drawn
    array([0.14, 0.2 , 0.81])
    >>> posteriors(initial, transition, emission).states[:, 1].round(2)
    array([0.14, 0.2 , 0.81])
    """
    size = read_count("size", size)
    batch = read(
        log_initial, log_transition, log_emission, Layout(lengths, symbols, concatenated, per_step)
    )
    key = np.random.default_rng(rng).integers(2**64, size=2, dtype=np.uint64)
    states = np.empty((size, batch.row_count), np.intp)
    if batch.steps is not None:
        states[:, ~batch.within().reshape(-1)] = -1
    _core.sample_paths(batch.chains, batch.place, states, key)
    return batch.paths(states)

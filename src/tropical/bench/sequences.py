"""Contenders that decode chains: `tropical.sequence`, and two versions in NumPy."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

import tropical
from tropical.measure.contenders import require_threads
from tropical.measure.timing import Contender
from tropical.sequence import viterbi

Array = NDArray[Any]
Decoded = tuple[NDArray[np.intp], Array]


@functools.cache
def model(batch: int, steps: int, states: int, dtype: str) -> tuple[Array, Array, Array]:
    """Return logarithms of random probabilities: initial, transition, emission.

    Examples
    --------
    >>> [array.shape for array in model(3, 5, 2, "float32")]
    [(2,), (2, 2), (3, 5, 2)]
    """
    rng = np.random.default_rng(0)
    initial, transition = rng.dirichlet(np.ones(states)), rng.dirichlet(np.ones(states), states)
    emission = 1 - rng.random((batch, steps, states))
    return (
        np.log(initial, dtype=dtype),
        np.log(transition, dtype=dtype),
        np.log(emission, dtype=dtype),
    )


def _operations(batch: int, steps: int, states: int) -> int:
    return 2 * batch * steps * states**2


def ours(batch: int, steps: int, states: int, dtype: str, *, threads: int = 1) -> Contender:
    """Make a contender of `tropical.sequence.viterbi`."""
    require_threads(threads)
    return Contender(
        "tropical",
        functools.partial(viterbi, *model(batch, steps, states, dtype)),
        _operations(batch, steps, states),
        functools.partial(tropical.options, threads=threads),
    )


def numpy_viterbi(formulation: str, batch: int, steps: int, states: int, dtype: str) -> Contender:
    """Make a contender of one of `FORMULATIONS`, by name."""
    call = functools.partial(FORMULATIONS[formulation], *model(batch, steps, states, dtype))
    return Contender(f"numpy {formulation}", call, _operations(batch, steps, states))


def _with_pointers(initial: Array, transition: Array, emission: Array) -> Decoded:
    """Store the state that attains the maximum at each step."""
    batch, steps, states = emission.shape
    into = np.ascontiguousarray(transition.T)
    sums = np.empty((batch, states, states), emission.dtype)
    before = np.empty((steps, batch, states), np.intp)
    scores = initial + emission[:, 0]
    for step in range(1, steps):
        np.add(scores[:, None], into, out=sums)
        sums.argmax(axis=-1, out=before[step])
        best = np.take_along_axis(sums, before[step][..., None], axis=-1)[..., 0]
        scores = best + emission[:, step]
    paths, each = np.empty((steps, batch), np.intp), np.arange(batch)
    paths[-1] = scores.argmax(axis=-1)
    for step in range(steps - 1, 0, -1):
        paths[step - 1] = before[step, each, paths[step]]
    return paths.T, scores.max(axis=-1)


def _with_scores(initial: Array, transition: Array, emission: Array) -> Decoded:
    """Store all scores, and find the states on the way back, as `viterbi` does."""
    batch, steps, states = emission.shape
    sums = np.empty((batch, states, states), emission.dtype)
    scores = np.empty((steps, batch, states), emission.dtype)
    scores[0] = initial + emission[:, 0]
    for step in range(1, steps):
        np.add(scores[step - 1, :, :, None], transition, out=sums)
        sums.max(axis=1, out=scores[step])
        scores[step] += emission[:, step]
    into = np.ascontiguousarray(transition.T)
    paths = np.empty((steps, batch), np.intp)
    paths[-1] = scores[-1].argmax(axis=-1)
    for step in range(steps - 1, 0, -1):
        paths[step - 1] = (scores[step - 1] + into[paths[step]]).argmax(axis=-1)
    return paths.T, scores[-1].max(axis=-1)


FORMULATIONS: dict[str, Callable[[Array, Array, Array], Decoded]] = {
    "with pointers": _with_pointers,
    "with scores": _with_scores,
}

"""Contenders that decode chains: `tropical.sequence`, hmmlearn, and two versions in NumPy."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tropical.measure.contenders import our_call, require
from tropical.measure.timing import Contender
from tropical.sequence import forward, k_best, log_likelihood, posteriors, sample, viterbi

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
    call = functools.partial(viterbi, *model(batch, steps, states, dtype))
    return our_call(call, _operations(batch, steps, states), threads=threads)


@dataclass(frozen=True)
class Observed:
    """A hidden Markov model and symbols that were observed, all of one seed.

    Attributes
    ----------
    initial, transition, table : ndarray
        Probabilities: (s,), (s, s) and (s, 10).
    symbols : (t,) intp array
        Sequences that follow each other.
    lengths : ndarray of intp
    """

    initial: Array
    transition: Array
    table: Array
    symbols: NDArray[np.intp]
    lengths: NDArray[np.intp]

    @classmethod
    def draw(cls, states: int, lengths: NDArray[np.intp]) -> Observed:
        """Draw a model of so many states, and symbols."""
        rng = np.random.default_rng(1)
        return cls(
            rng.dirichlet(np.ones(states)),
            rng.dirichlet(np.ones(states), states),
            rng.dirichlet(np.ones(10), states),
            rng.integers(0, 10, lengths.sum()),
            lengths,
        )

    def work(self) -> float:
        """Operations of one pass."""
        return 2.0 * len(self.symbols) * len(self.initial) ** 2


def one_sequence(states: int, steps: int = 20_000) -> Observed:
    """Return one sequence of so many steps.

    Examples
    --------
    >>> one_sequence(2).lengths
    array([20000])
    """
    return Observed.draw(states, np.array([steps]))


def ragged_batch(states: int) -> Observed:
    """Return 1,000 sequences of at most 500 steps."""
    return Observed.draw(states, np.random.default_rng(2).integers(100, 501, 1000))


# By the name of hmmlearn's method: our function of the same results.
FUNCTIONS: dict[str, Callable[..., Any]] = {
    "decode": viterbi,
    "score": log_likelihood,
    "predict_proba": posteriors,
}


def ours_of(method: str, observed: Observed, *, threads: int = 1) -> Contender:
    """Make a contender of our function for what a method of hmmlearn computes."""
    call = functools.partial(
        FUNCTIONS[method],
        np.log(observed.initial),
        np.log(observed.transition),
        np.log(observed.table),
        observed.lengths,
        symbols=observed.symbols,
        concatenated=True,
    )
    return our_call(call, observed.work(), threads=threads)


def hmmlearn(method: str, observed: Observed) -> Contender:
    """Make a contender of a method of hmmlearn's `CategoricalHMM`, which runs on one thread."""
    hmm = require("hmmlearn.hmm", "'tropical-blas[engines]'")
    model = hmm.CategoricalHMM(len(observed.initial), init_params="", n_features=10)
    model.startprob_, model.transmat_ = observed.initial, observed.transition
    model.emissionprob_ = observed.table
    call = functools.partial(getattr(model, method), observed.symbols[:, None], observed.lengths)
    return Contender("hmmlearn", call, observed.work())


def five_best(states: int) -> tuple[Contender, Contender]:
    """Make contenders of the five best paths, and of the best one."""
    observed = one_sequence(states)
    parts = np.log(observed.initial), np.log(observed.transition), np.log(observed.table)
    work = observed.work()
    many = functools.partial(k_best, *parts, 5, symbols=observed.symbols)
    one = functools.partial(viterbi, *parts, symbols=observed.symbols)
    return our_call(many, work, "five best"), our_call(one, work, "best")


def hundred_samples(states: int) -> tuple[Contender, Contender]:
    """Make contenders of 100 samples of 1,000 steps, and of the forward pass."""
    parts = model(1, 1000, states, "float64")
    work = _operations(1, 1000, states)
    many = functools.partial(sample, *parts, 100, rng=0)
    sums = functools.partial(forward, *parts)
    return our_call(many, work, "100 samples"), our_call(sums, work, "forward")


def three_moves(method: str, states: int, *, dense: bool = True) -> list[Contender]:
    """Make contenders of sparse transitions, three from each state, and of the same as a matrix."""
    sparse = require("scipy.sparse", "'tropical-blas[graph]'")
    rng = np.random.default_rng(3)
    there = rng.permuted(np.tile(np.arange(states), (3, 1)), axis=1)
    there[0] = np.arange(states)
    places = np.unique(np.stack([np.tile(np.arange(states), 3), there.ravel()]), axis=1)
    edges = sparse.coo_array((rng.random(places.shape[1]), tuple(places)), (states, states)).tocsc()
    emission = rng.random((20, states))

    def contender(name: str, transition: Any) -> Contender:
        call = functools.partial(FUNCTIONS[method], np.zeros(states), transition, emission)
        return our_call(call, _operations(1, 20, states), name)

    made = [contender("tropical", edges)]
    if dense:
        matrix = np.full((states, states), -np.inf)
        matrix[tuple(places)] = edges.tocsr()[tuple(places)]
        made.append(contender("dense", matrix))
    return made


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

"""Chains: decoding and posteriors, and logplus where its sums underflow."""

from __future__ import annotations

import functools

from tropical import sequence
from tropical.bench import sequences
from tropical.measure import contenders
from tropical.measure.timing import Contender

from .common import Call, alone

SIZE = (64, 200, 128)  # sequences, steps, states


class Viterbi(Call):
    params = (["float32", "float64"], [1, 2])
    param_names = ("dtype", "threads")
    time_viterbi = Call.run

    def setup(self, dtype: str, threads: int) -> None:
        self.prepare(functools.partial(sequences.ours, *SIZE), dtype, threads=threads)


class Chains(Call):
    """One sequence of 20,000 steps."""

    params = (list(sequences.FUNCTIONS), [2, 8, 64])
    param_names = ("method", "states")

    def setup(self, method: str, states: int) -> None:
        self.prepare(sequences.ours_of, method, sequences.one_sequence(states))

    def time_chain(self, *_: object) -> None:
        self.call()


class Short(Call):
    """One sequence of 10 steps and 8 states: the checks of its arguments take most of the time."""

    params = (list(sequences.FUNCTIONS),)
    param_names = ("method",)
    time_chain = Call.run

    def setup(self, method: str) -> None:
        self.prepare(sequences.ours_of, method, sequences.one_sequence(8, 10))


class Batches(Call):
    """1,000 sequences of 100 to 500 steps."""

    params = (list(sequences.FUNCTIONS), [4, 32], [1, 2])
    param_names = ("method", "states", "threads")
    time_batch = Call.run

    def setup(self, method: str, states: int, threads: int) -> None:
        self.prepare(sequences.ours_of, method, sequences.ragged_batch(states), threads=threads)


class KBest(Call):
    params = ([8, 64],)
    param_names = ("states",)
    time_five_best = Call.run

    def setup(self, states: int) -> None:
        self.prepare(lambda: sequences.five_best(states)[0])


class Samples(Call):
    params = ([8, 32, 64, 128],)
    param_names = ("states",)
    time_hundred_samples = Call.run

    def setup(self, states: int) -> None:
        self.prepare(lambda: sequences.hundred_samples(states)[0])


class Sparse(Call):
    """10,000 states, three transitions from each."""

    params = (list(sequences.FUNCTIONS),)
    param_names = ("method",)
    time_sparse = Call.run

    def setup(self, method: str) -> None:
        self.prepare(lambda: sequences.three_moves(method, 10_000, dense=False)[0])


def marginals(dtype: str) -> Contender:
    call = functools.partial(sequence.posteriors, *sequences.model(*SIZE, dtype))
    return alone("posteriors", call)


class Posteriors(Call):
    params = (["float32", "float64"],)
    param_names = ("dtype",)
    time_posteriors = Call.run

    def setup(self, dtype: str) -> None:
        self.prepare(marginals, dtype)


def random_field(dtype: str) -> Contender:
    initial, transition, emission = sequences.model(64, 100, 32, dtype)
    states = emission.argmax(axis=-1)
    call = functools.partial(sequence.crf_log_likelihood, initial, transition, emission, states)
    return alone("random field", call)


class RandomField(Call):
    """Likelihood and gradients of 64 sequences of 100 steps over 32 states."""

    params = (["float32", "float64"],)
    param_names = ("dtype",)
    time_likelihood = Call.run

    def setup(self, dtype: str) -> None:
        self.prepare(random_field, dtype)


def spread(dtype: str) -> Contender:
    """Make a contender of a product nearly every sum of which is taken again, term by term."""
    a, b = contenders.operands(256, 256, 256, dtype)
    return contenders.ours(a * 5000, b * 5000, "logplus")


class LogplusOfWideRange(Call):
    params = (["float32", "float64"],)
    param_names = ("dtype",)
    time_gemm = Call.run

    def setup(self, dtype: str) -> None:
        self.prepare(spread, dtype)

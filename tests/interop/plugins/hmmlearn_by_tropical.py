"""A plugin of pytest: hmmlearn's recursions in C++ are ours."""

from types import SimpleNamespace

import numpy as np
from hmmlearn import base

from tropical.sequence import backward, forward, posteriors, viterbi


def log(x):
    with np.errstate(divide="ignore"):
        return np.log(x)


LAST = []  # the emissions of the last pass forward, and its initial probabilities


def remember(emission, initial):
    LAST[:] = emission, initial


def initial_of(emission):
    assert LAST[0] is emission
    return log(LAST[1])


def forward_log(initial, transition, log_emission):
    remember(log_emission, initial)
    log_alpha, likelihood = forward(log(initial), log(transition), log_emission)
    return likelihood, log_alpha


def backward_log(initial, transition, log_emission):
    return backward(log(transition), log_emission)


def log_sums(log_alpha):
    most = log_alpha.max(axis=1)
    return most + np.log(np.exp(log_alpha - most[:, None]).sum(axis=1))


def forward_scaling(initial, transition, emission):
    likelihood, log_alpha = forward_log(initial, transition, log(emission))
    remember(emission, initial)
    sums = log_sums(log_alpha)
    scaling = np.exp(-np.diff(sums, prepend=0))
    if not np.isfinite(scaling).all():  # as hmmlearn does, which cannot scale zeros
        raise ValueError("forward pass failed with underflow; consider using implementation='log'")
    return likelihood, np.exp(log_alpha - sums[:, None]), scaling


def backward_scaling(initial, transition, emission, scaling):
    log_beta = backward(log(transition), log(emission))
    return np.exp(log_beta + np.cumsum(np.log(scaling[::-1]))[::-1, None])


def best_path(initial, transition, log_emission):
    path, score = viterbi(log(initial), log(transition), log_emission)
    return score, path


def compute_log_xi_sum(log_alpha, transition, log_beta, log_emission):
    known = posteriors(initial_of(log_emission), log(transition), log_emission)
    return log(known.transitions)


def compute_scaling_xi_sum(alpha, transition, beta, emission):
    return posteriors(initial_of(emission), log(transition), log(emission)).transitions


base._hmmc = SimpleNamespace(
    viterbi=best_path,
    forward_log=forward_log,
    backward_log=backward_log,
    forward_scaling=forward_scaling,
    backward_scaling=backward_scaling,
    compute_log_xi_sum=compute_log_xi_sum,
    compute_scaling_xi_sum=compute_scaling_xi_sum,
)

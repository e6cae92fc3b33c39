"""Hidden Markov models and other chains: decoding, likelihoods and posteriors, in batches."""

from .decode import k_best, viterbi
from .marginals import Posteriors, backward, forward, log_likelihood, posteriors

__all__ = ["Posteriors", "backward", "forward", "k_best", "log_likelihood", "posteriors", "viterbi"]

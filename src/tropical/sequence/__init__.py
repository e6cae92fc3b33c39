"""Hidden Markov models and other chains: decoding, likelihoods and posteriors, in batches."""

from .decode import viterbi
from .marginals import Posteriors, backward, forward, posteriors

__all__ = ["Posteriors", "backward", "forward", "posteriors", "viterbi"]

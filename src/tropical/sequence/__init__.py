"""Hidden Markov models and other chains: decoding, likelihoods and posteriors, in batches."""

from .crf import CRFLikelihood, crf_log_likelihood
from .decode import k_best, viterbi
from .marginals import Posteriors, backward, forward, log_likelihood, posteriors
from .sampling import sample
from .stream import Decoder

__all__ = [
    "CRFLikelihood",
    "Decoder",
    "Posteriors",
    "backward",
    "crf_log_likelihood",
    "forward",
    "k_best",
    "log_likelihood",
    "posteriors",
    "sample",
    "viterbi",
]

"""A layer behind a network that scores the states of each step: the scores of their transitions."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from tropical import sequence
from tropical.autograd import Tensor, crf_log_likelihood
from tropical.autograd.tensor import data_of

from .checks import Rng, check_sizes
from .init import uniform
from .module import Module, Parameter


class CRF(Module):
    """A linear-chain conditional random field: scores of first states, and of transitions.

    Parameters
    ----------
    states : int
        The number of states (tags, labels).
    dtype : dtype, default float32
        The dtype of the parameters.
    rng : numpy.random.Generator, optional
        The generator of the initial scores: uniform between -0.1 and 0.1.

    Notes
    -----
    J. Lafferty, A. McCallum, F. Pereira, "Conditional random fields", ICML 2001.

    Examples
    --------
    >>> import numpy as np
    >>> from tropical import nn
    >>> field = nn.CRF(3)
    >>> emission, tags = np.zeros((2, 4, 3), np.float32), [[0, 1, 2, 0], [1, 1, 0, 0]]
    >>> loss = -field(emission, tags, lengths=[4, 2]).mean()
    >>> loss.backward()
    >>> field.transition.grad.shape
    (3, 3)
    >>> paths, scores = field.decode(emission, lengths=[4, 2])
    >>> paths.shape, paths[1, 2:]
    ((2, 4), array([-1, -1]))
    """

    def __init__(self, states: int, *, dtype: DTypeLike = np.float32, rng: Rng = None) -> None:
        super().__init__()
        check_sizes(states=states)
        self.initial: Parameter = Parameter(uniform((states,), 0.1, dtype=dtype, rng=rng))
        self.transition: Parameter = Parameter(uniform((states, states), 0.1, dtype=dtype, rng=rng))

    def forward(self, emission: Any, states: ArrayLike, lengths: ArrayLike | None = None) -> Tensor:
        """Return the log-likelihood of the states, as `tropical.autograd.crf_log_likelihood`."""
        return crf_log_likelihood(self.initial, self.transition, emission, states, lengths)

    def decode(
        self, emission: Any, lengths: ArrayLike | None = None
    ) -> tuple[NDArray[np.intp], NDArray[Any]]:
        """Return the most likely states and their scores, as `tropical.sequence.viterbi`."""
        return sequence.viterbi(self.initial.data, self.transition.data, data_of(emission), lengths)

    def extra_repr(self) -> str:
        """Return the number of states."""
        return str(len(self.initial))

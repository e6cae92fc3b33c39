"""Decoding of a stream: states are returned while observations still come."""

from __future__ import annotations

import copy
from collections import deque

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tropical import semirings
from tropical.arrays import Array, promote, read_count, unmasked
from tropical.sequence.chains import Layout, read


def _floats(x: Array) -> Array:
    """Return a copy of numbers in float64, in which the zero of integers is that of float64.

    They are divided by a power of two, so that sums of very large numbers stay finite; which path
    is best stays the same.
    """
    return promote(x, np.float64, semirings.maxplus) * 2.0**-10


class Decoder:
    """The Viterbi algorithm on a stream, in constant memory.

    A state is returned as soon as the best paths to all states agree on it: then it is that of
    `viterbi` on the whole stream. It is returned at the latest `lag` steps after its own; then it
    is that of the best path up to now.

    Parameters
    ----------
    log_initial : array_like, (s,)
    log_transition : array_like, (s, s)
        As for `viterbi`; integers are computed in float64.
    lag : int, default 100
        The most steps that a state waits for; 0 returns each state at once. The memory is lag times
        s numbers.

    Raises
    ------
    ValueError, TypeError
        As for `viterbi`; if lag is negative or no integer.

    Notes
    -----
    G. D. Forney, "The Viterbi algorithm", Proceedings of the IEEE 61(3), 1973, section III.B:
    truncated survivors.

    Examples
    --------
    >>> import numpy as np
    >>> from tropical.sequence import Decoder
    >>> initial, transition = np.log([0.5, 0.5]), np.log([[0.7, 0.3], [0.3, 0.7]])
    >>> emission = np.log([[0.1, 0.9], [0.8, 0.2]]).T[[1, 1, 0, 1, 1]]
    >>> decoder = Decoder(initial, transition)
    >>> for step in emission:
    ...     print(decoder.push(step))
    []
    [0]
    [0]
    [1]
    []
    >>> decoder.finish()
    array([0, 0])
    """

    def __init__(
        self, log_initial: ArrayLike, log_transition: ArrayLike, *, lag: int = 100
    ) -> None:
        self.lag: int = read_count("lag", lag)
        transition = unmasked("log_transition", log_transition)
        states = transition.shape[-1] if transition.ndim else 0
        read(log_initial, log_transition, np.zeros((1, max(states, 1))), Layout())
        if transition.ndim != 2:
            raise ValueError(f"log_transition: expected (s, s), got {transition.shape}")
        if np.ndim(log_initial) != 1:
            raise ValueError(f"log_initial: expected (s,), got {np.shape(log_initial)}")
        self._transition = _floats(transition)
        self._initial = _floats(unmasked("log_initial", log_initial))
        self.reset()

    def __copy__(self) -> Decoder:
        """Return a decoder that goes on by itself: both would change one queue of steps."""
        return copy.deepcopy(self)

    def reset(self) -> None:
        """Forget all steps."""
        self._scores: Array | None = None
        self._before: deque[NDArray[np.intp]] = (
            deque()
        )  # of each step that waits: where it came from
        self._first = np.arange(len(self._initial))  # of each state: its path's state at the oldest
        self._waiting = 0

    def push(self, log_emission: ArrayLike) -> NDArray[np.intp]:
        """Take one step or several, and return the states that are known now.

        Parameters
        ----------
        log_emission : array_like, (s,) or (steps, s)

        Returns
        -------
        ndarray of intp
            The states of the oldest steps that were not returned yet; -1 if no path is possible.

        Raises
        ------
        ValueError, TypeError
            As for `viterbi`. Then no step was taken.
        """
        given = np.atleast_2d(unmasked("log_emission", log_emission))
        states = len(self._initial)
        if given.ndim != 2 or given.shape[1] != states:
            raise ValueError(
                f"log_emission: expected ({states},) or (steps, {states}), "
                f"got {np.shape(log_emission)}"
            )
        read(self._initial, self._transition, given, Layout())
        known: list[int] = []
        for emitted in _floats(given):
            self._step(emitted)
            while self._waiting and (self._agree() or self._waiting > self.lag):
                known.append(self._return_oldest())
        return np.array(known, np.intp)

    def finish(self) -> NDArray[np.intp]:
        """Return the states of the steps that still wait, on the best path; forget all steps."""
        path: list[int] = []
        if self._scores is not None and self._waiting:
            state = int(self._scores.argmax())
            path = [state]
            for before in reversed(list(self._before)[1:]):
                path.append(int(before[path[-1]]))
            if self._scores[state] == -np.inf:
                path = [-1] * len(path)
        self.reset()
        return np.array(path[::-1], np.intp)

    def _step(self, emitted: Array) -> None:
        if self._scores is None:
            self._scores = self._initial + emitted
            before = np.arange(len(emitted))
        else:
            sums = self._scores[:, None] + self._transition
            before = sums.argmax(axis=0)
            self._scores = sums[before, np.arange(len(emitted))] + emitted
        most = self._scores.max()
        if most > -np.inf:
            self._scores -= most
        self._before.append(before)
        self._first = self._first[before] if self._waiting else np.arange(len(emitted))
        self._waiting += 1

    def _agree(self) -> bool:
        """Return whether all possible states have come from one."""
        assert self._scores is not None
        possible = self._first[self._scores > -np.inf]
        return len(possible) > 0 and bool((possible == possible[0]).all())

    def _return_oldest(self) -> int:
        """Return the state of the oldest step on the best path, and forget the step."""
        assert self._scores is not None
        best = int(self._scores.argmax())
        state = int(self._first[best]) if self._scores[best] > -np.inf else -1
        self._before.popleft()
        self._waiting -= 1
        first = np.arange(len(self._first))
        for before in list(self._before)[1:]:
            first = first[before]
        self._first = first
        return state

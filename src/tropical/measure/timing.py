"""Interleaved timing: in every round each contender runs once; ratios are taken round by round.

The speed of a shared machine changes by a factor of two within a minute, so a time alone says
little. The ratio of two times of the same round says more. A guard (a register-only ceiling) runs
at both ends of a round; if its two times differ, the machine's speed changed, and the round is
discarded.
"""

from __future__ import annotations

import math
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from itertools import repeat

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Contender:
    """A named call to time.

    Attributes
    ----------
    name : str
        Unique among those timed together.
    call : callable
        Called without arguments, again and again.
    work : float
        The work of one call, in a unit that all contenders share: scalar operations (two for each
        product of elements), or bytes.
    context : callable
        Returns the context manager in which a sample runs: threads, instruction set. It is not
        timed.
    settle : float
        Seconds to sleep after a sample. The threads of some libraries spin for a while and would
        slow the next contender.
    """

    name: str
    call: Callable[[], object]
    work: float
    context: Callable[[], AbstractContextManager[object]] = nullcontext
    settle: float = 0.0


@dataclass(frozen=True)
class Budget:
    """How long to measure: until `rounds` are kept, or `seconds` are over and `least_rounds` kept.

    `sample` is the least time in seconds that one contender runs in one round: about a time slice
    of the system, so that no other process disturbs many of the samples. `warm_up` is the number of
    untimed calls before a sample, as a share of the timed calls; at least one call, but none before
    a sample of a single call.
    """

    sample: float = 4e-3
    seconds: float = 2.5
    rounds: int = 25
    least_rounds: int = 3
    warm_up: float = 0.125


QUICK = Budget(sample=5e-4, seconds=0.0, rounds=1, least_rounds=1)
"""One short round: it shows that everything runs; the figures mean nothing."""


@dataclass(frozen=True)
class Summary:
    """Median and quartiles of a ratio over the rounds."""

    median: float
    low: float
    high: float


@dataclass(frozen=True)
class Timings:
    """The result of `interleave`.

    Attributes
    ----------
    contenders : dict of str to Contender
        By name, the guard included.
    seconds : dict of str to list of float
        Seconds per call of each contender, one entry for each kept round.
    discarded : int
        Rounds in which the guard moved.
    """

    contenders: dict[str, Contender]
    seconds: dict[str, list[float]]
    discarded: int

    @property
    def rounds(self) -> int:
        """Kept rounds."""
        return min(map(len, self.seconds.values()))

    def rate(self, name: str) -> float:
        """Work per second of the contender `name`, from its median time."""
        return self.contenders[name].work / float(np.median(self.seconds[name]))

    def ratios(self, name: str, reference: str) -> NDArray[np.float64]:
        """Rate of `name` over that of `reference` in each round: above 1 where `name` is faster."""
        work = self.contenders[name].work / self.contenders[reference].work
        return work * np.divide(self.seconds[reference], self.seconds[name])

    def ratio(self, name: str, reference: str) -> Summary:
        """Summarize `ratios`."""
        low, median, high = np.percentile(self.ratios(name, reference), [25, 50, 75])
        return Summary(float(median), float(low), float(high))


@contextmanager
def pinned() -> Iterator[None]:
    """Keep the calling thread on one core, if the system can do that.

    The core is the last one that the process may use, because the first one often serves
    interrupts. New threads inherit the core, so use this for measurements on one thread only.
    """
    if sys.platform != "linux":
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(before)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def _sample(contender: Contender, calls: int, warm_up: float) -> float:
    """Seconds per call of `calls` calls, after some untimed ones: see `Budget`."""
    call = contender.call
    with contender.context():
        for _ in repeat(None, int(calls * warm_up) + (calls > 1 and warm_up > 0)):
            call()
        start = time.perf_counter_ns()
        for _ in repeat(None, calls):
            call()
        elapsed = time.perf_counter_ns() - start
    if contender.settle:
        time.sleep(contender.settle)
    return elapsed * 1e-9 / calls


def _calibrate(contender: Contender, sample: float, warm_up: float) -> tuple[int, float]:
    """Warm up; return how many calls take at least `sample` seconds, and how long they take.

    After a first call of more than ten times `sample` no other warm-up follows.
    """
    if (first := _sample(contender, 1, warm_up)) > 10 * sample:
        return 1, first
    calls = 1
    while (per_call := _sample(contender, calls, warm_up)) * calls < sample / 2:
        calls *= 2
    calls = max(1, math.ceil(sample / per_call))
    return calls, calls * per_call


def interleave(
    contenders: Sequence[Contender],
    *,
    guard: Contender | None = None,
    drift: float = 0.10,
    budget: Budget | None = None,
) -> Timings:
    """Time `contenders` against each other in rounds.

    Parameters
    ----------
    contenders : sequence of Contender
        Run once each in every round, in alternating order.
    guard : Contender, optional
        Run at the start and at the end of each round; its time is the mean of the two.
    drift : float
        A round whose guard's two times differ by more than this share is discarded.
    budget : Budget, optional
        How long to measure; `Budget()` if not given.

    Returns
    -------
    Timings
        Without a kept round if the guard's times differed in every round.

    Raises
    ------
    ValueError
        If two names are equal.

    Examples
    --------
    >>> slow = Contender("slow", lambda: sum(range(4000)), work=4000)
    >>> fast = Contender("fast", lambda: sum(range(40)), work=4000)
    >>> timings = interleave([slow, fast], budget=Budget(seconds=0.1))
    >>> timings.ratio("fast", "slow").median > 1
    True
    """
    budget = budget or Budget()
    everyone = {c.name: c for c in ([*contenders, guard] if guard else contenders)}
    if len(everyone) < len(contenders) + (guard is not None):
        raise ValueError(f"names of contenders must differ, got {[c.name for c in contenders]}")
    warm_up = budget.warm_up
    pace = {c.name: _calibrate(c, budget.sample, warm_up) for c in contenders}
    if guard:
        # As long as the slowest contender, so that other processes take the same share of both.
        slowest = max(sample for _, sample in pace.values())
        pace[guard.name] = _calibrate(guard, max(budget.sample, slowest), warm_up)
    calls = {name: calls for name, (calls, _) in pace.items()}
    seconds: dict[str, list[float]] = {name: [] for name in everyone}
    kept = discarded = 0
    deadline = time.perf_counter() + budget.seconds
    while kept < budget.rounds:
        tried = kept + discarded
        enough = kept >= budget.least_rounds or tried >= 3 * budget.least_rounds
        if enough and time.perf_counter() > deadline:
            break
        start = _sample(guard, calls[guard.name], warm_up) if guard else 0.0
        order = contenders if tried % 2 == 0 else contenders[::-1]
        times = {c.name: _sample(c, calls[c.name], warm_up) for c in order}
        if guard:
            end = _sample(guard, calls[guard.name], warm_up)
            if abs(end - start) > drift * start:
                discarded += 1
                continue
            times[guard.name] = (start + end) / 2
        for name, value in times.items():
            seconds[name].append(value)
        kept += 1
    return Timings(everyone, seconds, discarded)

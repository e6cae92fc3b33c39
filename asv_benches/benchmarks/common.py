"""What the suites share: one call in its context, and its time over a reference's."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import TypeVar

import tropical
from tropical.measure import contenders
from tropical.measure.timing import Budget, Contender, interleave

# Of each ratio that is tracked. CI runs each benchmark once, with a tenth of a second.
SECONDS = float(os.environ.get("TROPICAL_BENCH_SECONDS", "1"))
MEASURED = SECONDS >= 1
BUDGET = Budget(seconds=SECONDS, least_rounds=3 if MEASURED else 1)

Size = TypeVar("Size")


def sizes(measured: list[Size], quick: list[Size]) -> list[Size]:
    """Return the parameters of measurements, or some that take little time where CI runs them."""
    return measured if MEASURED else quick


@contextmanager
def skipped_if_absent() -> Iterator[None]:
    """Turn an AbsentError into a NotImplementedError, which asv takes for a skip."""
    try:
        yield
    except contenders.AbsentError as absent:
        raise NotImplementedError(absent) from absent


class Call:
    """A suite whose `setup` prepares a contender's call, and whose `time_` methods make it."""

    call: Callable[[], object]

    def __init__(self) -> None:
        self.stack = ExitStack()

    def prepare(self, make: Callable[..., Contender], *args: object, **options: object) -> None:
        """Make a contender, enter its context (threads, kernel) and warm it up."""
        with skipped_if_absent():
            contender = make(*args, **options)
        self.stack.enter_context(contender.context())
        self.call = contender.call
        self.call()

    def run(self, *_: object) -> None:
        """Make the call: what most benchmarks of time do."""
        self.call()

    def teardown(self, *_: object) -> None:
        self.stack.close()


def alone(name: str, call: Callable[[], object], work: float = 1.0) -> Contender:
    """Make a contender of a call on one thread.

    As `contenders.our_call`, which earlier commits lack; asv measures them with these suites.
    """
    return Contender(name, call, work, partial(tropical.options, threads=1))


def times_ceiling(contender: Contender, ceiling: Contender) -> float:
    """Return the time of `contender` over what its work takes at the ceiling; NaN if too noisy."""
    timings = interleave([contender], guard=ceiling, budget=BUDGET)
    if timings.rounds == 0:
        return float("nan")
    return 1 / timings.ratio(contender.name, ceiling.name).median


def times_copying(contender: Contender, nbytes: int) -> float:
    """Return the time of `contender`, whose work is in bytes, over that of copying `nbytes`."""
    copying = contenders.copying(nbytes)
    timings = interleave([contender, copying], budget=BUDGET)
    return 1 / timings.ratio(contender.name, copying.name).median

"""A promise: a ratio of the rates of two contenders, or an upper limit of a number."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypeAlias

from tropical.measure.contenders import AbsentError
from tropical.measure.timing import Budget, Contender, interleave

Pair: TypeAlias = tuple[Contender, Contender]


@dataclass(frozen=True)
class Bar:
    """One row of the table.

    Attributes
    ----------
    group, case : str
        The comparison, and the operands.
    value : float or None
        The promised ratio; None if a ratio is shown and nothing is promised.
    work : float
        Scalar operations of one call of ours. `--quick` skips the largest.
    make : callable
        Returns ours and its reference; raises `contenders.AbsentError` if one cannot run here.
    at_most : bool
        The promise is on our time over the time of the reference, and is an upper limit.
    guarded : bool
        The reference is a ceiling, and it is also the guard of each round.
    mean : float or None
        A bar on the geometric mean of the whole group.
    """

    group: str
    case: str
    value: float | None
    work: float
    make: Callable[[], Pair]
    at_most: bool = False
    guarded: bool = False
    mean: float | None = None

    @property
    def name(self) -> str:
        """The text that `--rows` searches."""
        return f"{self.group}: {self.case}"


@dataclass(frozen=True)
class Figure:
    """One row of the table that is counted rather than timed.

    Attributes
    ----------
    group, case : str
        The number that is counted.
    value : float or None
        The upper limit; None if a number is shown and nothing is promised.
    count : callable
        Returns the number.
    """

    group: str
    case: str
    value: float | None
    count: Callable[[], float]

    @property
    def name(self) -> str:
        """The text that `--rows` searches."""
        return f"{self.group}: {self.case}"


def fastest(candidates: Iterable[Callable[[], Contender]]) -> Contender:
    """Return the fastest contender that can take part, by a short run."""

    def invite(make: Callable[[], Contender]) -> Contender | AbsentError:
        try:
            return make()
        except AbsentError as reason:
            return reason

    invited = [invite(make) for make in candidates]
    taking_part = [guest for guest in invited if isinstance(guest, Contender)]
    if not taking_part:
        raise AbsentError("; ".join(map(str, invited)))
    timings = interleave(taking_part, budget=Budget(sample=1e-3, seconds=0.1, rounds=5))
    return max(taking_part, key=lambda contender: timings.rate(contender.name))

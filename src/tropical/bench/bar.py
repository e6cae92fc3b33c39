"""What a promise is: two contenders and a ratio of their rates, or a number that is counted."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypeAlias

from tropical.bench.contenders import AbsentError
from tropical.bench.timing import Budget, Contender, interleave

__all__ = ["Bar", "Figure", "Pair", "fastest"]

Pair: TypeAlias = tuple[Contender, Contender]


@dataclass(frozen=True)
class Bar:
    """One row of the table.

    Attributes
    ----------
    group, case : str
        What is compared, and on what.
    value : float or None
        The bar itself; None where a number is shown but nothing promised.
    work : float
        Scalar operations of one call of ours: `--quick` leaves out the largest.
    make : callable
        Returns ours and its reference; raises `contenders.AbsentError` if one cannot run here.
    at_most : bool
        The bar is on ours' time over the reference's, which must not exceed it.
    guarded : bool
        The reference is a ceiling, and also the guard of each round.
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
        """What `--rows` is matched with."""
        return f"{self.group}: {self.case}"


@dataclass(frozen=True)
class Figure:
    """One row of the table that is counted rather than timed.

    Attributes
    ----------
    group, case : str
        What is counted.
    value : float or None
        What it may be at most; None where a number is shown but nothing promised.
    count : callable
        Returns the number.
    """

    group: str
    case: str
    value: float | None
    count: Callable[[], float]

    @property
    def name(self) -> str:
        """What `--rows` is matched with."""
        return f"{self.group}: {self.case}"


def fastest(candidates: Iterable[Callable[[], Contender]]) -> Contender:
    """Return the fastest of those who can take part, by a short run."""

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

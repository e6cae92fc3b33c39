"""The share of a product: the time of its nearest limit over its own; and shares that fall off.

What limits a product is the register-only ceiling, the memory, or a call without work. A cliff is a
product whose share is far below the median share of its nearest neighbors.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from tropical.bench import obvious
from tropical.bench.points import Point
from tropical.bench.record import Record, Times
from tropical.measure import contenders
from tropical.measure.contenders import AbsentError, NotInstalledError
from tropical.measure.timing import Budget, Contender, interleave

GROUP = "cliffs"
NEIGHBORS = 10
CALM = 1.25  # how much longer than its least a limit may take in a round
CLIFF, FAR = 3.0, 10.0  # times as slow as the neighbors, and as the limit: worth a look
OURS, ONE_THREAD = "tropical", "one thread"
RIVALS = {"numpy": obvious.with_numpy, "numba": obvious.with_numba}
Found: TypeAlias = dict[Point, Record]

_ceiling = functools.cache(contenders.ceiling)
_copying = functools.cache(contenders.copying)


def limits(point: Point, threads: int = 1) -> dict[str, tuple[Contender, float]]:
    """Return what limits `point`, by name, and how many times of one call it needs at least.

    "memory" is a copy in the same cache: a power of two of bytes, half of which are read.
    """
    ceiling = replace(_ceiling(point.semiring, point.dtype), name="ceiling")
    size = max(1 << 15, 1 << (point.nbytes - 1).bit_length())
    one = Point(1, 1, 1, dtype=point.dtype, semiring=point.semiring, argmax=point.argmax)
    return {
        "ceiling": (ceiling, 2 * point.products / ceiling.work / threads),
        "memory": (replace(_copying(size // 2), name="memory"), point.nbytes / size),
        "call": (one.contender(name="call"), 1.0),
    }


def _invite(name: str, point: Point) -> Contender | AbsentError:
    try:
        return RIVALS[name](point)
    except NotInstalledError:
        raise
    except AbsentError as reason:
        return reason


def measure(
    point: Point, budget: Budget, *, threads: int = 1, rivals: Sequence[str] = ()
) -> Record:
    """Return the times of `point` and of its nearest limit, which is the record's reference."""
    invited = [point.contender(threads, OURS)]
    if threads > 1:
        invited.append(point.contender(1, ONE_THREAD))
    answers = {name: _invite(name, point) for name in rivals}
    invited += [answer for answer in answers.values() if isinstance(answer, Contender)]
    absent = {name: str(why) for name, why in answers.items() if isinstance(why, AbsentError)}
    needs = limits(point, threads)
    timings = interleave([*invited, *(limit for limit, _ in needs.values())], budget=budget)
    kept = calm({name: timings.seconds[name] for name in needs})
    seconds = {name: [times[i] for i in kept] for name, times in timings.seconds.items()}
    bounds = {name: [need * each for each in seconds[name]] for name, (_, need) in needs.items()}
    nearest = max(bounds, key=lambda name: float(np.median(bounds[name])))
    times = {each.name: Times(each.work, seconds[each.name]) for each in invited}
    times[nearest] = Times(2 * point.products, bounds[nearest])
    discarded = timings.rounds - len(kept)
    return Record(GROUP, repr(point), times, nearest, discarded, absent=absent)


def calm(seconds: dict[str, list[float]]) -> list[int]:
    """Return the rounds in which no time was much longer than its least; one round at least.

    A limit that another process disturbs would make a product look fast.

    Examples
    --------
    >>> calm({"ceiling": [1.0, 1.1, 5.0], "call": [2.0, 2.0, 2.0]})
    [0, 1]
    """
    table = np.array(list(seconds.values()))
    slowest = (table / table.min(axis=1, keepdims=True)).max(axis=0)
    return [int(i) for i in np.flatnonzero(slowest <= max(CALM, slowest.min()))]


def share(row: Record) -> float:
    """Return the share that ours reaches of its nearest limit."""
    return row.measured or float("nan")


def times_of(row: Record, other: str) -> float:
    """Return the median of our time over another contender's; NaN if there is none."""
    if other not in row.times:
        return float("nan")
    return float(np.median(row.ratios(other, OURS)))


def _logarithms(points: Sequence[Point]) -> NDArray[np.float64]:
    sizes = [(point.m, point.k, point.n, max(1, point.batch)) for point in points]
    logarithms: NDArray[np.float64] = np.log2(np.array(sizes, float).reshape(-1, 4))
    return logarithms


def beside_neighbors(found: Found, nearest: int = NEIGHBORS) -> dict[Point, float]:
    """Return the share of each point over the median share of its nearest neighbors.

    Neighbors have the same semiring and dtype, and both an argmax or none; the distance is that of
    the logarithms of m, k, n and batch. A point without neighbors has none of these numbers.
    """
    ratios: dict[Point, float] = {}
    for _, group in itertools.groupby(sorted(found, key=_kind), _kind):
        points = list(group)
        if len(points) == 1:
            continue
        where, shares = _logarithms(points), np.array([share(found[point]) for point in points])
        for number, point in enumerate(points):
            distances = np.linalg.norm(where - where[number], axis=1)
            distances[number] = np.inf
            around = np.argsort(distances, kind="stable")[: min(nearest, len(points) - 1)]
            ratios[point] = float(shares[number] / np.median(shares[around]))
    return ratios


def _kind(point: Point) -> str:
    return point.kind


@dataclass(frozen=True)
class Ranking:
    """Points by a ratio of times: the larger the worse, and bad if larger than `most`."""

    title: str
    numbers: dict[Point, float]
    most: float

    @property
    def bad(self) -> int:
        """How many points are bad."""
        return sum(number > self.most for number in self.numbers.values())

    def worst(self, count: int) -> list[Point]:
        """Return the points with the largest numbers, the largest first."""
        return sorted(self.numbers, key=lambda point: -self.numbers[point])[:count]


def rankings(found: Found) -> Iterator[Ranking]:
    """Yield the rankings of points: beside neighbors, and beside what was timed with them."""
    below = {point: 1 / ratio for point, ratio in beside_neighbors(found).items()}
    yield Ranking(f"times as slow as the median of {NEIGHBORS} neighbors", below, CLIFF)
    over = {point: 1 / share(row) for point, row in found.items()}
    yield Ranking("times the time of the nearest limit", over, FAR)
    for name in (*RIVALS, ONE_THREAD):
        ratios = {point: times_of(row, name) for point, row in found.items()}
        known = {point: ratio for point, ratio in ratios.items() if not np.isnan(ratio)}
        if known:
            yield Ranking(f"times the time of {name}", known, 1.0)

"""Points to search for cliffs, from a seed.

`draw` makes points in families: a shape, and variations of it in one respect. A point and its
variations differ little, so their speeds should too.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from tropical import semirings
from tropical.arrays import is_kind
from tropical.bench.points import LAYOUTS, SHARED, VALUES, Point

LONGEST, LONGEST_VECTOR = 1 << 12, 1 << 17
BYTES = 1 << 27  # the most that the arrays of a point take


def kinds() -> list[tuple[str, str, bool]]:
    """Return every (semiring, dtype, argmax)."""
    return [
        (known.name, dtype, argmax)
        for known in semirings.ALL
        for dtype in known.dtypes
        for argmax in ((False, True) if known.selective else (False,))
    ]


def _axis(rng: np.random.Generator) -> int:
    """Return a length: often 1, often a power of two or beside one, and rarely long."""
    if rng.random() < 0.2:
        return 1
    longest = LONGEST_VECTOR if rng.random() < 0.1 else LONGEST
    exponent = rng.random() * math.log2(longest)
    if rng.random() < 0.5:
        return int(2**exponent)
    return max(1, (1 << round(exponent)) + int(rng.integers(-1, 2)))


def _another_shape(point: Point, rng: np.random.Generator) -> Point:
    """Return `point` with one axis doubled, halved, or changed by one."""
    axis = str(rng.choice(["m", "k", "n"] + ["batch"] * (point.batch > 0)))
    length = getattr(point, axis)
    length = int(rng.choice([2 * length, length // 2, length + 1, length - 1]))
    return replace(point, **{axis: max(1, length)})  # type: ignore[arg-type]


def _another_layout(point: Point, rng: np.random.Generator) -> Point:
    array = str(rng.choice(["a", "b", "out"]))
    shared = [SHARED] if point.batch and array != "out" else []
    return replace(point, **{array: str(rng.choice([*LAYOUTS[1:], *shared]))})  # type: ignore[arg-type]


def _other_values(point: Point, rng: np.random.Generator) -> Point:
    words = next(words for kind, words in VALUES.items() if is_kind(point.dtype, kind))
    return replace(point, values=str(rng.choice(words[1:])))


def _family(rng: np.random.Generator, kind: tuple[str, str, bool], work: float) -> Iterator[Point]:
    """Yield a shape, then points that differ from it in one respect, at last in all respects."""

    def fits(point: Point) -> bool:
        return point.products <= work and point.nbytes <= BYTES

    semiring, dtype, argmax = kind
    while True:
        batch = int(2 ** (rng.random() * 12)) if rng.random() < 0.25 else 0
        base = Point(_axis(rng), _axis(rng), _axis(rng), batch, dtype, semiring, argmax)
        if fits(base):
            break
    yield base
    shape, layout, values = _another_shape, _another_layout, _other_values
    for changes in [(shape,)] * 4 + [(layout,)] * 3 + [(values,)] * 2 + [(shape, layout, values)]:
        point = functools.reduce(lambda point, change: change(point, rng), changes, base)
        if fits(point):
            yield point


def draw(seed: int, work: float) -> Iterator[Point]:
    """Yield points, none twice; each has at most `work` products of elements, 1 or more.

    The points end where no kind yields another one, as after some thousands of one product each.

    Examples
    --------
    >>> first, second = draw(0, 1e6), draw(0, 1e6)
    >>> all(next(first) == next(second) for _ in range(100))
    True
    """
    rng = np.random.default_rng(seed)
    every, seen = kinds(), set[Point]()
    before = -1
    while len(seen) > before:
        before = len(seen)
        for number in rng.permutation(len(every)):
            for point in _family(rng, every[number], work):
                if point not in seen:
                    seen.add(point)
                    yield point

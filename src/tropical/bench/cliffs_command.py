"""`python -m tropical bench --cliffs`: search for products that are slow beside their neighbors.

Seeded products of many shapes, layouts, dtypes, semirings and values are timed in turns with what
limits them: the register-only ceiling, the memory, and a call without work. The share of a product
is the time of its nearest limit over its own time. A cliff is a product whose share is far below
the median share of its nearest neighbors: the products of the same semiring and dtype whose shapes
differ least. What looks slow is measured again before it is listed. Needs the extra ``bench``.
"""

from __future__ import annotations

import argparse
import functools
import itertools
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from pathlib import Path

import numpy as np

from tropical.bench import plots, record, show
from tropical.bench.cliffs import GROUP, OURS, RIVALS, Found, measure, rankings, share
from tropical.bench.families import draw
from tropical.bench.points import Point, parse
from tropical.bench.record import Record
from tropical.graph.progress import Report, shown
from tropical.measure.contenders import require
from tropical.measure.terminal import ONE_OR_MORE, POSITIVE, integer, new_file, refusing
from tropical.measure.timing import Budget, pinned

FAST = Budget(sample=5e-4, seconds=0.0, rounds=5, least_rounds=5)
CAREFUL = Budget(sample=4e-3, seconds=0.3, rounds=15, least_rounds=5)
DISTURBED = 0.9  # a share below so much of the first one
FIRST = 0.75  # the share of the time after which nothing is measured for the first time


def suspects(found: Found, count: int) -> list[Point]:
    """Return the worst points of every list in turns, `count` of each."""
    each = [ranking.worst(count) for ranking in rankings(found)]
    in_turns = itertools.chain.from_iterable(itertools.zip_longest(*each))
    return [point for point in dict.fromkeys(in_turns) if point is not None]


def search(
    found: Found,
    points: Sequence[Point],
    seconds: float,
    time_point: Callable[[Point, Budget], Record],
    again: Callable[[Found], Sequence[Point]],
    report: Report,
) -> None:
    """Measure `points` into `found`, then those of `again` with care.

    The second measurement counts, unless something disturbed it.
    """
    start = time.perf_counter()

    def spent() -> float:
        return (time.perf_counter() - start) / seconds

    for number, point in enumerate(points):
        if spent() > FIRST:
            break
        found[point] = time_point(point, FAST)
        report(FIRST * max(spent() / FIRST, (number + 1) / len(points)))
    repeated = again(found)
    for number, point in enumerate(repeated):
        if spent() > 1:
            break
        row = time_point(point, CAREFUL)
        if share(row) > DISTURBED * share(found[point]):
            found[point] = row
        report(FIRST + (1 - FIRST) * (number + 1) / len(repeated))


def lines(found: Found, count: int) -> Iterator[str]:
    """Yield the lists: the worst points, each with its numbers and as a line of Python."""
    if not found:
        yield "nothing was measured"
        return
    shares = [share(row) for row in found.values()]
    yield f"{len(found)} products; median share of the nearest limit: {np.median(shares):.2f}"
    yield "To make a product again: from tropical.bench.points import Point; Point(...).contender()"
    for ranking in rankings(found):
        of = f"{ranking.bad} of {len(ranking.numbers)} more than {ranking.most:g}"
        yield f"\n{ranking.title}; {of}"
        for point in ranking.worst(count):
            row = found[point]
            taken = show.duration(float(np.median(row.times[OURS].seconds)))
            reached = f"{share(row):.2f} of {row.reference}"
            yield f"  {ranking.numbers[point]:>7.2f} {taken:>9} {reached:>15}  {point!r}"


def _parse(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m tropical bench --cliffs", description=__doc__, allow_abbrev=False
    )
    add = parser.add_argument
    add("--seed", type=integer(0), default=0, help="of the products; default 0")
    add("--points", type=integer(1), default=500, metavar="N", help="products; default 500")
    add("--seconds", type=POSITIVE, default=120.0, help="the most time to measure; default 120")
    add(
        "--work",
        type=ONE_OR_MORE,
        default=1 << 25,
        metavar="N",
        help="the most products of elements in a product of matrices; default 2^25",
    )
    add("--threads", type=integer(1), default=1, metavar="T", help="also compare T threads with 1")
    add("--rivals", nargs="+", choices=list(RIVALS), default=[], help="also time obvious loops")
    add("--worst", type=integer(1), default=20, metavar="N", help="length of a list; default 20")
    add("--json", type=new_file, metavar="FILE", help="write every time to FILE")
    add("--show", type=Path, metavar="FILE", help="measure nothing, show a file of --json")
    add("--plot", type=new_file, metavar="FILE", help="draw shares by m, k and n, as a PNG file")
    return parser.parse_args(argv)


def _search(options: argparse.Namespace, found: Found) -> None:
    points = list(itertools.islice(draw(options.seed, options.work), options.points))
    time_point = functools.partial(measure, threads=options.threads, rivals=options.rivals)
    again = functools.partial(suspects, count=2 * options.worst)
    seen = sys.stderr is not None and sys.stderr.isatty()  # None: it is closed
    # On more than one core, the threads are free.
    with shown(seen) as report, pinned() if options.threads == 1 else nullcontext():
        search(found, points, options.seconds, time_point, again, report)


@refusing("bench")
def main(argv: Sequence[str] | None = None) -> int:
    """Search, or show an earlier search; an interruption shows what was found and returns 130."""
    options = _parse(argv)
    needs = {"matplotlib": options.plot}
    needs |= {"threadpoolctl": "numpy" in options.rivals, "numba": "numba" in options.rivals}
    for module, needed in needs.items():
        if needed:
            require(module)
    environment, status = record.environment(), 0
    found: Found = {}
    try:
        if options.show:
            rows = record.read(options.show).values()
            found = {parse(row.case): row for row in rows if row.group == GROUP}
        else:
            _search(options, found)
    except KeyboardInterrupt:
        status = 130
    if options.json:
        record.write(options.json, environment, list(found.values()), seed=options.seed)
    if options.plot and found:
        plots.save_shares([((p.m, p.k, p.n), share(row)) for p, row in found.items()], options.plot)
    for text in lines(found, options.worst):
        print(text)
    return status

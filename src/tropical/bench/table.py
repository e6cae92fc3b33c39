"""`python -m tropical table`: every ratio of `bars`, measured in one run on this machine.

Each row: the median ratio over the rounds, the quartiles, the rounds kept and discarded, and the
rates of ours and of the reference. `--promises` adds the least ratio that the project accepts, and
whether this run reached it.
"""

from __future__ import annotations

import argparse
import functools
import itertools
import re
import statistics
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace

from tropical.bench import record, show
from tropical.bench.bar import Bar
from tropical.bench.bars import bars, figures
from tropical.bench.record import Record, compete
from tropical.measure.contenders import AbsentError
from tropical.measure.terminal import new_file
from tropical.measure.timing import QUICK, Budget

# --quick leaves out larger products: the same code runs for the smaller ones.
QUICK_WORK = 6e8
SHORT = "--quick: one short round a row; shows that everything runs, and measures nothing."


def measure(bar: Bar, budget: Budget) -> Record:
    """Measure one bar within `budget`."""
    row = Record(bar.group, bar.case, bar=bar.value, at_most=bar.at_most)
    try:
        ours, reference = bar.make()
    except AbsentError as absent:
        return replace(row, absent={"rival": str(absent)})
    row = replace(row, reference=reference.name)
    if bar.guarded:
        return compete(row, [ours], budget, guard=reference)
    return compete(row, [ours, reference], budget)


def _measure_all(chosen: Sequence[Bar], budget: Budget) -> Iterator[Record]:
    """Yield the record of each bar, and after a group its geometric mean if that is promised."""
    for group, in_group in itertools.groupby(chosen, lambda bar: bar.group):
        measured, mean = [], None
        for bar in in_group:
            row, mean = measure(bar, budget), bar.mean
            measured += [] if row.measured is None else [row.measured]
            yield row
        if mean is not None:
            number = statistics.geometric_mean(measured) if measured else None
            yield Record(group, "geometric mean", bar=mean, number=number)


def _parse(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m tropical table",
        allow_abbrev=False,
        description="Measure every figure of the manual on this machine.",
    )
    parser.add_argument(
        "--quick", action="store_true", help="one short round a row: does everything run?"
    )
    parser.add_argument(
        "--rows",
        metavar="PATTERN",
        default="",
        help="only the rows whose 'group: case' matches this regular expression",
    )
    parser.add_argument(
        "--promises",
        action="store_true",
        help="also show the least ratio that the project accepts, and whether it is met",
    )
    add = functools.partial(parser.add_argument, metavar="FILE", type=new_file)
    add("--json", help="also write the rows to FILE")
    add("--markdown", help="also write a page of Markdown to FILE")
    options = parser.parse_args(argv)
    try:
        options.rows = re.compile(options.rows, re.IGNORECASE)
    except re.error as error:
        parser.error(f"--rows: {options.rows!r} is not a regular expression: {error}")
    return options


def main(argv: Sequence[str] | None = None) -> int:
    """Print the table; return 2 if no row matches, else 0, also for a missed bar."""
    options = _parse(argv)
    matching = [bar for bar in bars() if options.rows.search(bar.name)]
    chosen = [bar for bar in matching if not options.quick or bar.work <= QUICK_WORK]
    counted = [figure for figure in figures() if options.rows.search(figure.name)]
    if not matching and not counted:
        print(f"no row matches {options.rows.pattern!r}", file=sys.stderr)
        return 2
    start = time.perf_counter()
    environment = record.environment()
    print(show.heading(environment))
    if options.quick:
        print(SHORT)
    print("\n" + show.promise_line(promises=options.promises))
    numbers = (
        Record(f.group, f.case, bar=f.value, at_most=True, number=f.count()) for f in counted
    )
    measured = _measure_all(chosen, QUICK if options.quick else Budget())
    group = ""
    with record.kept(options.json, environment, quick=options.quick) as rows:
        for row in itertools.chain(measured, numbers):
            rows.append(row)
            if group != (group := row.group):
                print(group)
            print(show.promise_line(row, promises=options.promises), flush=True)
    seconds = time.perf_counter() - start
    left_out = len(matching) - len(chosen)
    print(show.summary(rows, left_out, seconds, promises=options.promises))
    if options.markdown:
        page = show.markdown(environment, rows, time.strftime("%Y-%m-%d"))
        first = f"{SHORT}\n\n" if options.quick else ""
        options.markdown.write_text(first + page, encoding="utf-8")
    return 0

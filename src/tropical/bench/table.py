"""`python -m tropical table`: every bar of `bars`, measured in one run on this machine.

Each row: the median ratio over the rounds, the bar, whether it is met, the quartiles, the rounds
kept and discarded, and the rates of ours and of the reference.
"""

from __future__ import annotations

import argparse
import dataclasses
import itertools
import json
import os
import platform
import re
import statistics
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tropical.bench.bar import Bar
from tropical.bench.bars import bars, figures
from tropical.bench.contenders import AbsentError, blas_libraries
from tropical.bench.timing import QUICK, Budget, interleave
from tropical.config import config

__all__ = ["Row", "environment", "main", "measure"]

# --quick leaves out larger products: the same code runs for the smaller ones.
QUICK_WORK = 6e8


@dataclass(frozen=True)
class Row:
    """A measured bar.

    `rates` is work per second, by contender, ours first; `skipped` says why there is no number.
    """

    group: str
    case: str
    bar: float | None
    at_most: bool
    measured: float | None = None
    low: float | None = None
    high: float | None = None
    rounds: int = 0
    discarded: int = 0
    rates: dict[str, float] = dataclasses.field(default_factory=dict)
    skipped: str = ""

    @property
    def met(self) -> bool | None:
        """Whether the bar is met; None if there is no bar or no measurement."""
        if self.bar is None or self.measured is None:
            return None
        return self.measured <= self.bar if self.at_most else self.measured >= self.bar


def measure(bar: Bar, budget: Budget) -> Row:
    """Measure one bar within `budget`."""
    row = Row(bar.group, bar.case, bar.value, bar.at_most)
    try:
        ours, reference = bar.make()
    except AbsentError as absent:
        return dataclasses.replace(row, skipped=str(absent))
    if bar.guarded:
        timings = interleave([ours], guard=reference, budget=budget)
    else:
        timings = interleave([ours, reference], budget=budget)
    if timings.rounds == 0:
        reason = f"the ceiling moved in all of {timings.discarded} rounds"
        return dataclasses.replace(row, discarded=timings.discarded, skipped=reason)
    ratio = timings.ratio(ours.name, reference.name)
    median, low, high = ratio.median, ratio.low, ratio.high
    if bar.at_most:
        median, low, high = 1 / median, 1 / high, 1 / low
    return dataclasses.replace(
        row,
        measured=median,
        low=low,
        high=high,
        rounds=timings.rounds,
        discarded=timings.discarded,
        rates={name: timings.rate(name) for name in (ours.name, reference.name)},
    )


def _mean(group: str, bar: float, rows: Sequence[Row]) -> Row:
    """Return the geometric mean of what was measured in a group."""
    row = Row(group, "geometric mean", bar, at_most=False)
    measured = [r.measured for r in rows if r.group == group and r.measured is not None]
    if not measured:
        return dataclasses.replace(row, skipped="nothing was measured")
    return dataclasses.replace(row, measured=statistics.geometric_mean(measured))


def environment() -> dict[str, Any]:
    """Return what the figures depend on: build, processor, versions, BLAS, load."""
    return {
        **config(),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "blas": blas_libraries(),
        "system": platform.platform(),
        "time": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
        "load": round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None,
    }


def _line(*columns: str) -> str:
    widths = (-52, 8, -8, -4, -14, -6, 0)
    padded = (f"{c:<{-w}}" if w < 0 else f"{c:>{w}}" for c, w in zip(columns, widths, strict=True))
    return "  " + " ".join(padded).rstrip()


def _print_row(row: Row) -> None:
    if row.measured is None:
        print(f"  {row.case:<52} skipped: {row.skipped}", flush=True)
        return
    line = _line(
        row.case,
        f"{row.measured:.3f}",
        "" if row.bar is None else f"{'<=' if row.at_most else '>='} {row.bar:.2f}",
        {None: "-", True: "yes", False: "NO"}[row.met],
        "" if row.low is None else f"{row.low:.2f}..{row.high:.2f}",
        f"{row.rounds}-{row.discarded}" if row.discarded else f"{row.rounds or ''}",
        " / ".join(f"{rate / 1e9:.2f}" for rate in row.rates.values()),
    )
    print(line, flush=True)


def _print_header(environment: dict[str, Any], quick: bool) -> None:
    print("{cpu}, {cores} cores, {isa} in use, {compiler}".format(**environment))
    print("tropical {version}, NumPy {numpy}, Python {python}, {system}".format(**environment))
    print(
        f"BLAS: {', '.join(environment['blas']) or 'unknown'}; load average: {environment['load']}"
    )
    print("Medians of ratios taken round by round, all in one run; one thread unless said.")
    print("spread: quartiles. rounds: kept-discarded.")
    print("rates: 10^9 operations (bytes, beside b.max()) a second, ours / the other's.")
    if quick:
        print("--quick: one short round a row; shows that everything runs, and measures nothing.")
    print("\n" + _line("", "measured", "bar", "met", "spread", "rounds", "rates"))


def _print_summary(rows: Sequence[Row], left_out: int, seconds: float) -> None:
    verdicts = [row.met for row in rows if row.met is not None]
    skipped = sum(row.measured is None for row in rows)
    discarded = sum(row.discarded for row in rows)
    rounds = discarded + sum(row.rounds for row in rows)
    print(
        f"\n{sum(verdicts)} of {len(verdicts)} bars met; {skipped} rows skipped,"
        f" {left_out} left out; {discarded} of {rounds} rounds discarded, in which the ceiling"
        f" moved by more than 10%; {seconds:.0f} s"
    )


def _parse(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m tropical table", description="Measure every promised ratio on this machine."
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
    parser.add_argument("--json", metavar="FILE", type=Path, help="also write the rows to FILE")
    options = parser.parse_args(argv)
    try:
        options.rows = re.compile(options.rows, re.IGNORECASE)
    except re.error as error:
        parser.error(f"--rows: {options.rows!r} is not a regular expression: {error}")
    return options


def main(argv: Sequence[str] | None = None) -> int:
    """Print the table.

    Parameters
    ----------
    argv : sequence of str, optional
        `[--quick] [--rows PATTERN] [--json FILE]`; the command line if not given.

    Returns
    -------
    int
        Exit status: 0, or 2 if no row matches. A missed bar is reported, not an error.
    """
    options = _parse(argv)
    matching = [bar for bar in bars() if options.rows.search(bar.name)]
    chosen = [bar for bar in matching if not options.quick or bar.work <= QUICK_WORK]
    counted = [figure for figure in figures() if options.rows.search(figure.name)]
    if not matching and not counted:
        print(f"no row matches {options.rows.pattern!r}", file=sys.stderr)
        return 2
    start = time.perf_counter()
    here = environment()
    _print_header(here, options.quick)
    rows: list[Row] = []

    def add(row: Row) -> None:
        if not rows or rows[-1].group != row.group:
            print(row.group)
        rows.append(row)
        _print_row(row)

    for group, in_group in itertools.groupby(chosen, lambda bar: bar.group):
        bar = None
        for bar in in_group:
            add(measure(bar, QUICK if options.quick else Budget()))
        if bar and bar.mean is not None:
            add(_mean(group, bar.mean, rows))
    for figure in counted:
        number = figure.count()
        add(Row(figure.group, figure.case, figure.value, at_most=True, measured=number))
    seconds = time.perf_counter() - start
    _print_summary(rows, len(matching) - len(chosen), seconds)
    if options.json:
        report = {
            "environment": here,
            "quick": options.quick,
            "seconds": seconds,
            "rows": [{**dataclasses.asdict(row), "met": row.met} for row in rows],
        }
        options.json.write_text(json.dumps(report, indent=1) + "\n")
    return 0

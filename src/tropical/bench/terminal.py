"""What `bench` and `tune` show on a terminal, by rich, and how they end if something is missing."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from tropical.bench.contenders import NotInstalledError, require
from tropical.bench.report import Case
from tropical.bench.staircase import Step
from tropical.bench.statistics import Comparison, compare_paired

__all__ = [
    "new_console",
    "new_progress",
    "new_table",
    "p_value_text",
    "print_case",
    "ratio_text",
    "refusing",
    "staircase_table",
]


def refusing(name: str) -> Callable[[Callable[..., int]], Callable[..., int]]:
    """Decorate a command's main: a missing package or an unusable file is a message, and 2."""

    def decorate(main: Callable[..., int]) -> Callable[..., int]:
        @functools.wraps(main)
        def wrapped(argv: Sequence[str] | None = None) -> int:
            try:
                return main(argv)
            except (NotInstalledError, OSError, ValueError) as error:
                print(f"{name}: error: {error}", file=sys.stderr)
                return 2

        return wrapped

    return decorate


def new_console() -> Any:
    """Make a console; where there is no terminal, lines are long enough for a table."""
    console = require("rich.console").Console()
    if not console.is_terminal:
        console.width = 140
    return console


def new_progress(console: Any) -> Any:
    """Make a progress bar that counts steps and time, and is gone when it ends."""
    progress = require("rich.progress")
    columns = (
        progress.TextColumn("{task.description}"),
        progress.BarColumn(),
        progress.MofNCompleteColumn(),
        progress.TimeElapsedColumn(),
    )
    return progress.Progress(*columns, console=console, transient=True)


def new_table(title: str, headings: Iterable[str] = (), *, justify: str = "left") -> Any:
    """Make a table whose first column, without a heading, says what each row is of."""
    table = require("rich.table").Table(
        title=title, title_justify="left", box=require("rich.box").SIMPLE
    )
    table.add_column("", no_wrap=True)
    for heading in headings:
        table.add_column(heading, justify=justify, no_wrap=True)
    return table


def _number(value: float) -> str:
    return "-" if np.isnan(value) else f"{value:.2f}"


def ratio_text(comparison: Comparison) -> str:
    """Return a ratio and its interval."""
    low, high = _number(comparison.low), _number(comparison.high)
    return f"{comparison.ratio:.2f} [{low}, {high}]"


def p_value_text(comparison: Comparison) -> str:
    """Return the p-value, as far as it is worth telling."""
    if np.isnan(comparison.p_value):
        return "-"
    return "< 0.001" if comparison.p_value < 1e-3 else f"{comparison.p_value:.3f}"


def _time(seconds: float) -> str:
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds * 1e6:.3g} us"


def _case_table(case: Case, baseline: str) -> Any:
    headings = ["median", "best", "spread", "Gop/s", "of ceiling"]
    reference = case.find(baseline)
    if reference:
        headings += [f"over {baseline} [95%]", "p"]
    table = new_table(str(case), headings, justify="right")
    for times in sorted(case.contenders, key=lambda times: np.median(times.seconds)):
        low, median, high = np.percentile(times.seconds, [25, 50, 75])
        cells = [
            times.name,
            _time(float(median)),
            _time(min(times.seconds)),
            f"{(high - low) / median:.0%}",
            f"{times.rate / 1e9:.1f}",
            f"{np.median(case.shares(times)):.2f}",
        ]
        if reference:
            comparison = compare_paired(times.seconds, reference.seconds)
            other = times is not reference
            cells += [ratio_text(comparison), p_value_text(comparison)] if other else ["1", ""]
        table.add_row(*cells)
    return table


def print_case(console: Any, case: Case, baseline: str) -> None:
    """Print who computed a case, how fast, and who took no part."""
    if not case.contenders:
        console.print(f"{case}: nobody takes part")
    elif not case.contenders[0].seconds:
        console.print(f"{case}: nothing kept; the ceiling moved in {case.discarded} rounds")
    else:
        console.print(_case_table(case, baseline))
        rounds = len(case.contenders[0].seconds)
        console.print(f"{rounds} rounds, {case.discarded} more discarded", highlight=False)
    for name, reason in case.absent.items():
        console.print(f"without {name}: {reason}", style="dim", highlight=False)
    console.print()


def staircase_table(title: str, steps: Sequence[Step]) -> Any:
    """Make a table with a line a step and a column a size: rate, factor, share of the ceiling."""
    sizes = dict.fromkeys(step.n for step in steps)
    table = new_table(title, (f"n = {n}" for n in sizes), justify="right")
    for label in dict.fromkeys(step.label for step in steps):
        cells = [
            f"{step.rate / 1e9:8.1f}"
            + ("        " if np.isnan(step.factor) else f" {step.factor:6.1f}x")
            + f"  {step.share:5.1%}"
            for step in steps
            if step.label == label
        ]
        table.add_row(label, *cells)
    return table

"""Records as lines of text."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from tropical.bench.record import Record
from tropical.measure.statistics import Comparison, compare_paired

# The width of each column; a negative width means that the text begins at the left.
RATIOS = (-52, 8, -14, -6, 0)
PROMISES = (-52, 8, -8, -4, -14, -6, 0)
CASE = (-18, 9, 9, 7, 9, 11, 28, 9)


def line(widths: tuple[int, ...], *cells: str) -> str:
    """Return a line of a table."""
    padded = (f"{c:<{-w}}" if w < 0 else f"{c:>{w}}" for c, w in zip(cells, widths, strict=True))
    return "  " + " ".join(padded).rstrip()


def heading(environment: dict[str, Any]) -> str:
    """Return the lines that open the table."""
    return (
        "{cpu}, {cores} cores, {isa} in use, {compiler}\n"
        "tropical {version}, NumPy {libraries[numpy]}, Python {python}, {system}\n"
        "BLAS: {blas}; load average: {load}\n"
        "Medians of ratios taken round by round, all in one run; one thread unless said.\n"
        "spread: quartiles. rounds: kept-discarded.\n"
        "rates: 10^9 operations (bytes, beside b.max()) a second, ours / the other's."
    ).format(**{**environment, "blas": ", ".join(environment["blas"]) or "unknown"})


def promise_line(record: Record | None = None, *, promises: bool = False) -> str:
    """Return the line of a ratio, with its promise if asked for; without a record, the headings."""
    widths = PROMISES if promises else RATIOS
    if record is None:
        promised = ("bar", "met") if promises else ()
        return line(widths, "", "measured", *promised, "spread", "rounds", "rates")
    if record.measured is None:
        return f"  {record.case:<52} skipped: {record.skipped}"
    promised = (_bar(record), _met(record)) if promises else ()
    kept = record.rounds
    return line(
        widths,
        record.case,
        f"{record.measured:.3f}",
        *promised,
        _spread(record),
        f"{kept}-{record.discarded}" if record.discarded else f"{kept or ''}",
        _rates(record),
    )


def _bar(record: Record) -> str:
    return "" if record.bar is None else f"{'<=' if record.at_most else '>='} {record.bar:.2f}"


def _met(record: Record) -> str:
    return {None: "-", True: "yes", False: "NO"}[record.met]


def _spread(record: Record) -> str:
    quartiles = record.quartiles()
    return f"{quartiles[0]:.2f}..{quartiles[2]:.2f}" if quartiles else ""


def _rates(record: Record) -> str:
    return " / ".join(f"{times.rate / 1e9:.2f}" for times in record.times.values())


def markdown(environment: dict[str, Any], records: Sequence[Record], date: str) -> str:
    """Return a page of Markdown: the machine and the date, then a table for each group."""
    blas = ", ".join(environment["blas"]) or "unknown"
    first = (
        f"Measured on {date} by `python -m tropical table`, in one run, on {environment['cpu']}, "
        f"{environment['cores']} cores, {environment['isa']} in use, {environment['compiler']}."
    )
    versions = f"tropical {environment['version']}, NumPy {environment['libraries']['numpy']}"
    lines = [first, f"{versions}, BLAS: {blas}."]
    for group, rows in itertools.groupby(records, lambda record: record.group):
        measured = [record for record in rows if record.measured is not None]
        if not measured:
            continue
        lines += ["", f"## {group[:1].upper()}{group[1:]}", ""]
        lines += ["| Case | Ratio | Quartiles | Rates |", "|---|---:|---|---|"]
        for row in measured:
            cells = (row.case, f"{row.measured:.2f}", _spread(row), _rates(row))
            lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def summary(records: list[Record], left_out: int, seconds: float, *, promises: bool = False) -> str:
    """Return the line that closes the table."""
    verdicts = [record.met for record in records if record.met is not None]
    skipped = sum(record.measured is None for record in records)
    discarded = sum(record.discarded for record in records)
    rounds = discarded + sum(record.rounds for record in records)
    met = f"{sum(verdicts)} of {len(verdicts)} bars met; " if promises else ""
    return (
        f"\n{met}{len(records) - skipped} rows, {skipped} skipped,"
        f" {left_out} left out; {discarded} of {rounds} rounds discarded, in which the ceiling"
        f" moved by more than 10%; {seconds:.0f} s"
    )


def _number(value: float) -> str:
    return "-" if np.isnan(value) else f"{value:.2f}"


def duration(seconds: float) -> str:
    """Return seconds with three digits and their unit."""
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds * 1e6:.3g} us"


def comparison_cells(comparison: Comparison) -> tuple[str, str]:
    """Return a ratio with its interval, and the p-value to three digits."""
    ratio = f"{comparison.ratio:.2f} [{_number(comparison.low)}, {_number(comparison.high)}]"
    if np.isnan(comparison.p_value):
        return ratio, "-"
    return ratio, "< 0.001" if comparison.p_value < 1e-3 else f"{comparison.p_value:.3f}"


def case_lines(record: Record, baseline: str) -> Iterator[str]:
    """Yield the lines of a case: contenders from the fastest on, then the absent ones."""
    yield record.case
    if record.measured is None:
        yield f"  {record.skipped if record.times else 'no contender takes part'}"
    else:
        over = f"over {baseline} [95%]" if baseline in record.times else ""
        headings = ("", "median", "best", "spread", "Gop/s", "of ceiling", over, "p" * bool(over))
        yield line(CASE, *headings)
        contenders = [name for name in record.times if name != record.reference]
        for name in sorted(contenders, key=lambda name: np.median(record.times[name].seconds)):
            yield _contender_line(record, name, baseline)
        yield f"  {record.rounds} rounds, {record.discarded} more discarded"
    for name, reason in record.absent.items():
        yield f"  without {name}: {reason}"
    yield ""


def _contender_line(record: Record, name: str, baseline: str) -> str:
    times, reference = record.times[name], record.times.get(baseline)
    low, median, high = np.percentile(times.seconds, [25, 50, 75])
    beside = ("", "")
    if reference and name == baseline:
        beside = ("1", "")
    elif reference:
        beside = comparison_cells(compare_paired(times.seconds, reference.seconds))
    return line(
        CASE,
        name,
        duration(float(median)),
        duration(min(times.seconds)),
        f"{(high - low) / median:.0%}",
        f"{times.rate / 1e9:.1f}",
        f"{np.median(record.ratios(name)):.2f}",
        *beside,
    )

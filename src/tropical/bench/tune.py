"""`python -m tropical tune`: measure block sizes and switch points on this machine and keep them.

A setting is changed only where another value is faster than what the caches suggest by more than
the noise; most are not. Needs the extra ``tune``.
"""

from __future__ import annotations

import argparse
import math
import statistics
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tropical import _core, tuning
from tropical.bench import contenders, terminal
from tropical.bench.contenders import require
from tropical.bench.timing import Budget, Contender, interleave

__all__ = ["Finding", "main", "tune"]

WORTH = 1.02


@dataclass(frozen=True)
class Finding:
    """What was found about one setting.

    Attributes
    ----------
    setting : str
        Its name, of ``tropical._core.settings()``.
    before, after : int
        What the caches suggest, and what is best; equal where nothing is worth a change.
    gain : float
        The rate with `after` over that with `before`, over all products measured.
    """

    setting: str
    before: int
    after: int
    gain: float


def _product(n: int, dtype: str, semiring: str) -> Contender:
    return contenders.ours(*contenders.operands(n, n, n, dtype), semiring)


def _tune_blocks(
    setting: str, factors: Sequence[float], products: Sequence[Contender], seconds: float
) -> Finding:
    """Try multiples of a size in bytes on some products; the best on their geometric mean wins."""
    suggested = _core.suggested_settings()[setting]
    values = [int(suggested * factor) for factor in factors]
    ratios: dict[int, list[float]] = {value: [] for value in values}
    lows: dict[int, list[float]] = {value: [] for value in values}
    for product in products:
        timings = interleave(
            [contenders.with_settings(product, str(value), {setting: value}) for value in values],
            budget=Budget(seconds=seconds / len(products), rounds=1000, least_rounds=5),
        )
        for value in values:
            ratio = timings.ratio(str(value), str(suggested))
            ratios[value].append(ratio.median)
            lows[value].append(ratio.low)
    gains = {value: statistics.geometric_mean(r) for value, r in ratios.items()}
    # Faster for certain on the whole, slower nowhere.
    better = [v for v in values if statistics.geometric_mean(lows[v]) > 1 < WORTH * min(lows[v])]
    best = max(better, key=gains.__getitem__, default=suggested)
    if gains[best] < WORTH:
        return Finding(setting, suggested, suggested, 1.0)
    return Finding(setting, suggested, best, gains[best])


def _tune_switch(
    setting: str, cases: Iterator[tuple[int, Contender, Contender]], seconds: float
) -> Finding:
    """Find the value from which on the second of two contenders is the faster one.

    `cases` are (value, first, second) by rising values; the first is what runs up to that value.
    """
    pairs = list(cases)
    suggested = _core.suggested_settings()[setting]
    gains = {}
    budget = Budget(seconds=seconds / len(pairs), rounds=1000, least_rounds=5)
    for value, first, second in pairs:
        timings = interleave([first, second], budget=budget)
        ratio = timings.ratio(first.name, second.name)
        # What is certain of it: the quartile nearer to 1, nothing where 1 lies between the two.
        certain = ratio.low if ratio.low > 1 else min(ratio.high, 1.0)
        gains[value] = math.log(certain)
    values = [0, *gains]
    # Each value as a switch point: what is won (lost) by the first contender up to there.
    scores = {v: sum(gain for value, gain in gains.items() if value <= v) for v in values}
    at_suggested = scores[max(v for v in values if v <= suggested)]
    best = max(values, key=scores.__getitem__)
    gain = math.exp((scores[best] - at_suggested) / len(pairs))
    if gain < WORTH:
        return Finding(setting, suggested, suggested, 1.0)
    return Finding(setting, suggested, max(best, values[1] // 2), gain)


def _direct_or_packed(
    sides: Sequence[int], dtype: str
) -> Iterator[tuple[int, Contender, Contender]]:
    for n in sides:
        a, b = contenders.operands(n, n, n, dtype)
        direct, packed = (
            contenders.ours(a, b, name=kernel, kernel=kernel) for kernel in ("direct", "packed")
        )
        yield n, direct, packed


def _one_or_two_threads(sides: Sequence[int]) -> Iterator[tuple[int, Contender, Contender]]:
    """Products by one thread and by two; the value is the ``thread_share`` just above them."""
    for n in sides:
        a, b = contenders.operands(n, n, n)
        one, two = (contenders.ours(a, b, name=str(t), threads=t) for t in (1, 2))
        yield n**3 // 2 + 1, one, contenders.with_settings(two, "2", {"thread_share": 1024})


def _steps() -> dict[str, Callable[[str, float], Finding]]:
    """How to find each setting, given its name and a time in seconds."""
    floats = [("float32", "maxplus"), ("float32", "plustimes"), ("float64", "maxplus")]

    def blocks(n: int, *factors: float) -> Callable[[str, float], Finding]:
        return lambda setting, seconds: _tune_blocks(
            setting, factors, [_product(n, *kind) for kind in floats], seconds
        )

    def switch(
        cases: Iterator[tuple[int, Contender, Contender]],
    ) -> Callable[[str, float], Finding]:
        return lambda setting, seconds: _tune_switch(setting, cases, seconds)

    steps = {
        "micro_panel": blocks(1024, 0.25, 0.5, 0.75, 1, 1.5),
        "block": blocks(1024, 0.5, 0.75, 1, 1.5),
        "panel": blocks(1536, 0.5, 1, 2),
        "direct_side": switch(_direct_or_packed((64, 96, 128, 192, 256, 320), "float32")),
        "heavy_side": switch(_direct_or_packed((32, 64, 96, 128, 192, 256), "int32")),
    }
    if _core.config()["cores"] > 1:
        steps["thread_share"] = switch(_one_or_two_threads((48, 64, 80, 96, 128, 160)))
    return steps


def tune(
    seconds: float, on_setting: Callable[[str], None] = lambda setting: None
) -> Iterator[Finding]:
    """Measure every setting, with those found before it in effect.

    Parameters
    ----------
    seconds : float
        The time to take, about; each setting gets an equal share.
    on_setting : callable
        Told the name of each setting before it is measured.

    Yields
    ------
    Finding
    """
    steps = _steps()
    found: dict[str, int] = {}
    before = _core.settings()
    _core.set_settings({})
    try:
        for setting, step in steps.items():
            on_setting(setting)
            finding = step(setting, seconds / len(steps))
            if finding.after != finding.before:
                found[setting] = finding.after
                _core.set_settings(found)
            yield finding
    finally:
        _core.set_settings(before)


def _parse(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tropical tune", description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0, help="about how long to measure")
    parser.add_argument("--dry-run", action="store_true", help="measure, but keep nothing")
    parser.add_argument("--reset", action="store_true", help="measure nothing, delete what is kept")
    options = parser.parse_args(argv)
    if options.reset and options.dry_run:
        parser.error("--reset deletes, --dry-run keeps everything: choose one")
    if not options.seconds >= 0 or math.isinf(options.seconds):
        parser.error(f"--seconds must be a number from 0 on, got {options.seconds}")
    return options


def _path() -> Path:
    """Return the file to write or to delete; before anything is measured, know that one can."""
    path = tuning.file()
    if path is None:
        raise OSError("there is no file to keep settings in: TROPICAL_TUNING is off, or no home")
    tuning.check_replaceable(path)
    return path


def _measure(seconds: float) -> list[Finding]:
    """Show progress, then a table."""
    console = terminal.new_console()
    findings: list[Finding] = []
    with terminal.new_progress(console) as bar:
        task = bar.add_task("", total=len(_steps()))
        for finding in tune(seconds, lambda name: bar.update(task, description=name)):
            findings.append(finding)
            bar.advance(task)
    table = terminal.new_table("", ("from the caches", "best", "gain"), justify="right")
    for finding in findings:
        changed = finding.after != finding.before
        best = f"{finding.after:,}" if changed else "the same"
        gain = f"{finding.gain - 1:+.1%}" if changed else ""
        table.add_row(finding.setting, f"{finding.before:,}", best, gain)
    console.print(table)
    return findings


@terminal.refusing("tune")
def main(argv: Sequence[str] | None = None) -> int:
    """Tune, and keep what was found.

    Parameters
    ----------
    argv : sequence of str, optional
        Options; the command line if not given.

    Returns
    -------
    int
        Exit status: 2 if a package is missing or the file cannot be written, 130 if interrupted
        (nothing is kept then), else 0.
    """
    options = _parse(argv)
    for module in ("platformdirs", "rich.progress"):
        require(module, "'tropical-blas[tune]'")
    path = None if options.dry_run else _path()
    if path and options.reset:
        path.unlink(missing_ok=True)
        print(f"{path} is gone; the sizes of the caches decide")
        return 0
    try:
        findings = _measure(options.seconds)
    except KeyboardInterrupt:
        print("tune: interrupted, nothing was kept", file=sys.stderr)
        return 130
    if path:
        tuning.write(path, {f.setting: f.after for f in findings if f.after != f.before})
        print(f"kept in {path}")
    return 0

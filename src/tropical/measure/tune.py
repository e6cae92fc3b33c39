"""`python -m tropical tune`: measure block sizes and switch points on this machine and keep them.

A setting changes only if another value is faster by more than the noise; most settings do not
change. To measure the noise, one contender runs twice in each round: its two times differ by noise
alone. Needs the extra ``tune``.
"""

from __future__ import annotations

import argparse
import math
import statistics
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tropical import _core, tuning
from tropical.measure import contenders
from tropical.measure.contenders import require
from tropical.measure.terminal import NOT_NEGATIVE, refusing
from tropical.measure.timing import Budget, Contender, Timings, interleave

WORTH = 1.02
AGAIN = "again"  # the name of the contender that runs a second time


@dataclass(frozen=True)
class Finding:
    """The result for one setting.

    Attributes
    ----------
    setting : str
        The name, a key of ``tropical._core.settings()``.
    before, after : int
        The value that the caches suggest, and the best value; equal if no change is large enough.
    gain : float
        The rate with `after` over that with `before`, over all products measured.
    """

    setting: str
    before: int
    after: int
    gain: float


def _interval(ratios: NDArray[np.float64]) -> tuple[float, float]:
    """Return the 99% interval of a median, by order statistics; the range if ratios are few.

    Examples
    --------
    >>> _interval(np.array([3.0, 1.0, 2.0]))
    (1.0, 3.0)
    >>> _interval(np.arange(100.0))
    (37.0, 62.0)
    """
    n = len(ratios)
    k = max(0, int((n - 2.58 * math.sqrt(n)) / 2))
    ordered = np.sort(ratios)
    return float(ordered[k]), float(ordered[n - 1 - k])


def _certain(timings: Timings, name: str, reference: str, equal: str) -> float:
    """Return the part of a ratio of rates that noise does not explain; 1 if noise explains it.

    The noise is the difference between the contenders `AGAIN` and `equal`, which are the same.
    """
    low, high = _interval(timings.ratios(name, reference))
    least, most = _interval(timings.ratios(AGAIN, equal))
    if low > most:
        return low / most
    if high < least:
        return high / least
    return 1.0


def _product(n: int, dtype: str, semiring: str) -> Contender:
    return contenders.ours(*contenders.operands(n, n, n, dtype), semiring)


def _tune_blocks(
    setting: str, factors: Sequence[float], products: Sequence[Contender], seconds: float
) -> Finding:
    """Try multiples of a size in bytes on products; the best geometric mean wins."""
    suggested = _core.suggested_settings()[setting]
    values = {str(int(suggested * factor)): int(suggested * factor) for factor in factors}
    ratios: dict[int, list[float]] = {value: [] for value in values.values()}
    certain: dict[int, list[float]] = {value: [] for value in values.values()}
    for product in products:
        named = [*values.items(), (AGAIN, suggested)]
        timings = interleave(
            [contenders.with_settings(product, name, {setting: value}) for name, value in named],
            budget=Budget(seconds=seconds / len(products), rounds=1000, least_rounds=5),
        )
        for name, value in values.items():
            ratios[value].append(timings.ratio(name, str(suggested)).median)
            certain[value].append(_certain(timings, name, str(suggested), str(suggested)))
    gains = {value: statistics.geometric_mean(r) for value, r in ratios.items()}
    # Certainly faster on most products, and certainly slower on none.
    better = [
        value
        for value, shares in certain.items()
        if min(shares) >= 1 and 2 * sum(share > 1 for share in shares) > len(shares)
    ]
    best = max(better, key=gains.__getitem__, default=suggested)
    if gains[best] < WORTH:
        return Finding(setting, suggested, suggested, 1.0)
    return Finding(setting, suggested, best, gains[best])


def _tune_switch(
    setting: str, cases: Iterator[tuple[int, Contender, Contender]], seconds: float
) -> Finding:
    """Find the value above which the second of two contenders is the faster one.

    `cases` are (value, first, second) by rising values; the first runs up to the switch point.
    """
    pairs = list(cases)
    suggested = _core.suggested_settings()[setting]
    gains = {}
    budget = Budget(seconds=seconds / len(pairs), rounds=1000, least_rounds=5)
    for value, first, second in pairs:
        timings = interleave([first, second, replace(second, name=AGAIN)], budget=budget)
        gains[value] = math.log(_certain(timings, first.name, second.name, second.name))
    values = [0, *gains]
    # The score of a switch point: the gain of the first contender up to this value.
    scores = {v: sum(gain for value, gain in gains.items() if value <= v) for v in values}
    at_suggested = scores[max(v for v in values if v <= suggested)]
    best = max(values, key=scores.__getitem__)
    gain = math.exp((scores[best] - at_suggested) / len(pairs))
    if gain < WORTH:
        return Finding(setting, suggested, suggested, 1.0)
    return Finding(setting, suggested, max(best, values[1] // 2), gain)


def _both_kernels(
    a: NDArray[Any], b: NDArray[Any], *, return_argmax: bool = False
) -> tuple[Contender, Contender]:
    direct, packed = (
        contenders.ours(a, b, name=kernel, kernel=kernel, return_argmax=return_argmax)
        for kernel in ("direct", "packed")
    )
    return direct, packed


def _direct_or_packed(
    sides: Sequence[int], dtype: str
) -> Iterator[tuple[int, Contender, Contender]]:
    for n in sides:
        yield n, *_both_kernels(*contenders.operands(n, n, n, dtype))


def _argmax_by_steps(steps: Sequence[int]) -> Iterator[tuple[int, Contender, Contender]]:
    for k in steps:
        yield k, *_both_kernels(*contenders.operands(512, k, 512), return_argmax=True)


def _one_or_two_threads(sides: Sequence[int]) -> Iterator[tuple[int, Contender, Contender]]:
    """Products by one thread and by two; the value is the ``thread_share`` just above them."""
    for n in sides:
        a, b = contenders.operands(n, n, n)
        one, two = (contenders.ours(a, b, name=str(t), threads=t) for t in (1, 2))
        yield n**3 // 2 + 1, one, contenders.with_settings(two, "2", {"thread_share": 1024})


def _steps() -> dict[str, Callable[[str, float], Finding]]:
    """Return for each setting a function that finds it in a given number of seconds."""
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
        "argmax_steps": switch(_argmax_by_steps((16, 32, 48, 64, 96, 128, 192))),
    }
    if _core.config()["cores"] > 1:
        steps["thread_share"] = switch(_one_or_two_threads((48, 64, 80, 96, 128, 160)))
    return steps


def tune(seconds: float) -> Iterator[Finding]:
    """Measure every setting, with the earlier findings in effect, in about so many seconds."""
    steps = _steps()
    found: dict[str, int] = {}
    before = _core.settings()
    _core.set_settings({})
    try:
        for setting, step in steps.items():
            finding = step(setting, seconds / len(steps))
            if finding.after != finding.before:
                found[setting] = finding.after
                _core.set_settings(found)
            yield finding
    finally:
        _core.set_settings(before)


def _parse(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m tropical tune", description=__doc__, allow_abbrev=False
    )
    parser.add_argument(
        "--seconds", type=NOT_NEGATIVE, default=60.0, help="about how long to measure"
    )
    parser.add_argument("--dry-run", action="store_true", help="measure, but keep nothing")
    parser.add_argument("--reset", action="store_true", help="measure nothing, delete what is kept")
    options = parser.parse_args(argv)
    if options.reset and options.dry_run:
        parser.error("expected --reset or --dry-run, got both")
    return options


def _path() -> Path:
    """Return the file to write or to delete; raise OSError if this is impossible."""
    path = tuning.file()
    if path is None:
        raise OSError(
            "expected a file for the settings, got none: TROPICAL_TUNING is off, or no home"
        )
    tuning.check_replaceable(path)
    return path


def _measure(seconds: float) -> list[Finding]:
    """Measure every setting, and print a line for each."""
    print(f"{'setting':<14}{'from the caches':>16}{'best':>14}{'gain':>8}", flush=True)
    findings = []
    for finding in tune(seconds):
        changed = finding.after != finding.before
        best = f"{finding.after:,}" if changed else "the same"
        gain = f"{finding.gain - 1:+.1%}" if changed else ""
        print(f"{finding.setting:<14}{finding.before:>16,}{best:>14}{gain:>8}", flush=True)
        findings.append(finding)
    return findings


@refusing("tune")
def main(argv: Sequence[str] | None = None) -> int:
    """Measure, and keep the settings; an interruption keeps nothing and returns 130."""
    options = _parse(argv)
    require("platformdirs", "'tropical-blas[tune]'")
    path = None if options.dry_run else _path()
    if path and options.reset:
        path.unlink(missing_ok=True)
        print(f"{path} is gone; the settings follow from the caches")
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

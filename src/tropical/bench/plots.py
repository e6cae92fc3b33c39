"""Pictures of what `side_by_side` measured, by matplotlib (extra ``bench``).

Each function draws one figure from the cases that it needs, or returns None where there are none.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np

from tropical.bench import contenders
from tropical.bench.contenders import require
from tropical.bench.report import Case, Times
from tropical.bench.timing import Budget, interleave

__all__ = ["draw"]

KERNELS = ("naive", "tiled", "direct", "packed", "tropical")
KERNEL_SIZE = 1024
SMALL = 64  # largest n at which the time of a call is shown
SCALING_SIZE = 512  # smallest n at which threads are compared
STREAM = 4096  # side of the float32 matrix whose reading gives the memory's rate


def _rate(times: Times) -> float:
    return times.rate / 1e9


def _ceiling(case: Case) -> float:
    return _rate(case.ceiling) * case.threads if case.ceiling else float("nan")


def _lines(cases: Sequence[Case], value: Callable[[Times], float]) -> dict[str, Any]:
    """{contender: (sizes, values)}, in the order of first appearance."""
    lines: dict[str, tuple[list[int], list[float]]] = {}
    for case in cases:
        for times in case.contenders:
            sizes, values = lines.setdefault(times.name, ([], []))
            sizes.append(case.n)
            values.append(value(times))
    return lines


def _figure(title: str, x: str, y: str) -> tuple[Any, Any]:
    # Not pyplot: no window, no state that other code shares.
    figure = require("matplotlib.figure").Figure(figsize=(7, 4.2), dpi=110, layout="constrained")
    axes = figure.add_subplot(title=title, xlabel=x, ylabel=y)
    axes.grid(visible=True, alpha=0.3)
    return figure, axes


def _sizes_axis(axes: Any, sizes: Sequence[int]) -> None:
    axes.set_xscale("log", base=2)
    axes.set_xticks(sizes, [str(n) for n in sizes])
    axes.minorticks_off()


def rate_by_size(cases: Sequence[Case]) -> Any:
    """Rates of all contenders against n, with the ceiling drawn."""
    if len({case.n for case in cases}) < 2:
        return None
    first = cases[0]
    figure, axes = _figure(
        f"{first.semiring} {first.dtype}, threads: {first.threads}", "n", "10⁹ operations / s"
    )
    for name, (sizes, rates) in _lines(cases, _rate).items():
        axes.plot(sizes, rates, marker="o", markersize=3, label=name)
    axes.plot(
        [case.n for case in cases],
        [_ceiling(case) for case in cases],
        "k--",
        label="ceiling (registers only)",
    )
    _sizes_axis(axes, [case.n for case in cases])
    axes.set_ylim(bottom=0)
    axes.legend(fontsize="small")
    return figure


def kernels(cases: Sequence[Case]) -> Any:
    """Bars of the kernels at 1024, or at the largest size below that `packed` computed."""
    complete = [case for case in cases if case.n <= KERNEL_SIZE and case.find("packed")]
    if not complete:
        return None
    case = complete[-1]
    bars = {name: _rate(times) for name in KERNELS if (times := case.find(name))}
    figure, axes = _figure(str(case), "", "10⁹ operations / s")
    drawn = axes.bar(list(bars), list(bars.values()), color="tab:blue")
    axes.bar_label(drawn, fmt="%.1f")
    axes.axhline(_ceiling(case), color="black", linestyle="--", label="ceiling (registers only)")
    axes.legend(fontsize="small")
    return figure


def call_times(cases: Sequence[Case]) -> Any:
    """Times of a call for small n, on logarithmic axes."""
    small = [case for case in cases if case.n <= SMALL]
    if len(small) < 2:
        return None
    first = small[0]
    figure, axes = _figure(
        f"a call: {first.semiring} {first.dtype}, threads: {first.threads}", "n", "seconds"
    )
    for name, (sizes, seconds) in _lines(small, lambda t: float(np.median(t.seconds))).items():
        axes.plot(sizes, seconds, marker="o", markersize=3, label=name)
    _sizes_axis(axes, [case.n for case in small])
    axes.set_yscale("log")
    axes.legend(fontsize="small")
    return figure


def thread_scaling(cases: Sequence[Case]) -> Any:
    """Rates of tropical by threads, over that of one; the efficiency beside the last point."""
    figure, axes = _figure("tropical: threads over one thread", "threads", "times the rate of one")
    drawn, most = 0, 1
    large = sorted((c for c in cases if c.n >= SCALING_SIZE), key=lambda c: (c.n, c.threads))
    for n, group in groupby(large, key=lambda case: case.n):
        rates = {c.threads: _rate(times) for c in group if (times := c.find("tropical"))}
        if 1 not in rates or len(rates) < 2:
            continue
        threads = sorted(rates)
        speedup = [rates[t] / rates[1] for t in threads]
        axes.plot(threads, speedup, marker="o", label=f"n = {n}")
        axes.annotate(
            f"{speedup[-1] / threads[-1]:.0%}",
            (threads[-1], speedup[-1]),
            textcoords="offset points",
            xytext=(6, -3),
            fontsize="small",
        )
        drawn, most = drawn + 1, max(most, threads[-1])
    if not drawn:
        return None
    axes.plot([1, most], [1, most], "k--", label="as many times")
    axes.set_xticks(range(1, most + 1))
    axes.margins(x=0.15)
    axes.legend(fontsize="small")
    return figure


def _memory_rate() -> float:
    """Bytes per second that one core reads, in 10⁹; measured when the picture is drawn."""
    matrix = np.ones((STREAM, STREAM), np.float32)
    reading = contenders.numpy_max(matrix)
    return interleave([reading], budget=Budget(seconds=0.2)).rate(reading.name) / 1e9


def roofline(cases: Sequence[Case]) -> Any:
    """Rates against arithmetic intensity: operations per byte that must be moved at least."""
    single = [case for case in cases if case.threads == 1 and case.find("tropical")]
    if not single:
        return None
    first, peak, memory = single[0], max(map(_ceiling, single)), _memory_rate()
    item = np.dtype(first.dtype).itemsize
    figure, axes = _figure(
        f"roofline: {first.semiring} {first.dtype}, one thread",
        "operations / byte of a, b and out",
        "10⁹ operations / s",
    )
    intensity = [2 * case.n / (3 * item) for case in single]
    span = np.geomspace(
        min(*intensity, 0.5 * peak / memory), max(*intensity, 2 * peak / memory), 50
    )
    axes.plot(span, np.minimum(peak, memory * span), "k--", label="roof: memory, then the ceiling")
    rates = [_rate(times) for case in single if (times := case.find("tropical"))]
    axes.plot(intensity, rates, marker="o", label="tropical, n from small to large")
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.legend(fontsize="small")
    return figure


def draw(cases: Sequence[Case], folder: Path) -> list[Path]:
    """Draw what the cases allow, as PNG files in `folder`, which is made if it is not there.

    Parameters
    ----------
    cases : sequence of Case
        Of any semirings, dtypes, sizes and threads, with times.
    folder : Path
        Where to write.

    Returns
    -------
    list of Path
        What was written.

    Raises
    ------
    AbsentError
        Without matplotlib.
    """
    require("matplotlib")
    folder.mkdir(parents=True, exist_ok=True)
    measured = sorted(
        (case for case in cases if case.contenders and case.contenders[0].seconds),
        key=lambda case: (case.semiring, case.dtype, case.threads, case.n),
    )
    written = []

    def save(figure: Any, *words: object) -> None:
        if figure is not None:
            path = folder / f"{'-'.join(map(str, words))}.png"
            figure.savefig(path)
            written.append(path)

    for (semiring, dtype), group in groupby(measured, key=lambda c: (c.semiring, c.dtype)):
        same = list(group)
        save(thread_scaling(same), semiring, dtype, "threads")
        save(roofline(same), semiring, dtype, "roofline")
        for threads, line in groupby(same, key=lambda case: case.threads):
            of_line = list(line)
            where = (semiring, dtype, f"{threads}-threads" if threads > 1 else "1-thread")
            save(rate_by_size(of_line), *where, "rate")
            save(kernels(of_line), *where, "kernels")
            save(call_times(of_line), *where, "call")
    return written

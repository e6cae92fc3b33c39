"""Pictures of the records of `side_by_side`, by matplotlib (extra ``bench``).

Each function returns a figure, or None if it lacks records. The records are of products of (n, n)
by (n, n), with the ceiling as reference.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np

from tropical.bench.record import Record, Times
from tropical.examples import new_figure
from tropical.measure.contenders import require

SMALL = 64  # largest n at which the time of a call is shown


def _product(record: Record) -> tuple[str, str, int, int]:
    """Return semiring, dtype, threads and n: the key by which records are sorted."""
    semiring, dtype, n, threads = record.product or ("", "", 0, 0)
    return semiring, dtype, threads, n


def _n(record: Record) -> int:
    return _product(record)[3]


def _lines(records: Sequence[Record], value: Callable[[Times], float]) -> dict[str, Any]:
    """Return {contender: (sizes, values)}, in the order of the records."""
    lines: dict[str, tuple[list[int], list[float]]] = {}
    for record in records:
        for name, times in record.times.items():
            if name != record.reference:
                sizes, values = lines.setdefault(name, ([], []))
                sizes.append(_n(record))
                values.append(value(times))
    return lines


def _figure(title: str, x: str, y: str) -> tuple[Any, Any]:
    figure = new_figure(7, 4.2)
    axes = figure.add_subplot(title=title, xlabel=x, ylabel=y)
    axes.grid(visible=True, alpha=0.3)
    return figure, axes


def _draw_lines(axes: Any, records: Sequence[Record], value: Callable[[Times], float]) -> None:
    for name, (sizes, values) in _lines(records, value).items():
        axes.plot(sizes, values, marker="o", markersize=3, label=name)
    axes.set_xscale("log", base=2)
    axes.set_xticks([_n(r) for r in records], [str(_n(r)) for r in records])
    axes.minorticks_off()


def rate_by_size(records: Sequence[Record]) -> Any:
    """Rates of all contenders against n, with the ceiling drawn."""
    if len(records) < 2:
        return None
    semiring, dtype, threads, _ = _product(records[0])
    title = f"{semiring} {dtype}, threads: {threads}"
    figure, axes = _figure(title, "n", "10⁹ operations / s")
    _draw_lines(axes, records, lambda times: times.rate / 1e9)
    ceilings = [record.times[record.reference].rate / 1e9 for record in records]
    axes.plot([_n(r) for r in records], ceilings, "k--", label="ceiling (registers only)")
    axes.set_ylim(bottom=0)
    axes.legend(fontsize="small")
    return figure


def call_times(records: Sequence[Record]) -> Any:
    """Times of a call for small n, on logarithmic axes."""
    small = [record for record in records if _n(record) <= SMALL]
    if len(small) < 2:
        return None
    semiring, dtype, threads, _ = _product(small[0])
    figure, axes = _figure(f"a call: {semiring} {dtype}, threads: {threads}", "n", "seconds")
    _draw_lines(axes, small, lambda times: float(np.median(times.seconds)))
    axes.set_yscale("log")
    axes.legend(fontsize="small")
    return figure


def draw(records: Sequence[Record], folder: Path) -> list[Path]:
    """Draw every figure that the records allow; return the PNG files, which are in `folder`."""
    require("matplotlib")
    folder.mkdir(parents=True, exist_ok=True)
    measured = sorted((record for record in records if record.rounds), key=_product)
    written = []
    for (semiring, dtype, threads), group in groupby(measured, key=lambda r: _product(r)[:3]):
        line = list(group)
        where = f"{semiring}-{dtype}-{threads}-thread{'s' if threads > 1 else ''}"
        for name, figure in (("rate", rate_by_size(line)), ("call", call_times(line))):
            if figure is not None:
                path = folder / f"{where}-{name}.png"
                figure.savefig(path)
                written.append(path)
    return written


def save_shares(shares: Sequence[tuple[tuple[int, int, int], float]], path: Path) -> None:
    """Draw heat maps of shares by (m, k), (n, k) and (m, n): the median and the least of a cell.

    Each share comes with (m, k, n). Cells are powers of two.
    """
    require("matplotlib")
    figure = new_figure(11, 7)
    sizes = np.array([size for size, _ in shares])
    values = np.array([value for _, value in shares])
    cells = np.log2(sizes).round().astype(int)
    rows = (("median", np.median), ("least", np.min))
    for number, ((word, reduce), (x, y)) in enumerate(
        (row, axes) for row in rows for axes in ((0, 1), (2, 1), (0, 2))
    ):
        grid = np.full((cells[:, y].max() + 1, cells[:, x].max() + 1), np.nan)
        for cell in {(int(row[y]), int(row[x])) for row in cells}:
            inside = (cells[:, y] == cell[0]) & (cells[:, x] == cell[1])
            grid[cell] = reduce(values[inside])
        title = f"{word} share of the nearest limit"
        axes = figure.add_subplot(2, 3, number + 1, title=title, xlabel="mkn"[x], ylabel="mkn"[y])
        image = axes.imshow(grid, origin="lower", vmin=0, vmax=1, cmap="viridis")
        for ticks, length in ((axes.set_xticks, grid.shape[1]), (axes.set_yticks, grid.shape[0])):
            ticks(range(0, length, 2), [str(2**exponent) for exponent in range(0, length, 2)])
        axes.tick_params(axis="x", labelrotation=60)
    figure.colorbar(image, ax=figure.axes, shrink=0.6)
    figure.savefig(path)

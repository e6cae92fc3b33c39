"""What pieces of bfloat16 cost and gain here: time and error by precision.

``python -m tropical.examples.precisions 2048`` multiplies two random matrices of float32 with that
side in every precision of `tropical.gemm`, on one thread, and compares with the product in float64.
``--picture FILE`` draws the table.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

import tropical
from tropical.examples import new_figure, new_parser, run_comparison, save
from tropical.measure.terminal import run
from tropical.measure.timing import Budget, Contender, interleave

PRECISIONS = ("float32", "bf16", "bf16x3", "bf16x6")


@dataclass(frozen=True)
class Row:
    """One precision: time over float32's, largest and mean error.

    The error of an element is relative to ``abs(a) @ abs(b)``, as the documented bounds are; the
    mean is the root of the mean square.
    """

    precision: str
    time: float
    largest: float
    mean: float


def compare(side: int, *, seconds: float = 10.0, seed: int = 0) -> list[Row]:
    """Multiply random matrices, (side, side) of float32 in [-1, 1), in every precision.

    Raises
    ------
    ValueError
        If `side` is less than 1.
    """
    if side < 1:
        raise ValueError(f"side: expected at least 1, got {side}")
    rng = np.random.default_rng(seed)
    a, b = (rng.uniform(-1, 1, (side, side)).astype(np.float32) for _ in "ab")
    multiply = partial(tropical.gemm, semiring="plustimes")
    exact = multiply(a.astype(float), b.astype(float))
    sizes = multiply(abs(a).astype(float), abs(b).astype(float))
    out = np.empty_like(a)
    one_thread = partial(tropical.options, threads=1)
    calls = [
        Contender(name, partial(multiply, a, b, out=out, precision=name), 1.0, one_thread)
        for name in PRECISIONS
    ]
    timings = interleave(calls, budget=Budget(seconds=seconds, rounds=100, least_rounds=3))
    rows = []
    for name in PRECISIONS:
        time = 1 / timings.ratio(name, "float32").median if name != "float32" else 1.0
        error = abs(multiply(a, b, precision=name, threads=1) - exact) / sizes
        rows.append(Row(name, time, float(error.max()), float(np.sqrt(np.mean(error**2)))))
    return rows


def draw(rows: Sequence[Row], side: int, path: str) -> None:
    """Draw the error of each precision over its speed.

    Raises
    ------
    tropical.extras.NotInstalledError
        Without matplotlib.
    """
    figure = new_figure(6, 3.4)
    axes = figure.subplots()
    for label in ("largest", "mean"):
        axes.plot([1 / row.time for row in rows], [getattr(row, label) for row in rows], "o",
                  label=label)  # fmt: skip
    for row in rows:
        axes.annotate(row.precision, (1 / row.time, row.largest), (5, 4),
                      textcoords="offset points")  # fmt: skip
    axes.set(
        xlabel="speed over that of float32",
        ylabel="error over abs(a) @ abs(b)",
        yscale="log",
        title=f"{side} x {side}: precisions of plus-times",
    )
    axes.margins(x=0.15, y=0.15)
    axes.legend()
    save(figure, path)


def main(arguments: Sequence[str] | None = None) -> None:
    """Compare, print, and draw on request."""
    run_comparison(new_parser("precisions", __doc__), "precision", compare, draw, arguments)


if __name__ == "__main__":
    run("python -m tropical.examples.precisions", main)

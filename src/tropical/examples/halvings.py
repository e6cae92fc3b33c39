"""What Strassen's algorithm costs and gains here: time and error by how often it halves matrices.

``python -m tropical.examples.halvings 2048`` multiplies two random matrices of float32 with that
side by the kernels ``packed`` and ``strassen``, on one thread, and compares with the product in
float64. ``--picture FILE`` draws the table.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

import tropical
from tropical.examples import new_figure, new_parser, run_comparison, save
from tropical.measure import contenders
from tropical.measure.terminal import run
from tropical.measure.timing import Budget, Contender, interleave

MOST = 3


@dataclass(frozen=True)
class Row:
    """One kernel: its halvings (0: ``packed``), time over packed's, largest and mean error.

    The error of an element is relative to the largest element of the product; the mean is the root
    of the mean square.
    """

    halvings: int
    time: float
    largest: float
    mean: float


def compare(side: int, *, seconds: float = 10.0, seed: int = 0) -> list[Row]:
    """Multiply random matrices, (side, side) of float32 in [-1, 1), by none to three halvings.

    Raises
    ------
    ValueError
        If `side` is less than 8.
    """
    if side < 1 << MOST:
        raise ValueError(f"side: expected at least {1 << MOST}, got {side}")
    rng = np.random.default_rng(seed)
    a, b = (rng.uniform(-1, 1, (side, side)).astype(np.float32) for _ in "ab")
    exact = tropical.gemm(a.astype(float), b.astype(float), semiring="plustimes")
    calls = [_call(a, b, halvings) for halvings in range(MOST + 1)]
    timings = interleave(calls, budget=Budget(seconds=seconds, rounds=100, least_rounds=3))
    rows = []
    for halvings, call in enumerate(calls):
        time = 1 / timings.ratio(call.name, calls[0].name).median if halvings else 1.0
        with call.context():
            error = abs(np.asarray(call.call()) - exact) / abs(exact).max()
        rows.append(Row(halvings, time, float(error.max()), float(np.sqrt(np.mean(error**2)))))
    return rows


def _call(a: NDArray[np.float32], b: NDArray[np.float32], halvings: int) -> Contender:
    kernel = "strassen" if halvings else "packed"
    call = contenders.ours(a, b, "plustimes", name=kernel, kernel=kernel)
    return contenders.with_settings(
        call, f"{kernel} {halvings}", {"strassen_side": len(a) >> halvings}
    )


def draw(rows: Sequence[Row], side: int, path: str) -> None:
    """Draw the error of each kernel over its time.

    Raises
    ------
    tropical.extras.NotInstalledError
        Without matplotlib.
    """
    figure = new_figure(6, 3.4)
    axes = figure.subplots()
    times = [row.time for row in rows]
    for label, errors in (
        ("largest", [row.largest for row in rows]),
        ("mean", [row.mean for row in rows]),
    ):
        axes.plot(times, errors, "o-", label=label)
        for row, error in zip(rows, errors, strict=True):
            axes.annotate(str(row.halvings), (row.time, error), (4, 5), textcoords="offset points")
    axes.set(
        xlabel="time over that of packed",
        ylabel="error over the largest element",
        yscale="log",
        title=f"{side} x {side}, float32: numbers of halvings",
    )
    axes.legend()
    save(figure, path)


def main(arguments: Sequence[str] | None = None) -> None:
    """Compare, print, and draw on request."""
    run_comparison(new_parser("halvings", __doc__), "halvings", compare, draw, arguments)


if __name__ == "__main__":
    run("python -m tropical.examples.halvings", main)

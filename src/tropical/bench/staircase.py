"""`python -m tropical bench --staircase`: what each step from three loops to five is worth.

The steps are the kernels that a user can choose, slowest first, then all cores; beside them, for
plus-times, NumPy's OpenBLAS. docs/how-it-became-fast.md says what each changes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from tropical import _core
from tropical.bench import contenders
from tropical.bench.contenders import AbsentError
from tropical.bench.timing import Budget, Contender, Timings, interleave

__all__ = ["SIZES", "Step", "climb"]

SIZES = (512, 1024, 2048)
KERNELS = {
    "naive": "naive: three loops",
    "tiled": "tiled: cache blocks",
    "direct": "direct: vectors, registers",
    "packed": "packed: five loops",
}
THREADED, BLAS, CEILING = "threaded", "numpy", "ceiling"


@dataclass(frozen=True)
class Step:
    """One line of the table at one size.

    `rate` is in operations per second, `factor` over the step before (NaN for the first and for
    what is no step), `share` that of the ceiling of the cores in use.
    """

    label: str
    n: int
    rate: float
    factor: float
    share: float


def _contenders(semiring: str, dtype: str, n: int) -> list[Contender]:
    a, b = contenders.operands(n, n, n, dtype)
    cores = _core.config()["cores"]

    def ours(name: str, kernel: str, threads: int = 1) -> Contender:
        return contenders.ours(a, b, semiring, name=name, kernel=kernel, threads=threads)

    steps = [ours(kernel, kernel) for kernel in KERNELS]
    if cores > 1:
        steps.append(ours(THREADED, "packed", cores))
    if semiring == "plustimes":
        with suppress(AbsentError):  # without threadpoolctl it cannot be held to one thread
            steps.append(contenders.numpy_matmul(a, b, threads=1))
    return [*steps, contenders.ceiling(semiring, dtype)]


def _steps(timings: Timings, n: int) -> list[Step]:
    cores = _core.config()["cores"]
    labels = {**KERNELS, THREADED: f"threaded: {cores} cores", BLAS: "NumPy's BLAS, one thread"}
    ceiling = timings.rate(CEILING)
    steps, before = [], float("nan")
    for name, label in labels.items():
        if name not in timings.seconds:
            continue
        rate = timings.rate(name)
        factor = float("nan") if name == BLAS else rate / before
        used = cores if name == THREADED else 1
        steps.append(Step(label, n, rate, factor, rate / (used * ceiling)))
        before = rate
    return steps


def climb(
    semiring: str,
    dtype: str,
    sizes: Sequence[int] = SIZES,
    budget: Budget | None = None,
    *,
    on_size: Callable[[int], Any] = lambda n: None,
) -> list[Step]:
    """Time all steps at each size, interleaved; the scalar ones take minutes at 2048.

    Parameters
    ----------
    semiring, dtype : str
        What to compute.
    sizes : sequence of int
        Sides of the square operands.
    budget : Budget, optional
        Per size; one round is made in any case.
    on_size : callable
        Called with each size before it is measured.

    Returns
    -------
    list of Step
        By sizes, slowest kernel first.
    """
    budget = budget or Budget(seconds=10.0, rounds=9, least_rounds=1)
    steps = []
    for n in sizes:
        on_size(n)
        steps += _steps(interleave(_contenders(semiring, dtype, n), budget=budget), n)
    return steps

"""`python -m tropical rates`: the rate of each semiring beside the ceiling of its arithmetic."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import tropical
from tropical.measure import contenders
from tropical.measure.timing import Budget, interleave

SIZE = 512
BUDGET = Budget(sample=2e-3, seconds=0.1, rounds=25, least_rounds=7)


@dataclass(frozen=True)
class Rate:
    """The rate of a product, and its share of the ceiling.

    Attributes
    ----------
    rate : float
        Operations per second, two for each product of elements.
    share : float
        Of the ceiling, at most 1. A product on a busy machine may be faster than the ceiling that
        was measured beside it; the product itself is then the best rate that was reached.
    """

    rate: float
    share: float

    @property
    def ceiling(self) -> float:
        """Operations per second that the share refers to; never less than `rate`."""
        return self.rate / self.share


def rates_of(
    semiring: str, dtype: str, *, threads: tuple[int, ...] = (1,), budget: Budget = BUDGET
) -> list[Rate]:
    """Measure a product of (512, 512) by (512, 512), and the ceiling in turns with the product.

    Parameters
    ----------
    semiring, dtype : str
        As `tropical.gemm` takes them.
    threads : tuple of int
        The numbers of threads to measure; the ceiling of t threads is t times that of one.
    budget : Budget
        How long to measure.

    Returns
    -------
    list of Rate
        One for each number of threads.

    Examples
    --------
    >>> from tropical.measure.timing import QUICK
    >>> (rate,) = rates_of("minplus", "float32", budget=QUICK)
    >>> 0 < rate.share <= 1 and rate.ceiling >= rate.rate
    True
    """
    a, b = contenders.operands(SIZE, SIZE, SIZE, dtype)
    ours = [contenders.ours(a, b, semiring, name=str(t), threads=t) for t in threads]
    ceiling = contenders.ceiling(semiring, dtype)
    times = interleave([*ours, ceiling], budget=budget)
    return [
        Rate(times.rate(one.name), min(1.0, times.ratio(one.name, ceiling.name).median / t))
        for one, t in zip(ours, threads, strict=True)
    ]


def lines() -> Iterator[str]:
    """Yield a heading, and a line for each semiring."""
    yield f"One thread, {SIZE} x {SIZE} by {SIZE} x {SIZE}, in 10^9 operations a second."
    yield "ceiling: the same operations in registers alone, measured in turns with the product."
    yield f"  {'':<24}{'dtype':<10}{'rate':>8}{'ceiling':>10}{'share':>8}"
    for semiring in tropical.semirings.ALL:
        dtype = "float32" if "float32" in semiring.dtypes else "bool"
        (found,) = rates_of(semiring.name, dtype)
        yield (
            f"  {semiring!s:<24}{dtype:<10}{found.rate / 1e9:>8.1f}"
            f"{found.ceiling / 1e9:>10.1f}{found.share:>8.0%}"
        )

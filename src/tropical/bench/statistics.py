"""How sure a ratio is: bootstrap intervals and significance tests, from SciPy (extra ``bench``).

Without SciPy, `AbsentError` says how to get it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tropical.bench.contenders import require

__all__ = ["Comparison", "compare_paired", "compare_unpaired"]

RESAMPLES = 2000
FEWEST = 2  # of which an interval can be drawn


@dataclass(frozen=True)
class Comparison:
    """A ratio of rates, above 1 where the first is faster.

    Attributes
    ----------
    ratio : float
        Of medians, or the median of ratios taken round by round.
    low, high : float
        Its 95% interval, by the percentile bootstrap (Efron and Tibshirani 1993, chapter 13); NaN
        with fewer than two rounds.
    p_value : float
        The probability of a difference at least as large between equals; NaN likewise.
    """

    ratio: float
    low: float
    high: float
    p_value: float


def _compare(
    samples: Sequence[NDArray[np.float64]],
    statistic: Callable[..., Any],
    p_value: Callable[[], float],
) -> Comparison:
    ratio = float(statistic(*samples))
    if min(map(len, samples)) < FEWEST:
        return Comparison(ratio, float("nan"), float("nan"), float("nan"))
    interval = (
        require("scipy.stats")
        .bootstrap(
            samples,
            statistic,
            n_resamples=RESAMPLES,
            method="percentile",
            vectorized=True,
            random_state=np.random.default_rng(0),
        )
        .confidence_interval
    )
    return Comparison(ratio, float(interval.low), float(interval.high), p_value())


def compare_paired(seconds: Sequence[float], reference: Sequence[float]) -> Comparison:
    """Compare times that were taken in the same rounds; `reference` is the baseline.

    The significance is that of Wilcoxon's signed-rank test on the logarithms of the ratios.

    Examples
    --------
    >>> compare_paired([1.0, 1.1, 0.9], [2.0, 2.2, 1.8]).ratio
    2.0
    """
    ratios = np.asarray(reference, float) / np.asarray(seconds, float)

    def p_value() -> float:
        logarithms = np.log(ratios)
        if not np.any(logarithms):  # which the test does not take
            return 1.0
        return float(require("scipy.stats").wilcoxon(logarithms).pvalue)

    return _compare((ratios,), np.median, p_value)


def compare_unpaired(new: Sequence[float], old: Sequence[float]) -> Comparison:
    """Compare rates of two runs: `new` over `old`.

    The significance is that of the test of Mann and Whitney (1947).

    Examples
    --------
    >>> compare_unpaired([4.0, 4.0, 4.0], [2.0, 2.0, 2.0]).ratio
    2.0
    """
    first, second = np.asarray(new, float), np.asarray(old, float)

    def ratio_of_medians(
        x: NDArray[np.float64], y: NDArray[np.float64], axis: int = -1
    ) -> NDArray[np.float64]:
        result: NDArray[np.float64] = np.median(x, axis=axis) / np.median(y, axis=axis)
        return result

    def p_value() -> float:
        return float(require("scipy.stats").mannwhitneyu(first, second).pvalue)

    return _compare((first, second), ratio_of_medians, p_value)

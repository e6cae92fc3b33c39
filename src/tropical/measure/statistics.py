"""Bootstrap intervals and significance tests of ratios, from SciPy (extra ``bench``).

Without SciPy, the functions raise `AbsentError`, whose message says how to install SciPy.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tropical.measure.contenders import require

Sample: TypeAlias = Sequence[float] | NDArray[np.float64]

RESAMPLES = 2000
FEWEST = 2  # rounds that an interval needs


@dataclass(frozen=True)
class Comparison:
    """A ratio of rates, above 1 if the first contender is faster.

    Attributes
    ----------
    ratio : float
        The ratio of medians, or the median of the ratios of rounds.
    low, high : float
        The 95% interval of the ratio, by the percentile bootstrap (Efron and Tibshirani 1993,
        chapter 13); NaN with fewer than two rounds.
    p_value : float
        The probability of such a difference between equal contenders; NaN likewise.
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


def compare_paired(seconds: Sample, reference: Sample) -> Comparison:
    """Compare times of the same rounds; `reference` is the baseline.

    The significance is that of Wilcoxon's signed-rank test on the logarithms of the ratios.

    Examples
    --------
    >>> compare_paired([1.0, 1.1, 0.9], [2.0, 2.2, 1.8]).ratio
    2.0
    """
    ratios = np.asarray(reference, float) / np.asarray(seconds, float)

    def p_value() -> float:
        logarithms = np.log(ratios)
        if not np.any(logarithms):  # the test needs a difference
            return 1.0
        return float(require("scipy.stats").wilcoxon(logarithms).pvalue)

    return _compare((ratios,), np.median, p_value)


def compare_unpaired(new: Sample, old: Sample) -> Comparison:
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
        return np.median(x, axis=axis) / np.median(y, axis=axis)

    def p_value() -> float:
        return float(require("scipy.stats").mannwhitneyu(first, second).pvalue)

    return _compare((first, second), ratio_of_medians, p_value)

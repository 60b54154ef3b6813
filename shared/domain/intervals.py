"""How far a few runs can be trusted: confidence intervals of 95 %."""

from bisect import bisect_right
from collections.abc import Sequence
from math import sqrt
from statistics import fmean, variance
from typing import NamedTuple

_Z = 1.959964
# Quantiles of Student's t for 97.5 %, by degrees of freedom; between two of them the wider one holds.
_DEGREES = (*range(1, 31), 40, 60, 120)
_QUANTILES = (
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131, 2.120,
    2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042, 2.021, 2.000,
    1.980,
)  # fmt: skip


class Interval(NamedTuple):
    low: float
    high: float


def chance_interval(passed: int, runs: int) -> Interval:
    """Of the chance that a run passes: E. B. Wilson's score interval (J. Am. Stat. Assoc. 22, 1927)."""
    share, weight = passed / runs, _Z**2 / runs
    middle = (share + weight / 2) / (1 + weight)
    half = sqrt(share * (1 - share) * weight + weight**2 / 4) / (1 + weight)
    return Interval(max(0.0, middle - half), min(1.0, middle + half))


def mean_interval(values: Sequence[float]) -> Interval | None:
    """Of the mean, by Student's t; ``None`` for a single value, which says nothing of how they scatter."""
    if len(values) < 2:
        return None
    half = _quantile(len(values) - 1) * sqrt(variance(values) / len(values))
    return Interval(fmean(values) - half, fmean(values) + half)


def difference_interval(before: Sequence[float], after: Sequence[float]) -> Interval | None:
    """Of the difference of two means, by B. L. Welch's t (Biometrika 34, 1947); ``None`` if one is a single value's."""
    if len(before) < 2 or len(after) < 2:
        return None
    first, second = variance(before) / len(before), variance(after) / len(after)
    change = fmean(after) - fmean(before)
    total = first + second
    if total == 0:
        return Interval(change, change)
    degrees = 1 / ((first / total) ** 2 / (len(before) - 1) + (second / total) ** 2 / (len(after) - 1))
    half = _quantile(degrees) * sqrt(total)
    return Interval(change - half, change + half)


def _quantile(degrees: float) -> float:
    return _QUANTILES[max(bisect_right(_DEGREES, degrees), 1) - 1]

"""Estimates from few runs: confidence intervals, the trend of a mean, and whether predictions can be relied on."""

from bisect import bisect_right
from collections.abc import Sequence
from datetime import UTC, datetime
from enum import StrEnum
from math import comb, sqrt
from statistics import fmean, variance
from typing import NamedTuple

from shared.domain.bandit import REWARD_UNITS

_NORMAL_QUANTILE = 1.959964
# Quantiles of Student's t for 97.5 %, by degrees of freedom; between two of them the wider one holds.
_T_DEGREES = (*range(1, 31), 40, 60, 120)
_T_QUANTILES = (
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131, 2.120,
    2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042, 2.021, 2.000,
    1.980,
)  # fmt: skip


class ConfidenceInterval(NamedTuple):
    """A 95 % confidence interval."""

    low: float
    high: float


def compute_chance_interval(passed: int, runs: int) -> ConfidenceInterval:
    """The 95 % interval of the chance that a run passes, by Wilson's score (J. Am. Stat. Assoc. 22, 1927).

    ``runs``: at least one.
    """
    share, weight = passed / runs, _NORMAL_QUANTILE**2 / runs
    middle = (share + weight / 2) / (1 + weight)
    half = sqrt(share * (1 - share) * weight + weight**2 / 4) / (1 + weight)
    return ConfidenceInterval(max(0.0, middle - half), min(1.0, middle + half))


def compute_mean_interval(values: Sequence[float]) -> ConfidenceInterval | None:
    """The 95 % interval of the mean, by Student's t; ``None`` for fewer than two values."""
    if len(values) < 2:
        return None
    half = _compute_t_quantile(len(values) - 1) * sqrt(variance(values) / len(values))
    return ConfidenceInterval(fmean(values) - half, fmean(values) + half)


def compute_difference_interval(before: Sequence[float], after: Sequence[float]) -> ConfidenceInterval | None:
    """The 95 % interval of the mean after minus the mean before, by B. L. Welch's t (Biometrika 34, 1947).

    ``None`` if one of them has fewer than two values.
    """
    if len(before) < 2 or len(after) < 2:
        return None
    error_before, error_after = variance(before) / len(before), variance(after) / len(after)
    change = fmean(after) - fmean(before)
    error_sum = error_before + error_after
    if error_sum == 0:
        return ConfidenceInterval(change, change)
    share_before, share_after = error_before / error_sum, error_after / error_sum
    degrees = 1 / (share_before**2 / (len(before) - 1) + share_after**2 / (len(after) - 1))
    half = _compute_t_quantile(degrees) * sqrt(error_sum)
    return ConfidenceInterval(change - half, change + half)


def _compute_t_quantile(degrees: float) -> float:
    return _T_QUANTILES[max(bisect_right(_T_DEGREES, degrees), 1) - 1]


TREND_POINTS_KEPT = 64
TREND_DAYS_KEPT = 400


class CumulativeReward(NamedTuple):
    """A stored point of the course of rewards: after ``n`` cases, the sum of their rewards in ten-thousandths
    (``units``), and when the last one ended (ms).
    """

    n: int
    units: int
    at_ms: int


class TrendPoint(NamedTuple):
    """One point to draw: the mean of all rewards so far, and of those since the previous point (``recent``)."""

    n: int
    at_ms: int
    mean: float
    recent: float

    @property
    def at(self) -> datetime:
        return datetime.fromtimestamp(self.at_ms / 1000, UTC)


def parse_trend(text: str) -> tuple[CumulativeReward, ...]:
    """Parses a stored trend, ``n:units:at_ms`` separated by spaces. Raises ``ValueError``."""
    return tuple(_parse_cumulative_reward(part) for part in text.split())


def _parse_cumulative_reward(text: str) -> CumulativeReward:
    n, units, at_ms = map(int, text.split(":"))
    return CumulativeReward(n, units, at_ms)


def build_trend_points(points: Sequence[CumulativeReward]) -> tuple[TrendPoint, ...]:
    """The points to draw, in the order of cases. Times never decrease, although cases may end out of order."""
    drawn: list[TrendPoint] = []
    previous = CumulativeReward(0, 0, 0)
    for point in sorted(points):
        recent = (point.units - previous.units) / (REWARD_UNITS * max(1, point.n - previous.n))
        at_ms = max(point.at_ms, previous.at_ms)
        drawn.append(TrendPoint(point.n, at_ms, point.units / (REWARD_UNITS * max(1, point.n)), recent))
        previous = point._replace(at_ms=at_ms)
    return tuple(drawn)


PREDICTIONS_KEPT = 10
_NEWEST_PREDICTIONS = 5
_LEAST_PERCENT_RIGHT = 40  # percent: with fewer of the last ones right, a prediction misleads
_FEWEST_SAMPLES = 3  # samples before anything is said of them
_UNKNOWN_CONFIDENCE = 0.75
_TRUSTED_CONFIDENCE = 0.75


class PredictionTrust(StrEnum):
    """How far predictions of a kind are trusted, by how many came true. ``NONE``: too few were checked."""

    NONE = ""
    TRUST = "trust"
    VERIFY = "verify"
    DRIFT = "drift"


def compute_prediction_confidence(attempts: int, matches: int) -> float:
    """The share of predictions that came true; 0.75 while there are fewer than three."""
    return matches / attempts if attempts >= _FEWEST_SAMPLES else _UNKNOWN_CONFIDENCE


def is_drifting(window: Sequence[bool]) -> bool:
    """Whether fewer than 40 % of the last five predictions came true; False while there are fewer than five."""
    newest = window[-_NEWEST_PREDICTIONS:]
    return len(newest) == _NEWEST_PREDICTIONS and 100 * sum(newest) < _LEAST_PERCENT_RIGHT * len(newest)


def judge_prediction_trust(attempts: int, matches: int, window: Sequence[bool]) -> PredictionTrust:
    """How far a kind of prediction is trusted, by its overall accuracy and the newest results."""
    if is_drifting(window):
        return PredictionTrust.DRIFT
    if attempts < _FEWEST_SAMPLES:
        return PredictionTrust.NONE
    return (
        PredictionTrust.TRUST
        if compute_prediction_confidence(attempts, matches) >= _TRUSTED_CONFIDENCE
        else PredictionTrust.VERIFY
    )


def count_recent_matches(window: Sequence[bool]) -> tuple[int, int]:
    """How many of the last five predictions came true, and how many of these five exist."""
    newest = window[-_NEWEST_PREDICTIONS:]
    return sum(newest), len(newest)


def compute_pass_hat(passed: int, runs: int) -> dict[int, float]:
    """For each k up to ``runs``: the chance that k runs, drawn from these without replacement, all passed.

    The unbiased estimate C(passed, k) / C(runs, k) of S. Yao, N. Shinn, P. Razavi and K. Narasimhan, "tau-bench: A
    Benchmark for Tool-Agent-User Interaction in Real-World Domains", 2024, section 3 (arXiv 2406.12045). Unlike pass@k,
    which asks whether one of k runs passes, it falls as k grows. Empty for no runs.
    """
    return {k: comb(passed, k) / comb(runs, k) for k in range(1, runs + 1)}

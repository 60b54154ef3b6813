"""Figures from stored assessments: points by criterion, and a comparison of two assessments."""

from collections.abc import Sequence
from itertools import zip_longest
from statistics import fmean
from typing import NamedTuple

from shared.contracts.assessment.results import Assessment, CriterionResult
from shared.domain.estimates import Interval, difference_interval


class CriterionPoints(NamedTuple):
    """The points of one criterion in each run. ``reason``: the explanation for the run with the fewest points."""

    dimension: str
    criterion: str
    name: str
    points: tuple[float, ...]
    most: float
    reason: str
    unjudged: bool

    @property
    def mean(self) -> float:
        return fmean(self.points)


class CriterionChange(NamedTuple):
    """Mean points before and after; None where one assessment lacks the criterion.

    ``interval``: the 95 % confidence interval of the difference; None if one side has a single run.
    """

    before: float | None
    after: float | None
    interval: Interval | None = None

    @property
    def is_clear(self) -> bool:
        """Whether the difference is significant: its 95 % interval does not contain 0."""
        return self.interval is not None and not self.interval.low <= 0 <= self.interval.high

    @property
    def change(self) -> float | None:
        return None if self.before is None or self.after is None else self.after - self.before


class Comparison(NamedTuple):
    """How points changed between two assessments. ``names``: the criteria's names for people."""

    dimensions: dict[str, CriterionChange]
    criteria: dict[str, CriterionChange]
    overall: CriterionChange
    names: dict[str, str]


def criterion_points(assessment: Assessment) -> list[CriterionPoints]:
    """The assessment's criteria with their points, grouped by dimension in the order of the scenario."""
    found: dict[str, list[CriterionResult]] = {}
    for run in assessment.runs:
        for result in run.results.criteria_results:
            found.setdefault(result.criterion_id, []).append(result)
    listed = [_points_of_criterion(results) for results in found.values()]
    order = list(dict.fromkeys(line.dimension for line in listed))
    return sorted(listed, key=lambda line: order.index(line.dimension))


def compare_assessments(before: Assessment, after: Assessment) -> Comparison:
    """Compares points by criterion, by dimension and in total, as means over the runs of each assessment."""
    first, second = criterion_points(before), criterion_points(after)
    criteria = {line.criterion: line for line in (*first, *second)}
    return Comparison(
        dimensions={
            name: _compare_points(_run_totals(first, name), _run_totals(second, name))
            for name in dict.fromkeys(line.dimension for line in criteria.values())
        },
        criteria={name: _compare_points(_run_points(first, name), _run_points(second, name)) for name in criteria},
        overall=_compare_points(_run_totals(first), _run_totals(second)),
        names={name: line.name for name, line in criteria.items()},
    )


def _points_of_criterion(results: Sequence[CriterionResult]) -> CriterionPoints:
    worst = min(results, key=lambda result: result.score)
    points = tuple(result.score for result in results)
    first = results[0]
    return CriterionPoints(
        first.dimension.value,
        first.criterion_id,
        first.name,
        points,
        first.max_score,
        worst.explanation,
        worst.unjudged,
    )


def _compare_points(before: Sequence[float], after: Sequence[float]) -> CriterionChange:
    means = [fmean(points) if points else None for points in (before, after)]
    return CriterionChange(means[0], means[1], difference_interval(before, after))


def _run_totals(listed: Sequence[CriterionPoints], dimension: str = "") -> list[float]:
    """The total points of each run, in one dimension or in all."""
    columns = [line.points for line in listed if dimension in ("", line.dimension)]
    return [sum(points) for points in zip_longest(*columns, fillvalue=0.0)] or [0.0]


def _run_points(listed: Sequence[CriterionPoints], criterion: str) -> tuple[float, ...]:
    """The points of a criterion in each run; empty if there is no such criterion."""
    return next((line.points for line in listed if line.criterion == criterion), ())

"""Figures from stored assessments: points by criterion, and a comparison of two assessments."""

from collections.abc import Sequence
from itertools import zip_longest
from statistics import fmean
from typing import NamedTuple

from shared.contracts.assessment.results import Assessment, CriterionResult
from shared.domain.estimates import Interval, difference_interval


class Line(NamedTuple):
    """The points of one criterion in each run. ``reason``: the explanation of the run with the fewest points."""

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


class Change(NamedTuple):
    """Mean points before and after; ``None`` where one assessment lacks the criterion.

    ``interval``: the 95 % confidence interval of the difference; ``None`` where one side is a single run.
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
    """How points changed from one assessment to another. ``names``: each criterion's name for people."""

    dimensions: dict[str, Change]
    criteria: dict[str, Change]
    overall: Change
    names: dict[str, str]


def lines(assessment: Assessment) -> list[Line]:
    """The assessment's criteria with their points, grouped by dimension in the order of the scenario."""
    found: dict[str, list[CriterionResult]] = {}
    for run in assessment.runs:
        for result in run.results.criteria_results:
            found.setdefault(result.criterion_id, []).append(result)
    listed = [_build_line(results) for results in found.values()]
    order = list(dict.fromkeys(line.dimension for line in listed))
    return sorted(listed, key=lambda line: order.index(line.dimension))


def compare_assessments(before: Assessment, after: Assessment) -> Comparison:
    """Compare points by criterion, by dimension and in total, as means over the runs of each assessment."""
    first, second = lines(before), lines(after)
    criteria = {line.criterion: line for line in (*first, *second)}
    return Comparison(
        dimensions={
            name: _change(_of_runs(first, name), _of_runs(second, name))
            for name in dict.fromkeys(line.dimension for line in criteria.values())
        },
        criteria={name: _change(_find_points(first, name), _find_points(second, name)) for name in criteria},
        overall=_change(_of_runs(first), _of_runs(second)),
        names={name: line.name for name, line in criteria.items()},
    )


def _build_line(results: Sequence[CriterionResult]) -> Line:
    worst = min(results, key=lambda result: result.score)
    points = tuple(result.score for result in results)
    first = results[0]
    return Line(
        first.dimension.value,
        first.criterion_id,
        first.name,
        points,
        first.max_score,
        worst.explanation,
        worst.unjudged,
    )


def _change(before: Sequence[float], after: Sequence[float]) -> Change:
    means = [fmean(points) if points else None for points in (before, after)]
    return Change(means[0], means[1], difference_interval(before, after))


def _of_runs(listed: Sequence[Line], dimension: str = "") -> list[float]:
    """The total points of each run, in one dimension or in all."""
    columns = [line.points for line in listed if dimension in ("", line.dimension)]
    return [sum(points) for points in zip_longest(*columns, fillvalue=0.0)] or [0.0]


def _find_points(listed: Sequence[Line], criterion: str) -> tuple[float, ...]:
    """The points of a criterion in each run; empty if there is no such criterion."""
    return next((line.points for line in listed if line.criterion == criterion), ())

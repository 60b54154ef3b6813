"""The points of a stored assessment by criterion."""

from collections.abc import Sequence
from statistics import fmean
from typing import NamedTuple

from shared.contracts.assessment.results import Assessment, CriterionResult


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


def collect_criterion_points(assessment: Assessment) -> list[CriterionPoints]:
    """The assessment's criteria with their points, grouped by dimension in the order of the scenario."""
    results_by_criterion: dict[str, list[CriterionResult]] = {}
    for run in assessment.runs:
        for result in run.results.criteria_results:
            results_by_criterion.setdefault(result.criterion_id, []).append(result)
    criteria = [_collect_points_by_run(results) for results in results_by_criterion.values()]
    order = list(dict.fromkeys(criterion.dimension for criterion in criteria))
    return sorted(criteria, key=lambda criterion: order.index(criterion.dimension))


def _collect_points_by_run(results: Sequence[CriterionResult]) -> CriterionPoints:
    worst = min(results, key=lambda result: result.score)
    points = tuple(result.score for result in results)
    any_result = results[0]
    return CriterionPoints(
        any_result.dimension.value,
        any_result.criterion_id,
        any_result.name,
        points,
        any_result.max_score,
        worst.explanation,
        worst.unjudged,
    )

"""What a list tells of a kept assessment."""

from datetime import datetime
from statistics import fmean

from shared.contracts.assessment.base import Moment
from shared.contracts.assessment.kept import Assessment
from shared.contracts.assessment.results import OverallScore
from shared.contracts.base import Contract


class AssessmentCard(Contract):
    """``score``, ``judged`` and ``dimensions`` are means over the runs; ``judged`` is without what nobody could judge.

    ``kept_at`` is the store's clock, ``owner`` the id of who had it kept.
    """

    assessment_id: str
    owner: str
    kept_at: datetime | None = None
    name: str
    scenario: str
    agent: str
    began: Moment
    runs: int
    passed: int
    score: OverallScore
    judged: OverallScore
    unjudged: int = 0
    dimensions: dict[str, OverallScore] = {}


def card_of(assessment_id: str, owner: str, kept: Assessment) -> AssessmentCard:
    results = [run.results for run in kept.runs]
    names = dict.fromkeys(name for one in results for name in one.scores.dimensions)
    found = {name: [one.scores.dimensions[name] for one in results if name in one.scores.dimensions] for name in names}
    return AssessmentCard(
        assessment_id=assessment_id,
        owner=owner,
        name=kept.name,
        scenario=kept.scenario,
        agent=kept.agent,
        began=kept.began,
        runs=len(kept.runs),
        passed=kept.passed,
        score=_mean([(one.scores.overall.score, one.scores.overall.max_score) for one in results]),
        judged=_mean([(run.points.score, run.points.max_score) for run in kept.runs]),
        unjudged=max(len(one.unjudged) for one in results),
        dimensions={name: _mean([(one.score, one.max_score) for one in rows]) for name, rows in found.items()},
    )


def _mean(points: list[tuple[float, float]]) -> OverallScore:
    return OverallScore(score=fmean(score for score, _ in points), max_score=fmean(most for _, most in points))

"""Stored assessments as the console shows them: scores by dimension and criterion."""

from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

from pydantic import JsonValue

from services.gateway.features.console.views.formatting import Badge, format_json, humanize_name
from shared.contracts.assessment.criterion_points import CriterionPoints, collect_criterion_points
from shared.contracts.assessment.results import Assessment, AssessmentSummary, OverallScore
from shared.domain.estimates import compute_pass_hat
from shared.domain.exact_json import to_exact

_MOST_PASS_CHANCES_SHOWN = 5
RUN_END_BADGES = {
    "completed": Badge("Completed", "good"),
    "timeout": Badge("Timed out", "bad"),
    "failed": Badge("Failed", "bad"),
}


class ScoreRow(NamedTuple):
    """A score out of ``max_score`` points. ``share``: in per cent; ``tone``: good, warn or bad."""

    name: str
    score: str
    max_score: str
    share: int
    tone: str


def build_score_row(name: str, score: OverallScore) -> ScoreRow:
    share = round(100 * score.score / score.max_score) if score.max_score else 0
    tone = "good" if share >= 95 else "warn" if share >= 50 else "bad"
    return ScoreRow(name, format_number(score.score), format_number(score.max_score), min(share, 100), tone)


def pass_chances_text(summary: AssessmentSummary) -> str:
    """The chance that k runs all pass, for k up to 5 and for all runs: ``pass^1 67 %, pass^2 33 %``."""
    chances = compute_pass_hat(summary.passed, summary.runs)
    return ", ".join(
        f"pass^{k} {round(100 * chances[k])} %" for k in chances if k <= _MOST_PASS_CHANCES_SHOWN or k == summary.runs
    )


def group_by_dimension(assessment: Assessment) -> list[tuple[ScoreRow, list[CriterionPoints]]]:
    """The score and the criteria of each dimension."""
    groups: dict[str, list[CriterionPoints]] = defaultdict(list)
    for line in collect_criterion_points(assessment):
        groups[line.dimension].append(line)
    return [(build_score_row(humanize_name(name), _sum_points(rows)), rows) for name, rows in groups.items()]


def _sum_points(rows: Sequence[CriterionPoints]) -> OverallScore:
    return OverallScore(score=sum(line.mean for line in rows), max_score=sum(line.most for line in rows))


def points_by_run(line: CriterionPoints) -> str:
    """The points of every run; empty if they are the same."""
    return ", ".join(map(format_number, line.points)) if len(set(line.points)) > 1 else ""


def format_number(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".")


def verdict_badge(summary: AssessmentSummary) -> Badge:
    if summary.passed == summary.runs:
        return Badge("Passed", "good")
    return Badge(f"{summary.passed} of {summary.runs} passed", "warn") if summary.passed else Badge("Not passed", "bad")


def criterion_badge(score: float, max_score: float, is_unjudged: bool) -> Badge:
    if is_unjudged:
        return Badge("Unjudged", "mute")
    if score >= max_score:
        return Badge("Met", "good")
    return Badge("In part", "warn") if score > 0 else Badge("Missed", "bad")


_LONGEST_TEXT = 2000


def format_value(value: JsonValue) -> str:
    """The value for people, shortened; ``nothing`` for an empty one."""
    return "nothing" if is_empty(value) else shorten(format_json(to_exact(value)))


def is_empty(value: JsonValue) -> bool:
    return value is None or value in ("", [], {})


def shorten(text: str) -> str:
    return text if len(text) <= _LONGEST_TEXT else f"{text[:_LONGEST_TEXT]}…"

"""How good a task's end is: one number from verified facts and penalties (seed 000's signals on a 0.5 baseline).

Nothing is earned by length or by calling more tools; only what was proved raises the score.
"""

from typing import NamedTuple

from shared.domain.words import TaskState

WEAK = 0.65
_BASELINE = 0.5


class Evidence(NamedTuple):
    """What is known of an ended task. ``repeated_calls`` counts identical calls beyond the first."""

    state: TaskState
    exact_match: bool
    policy_passed: bool | None
    writes_planned: int
    writes_verified: int
    writes_doubtful: int
    audit_clean: bool | None
    needs_met: bool
    answer_empty: bool
    repeated_calls: int = 0


def quality(evidence: Evidence) -> float:
    """A score from 0 to 1. An exact-match answer of a completed task scores 1.0."""
    if evidence.exact_match and evidence.state is TaskState.COMPLETED:
        return 1.0
    score = _BASELINE + _earned(evidence) - _lost(evidence)
    return round(min(1.0, max(0.0, score)), 4)


def _earned(evidence: Evidence) -> float:
    all_verified = evidence.writes_planned > 0 and evidence.writes_verified == evidence.writes_planned
    return (
        0.15 * (evidence.policy_passed is True)
        + 0.15 * all_verified
        + 0.10 * (evidence.audit_clean is True)
        + 0.10 * evidence.needs_met
    )


def _lost(evidence: Evidence) -> float:
    return (
        0.40 * (evidence.state is TaskState.FAILED)
        + 0.20 * evidence.answer_empty
        + 0.15 * (evidence.writes_doubtful > 0)
        + 0.05 * min(evidence.repeated_calls, 3)
    )

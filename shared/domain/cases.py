"""How a past case counts, and how many are kept."""

from enum import StrEnum

from shared.domain.words import TaskState

CASES_KEPT = 200
POOR_QUALITY = 0.35
_GOOD_QUALITY = 0.6


class CaseOutcome(StrEnum):
    """How an ended task counts in the case log."""

    SUCCESS = "success"
    PARTIAL = "partial"
    FAILURE = "failure"


def classify_case_outcome(state: TaskState, quality: float) -> CaseOutcome:
    """Whether an ended task counts as a success, a partial success or a failure."""
    if state is TaskState.FAILED or quality < POOR_QUALITY:
        return CaseOutcome.FAILURE
    is_partial = quality < _GOOD_QUALITY or state is TaskState.CANCELED
    return CaseOutcome.PARTIAL if is_partial else CaseOutcome.SUCCESS

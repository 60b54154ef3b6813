"""A training row as a case of the log: a run that failed stays a failure, whatever its messages show."""

from datetime import datetime

from services.learner.core.training.rows import TrainingRow, TrainingType
from shared.contracts.case import CaseEntry
from shared.domain.cases import CaseOutcome, judge_outcome
from shared.domain.exact_json import digest
from shared.domain.keywords import keywords
from shared.domain.redaction import redact_text
from shared.domain.words import Strategy, TaskState

_SUMMARY = 200  # characters
_NOTE = 200
_NOTES = 10
_ID = 16
_UNKNOWN = "general"


def case_of(row: TrainingRow, scale: float, source: str, now: datetime) -> CaseEntry:
    """The case of a row. Its time is that of learning it; its id is the same wherever and whenever it is read.

    ``scale`` is the best score that the row could have; ``source`` the name of where it was found.
    """
    told, quality = row.metadata, round(row.metadata.overall_score / scale, 4)
    summary = redact_text(row.request)
    failed = told.training_type is TrainingType.NEGATIVE_CORRECTED
    return CaseEntry(
        case_id=f"training-{digest([told.task_id, row.request, told.training_type.value])[:_ID]}",
        session_id=f"training:{source}",
        task_id=told.task_id,
        summary=summary[:_SUMMARY],
        keywords=keywords(summary),
        outcome=CaseOutcome.FAILURE if failed else judge_outcome(TaskState.COMPLETED, quality),
        quality=quality,
        worked=() if failed else tuple(dict.fromkeys(map(_note, row.tools)))[:_NOTES],
        failed=(_note(told.failure_cause),) if told.failure_cause.strip() else (),
        tool_count=len(row.tools) if told.tool_count is None else told.tool_count,
        domain=_note(told.scenario.strip()) or _UNKNOWN,
        strategy=Strategy.FSM,
        at=now,
    )


def _note(text: str) -> str:
    return redact_text(text)[:_NOTE]

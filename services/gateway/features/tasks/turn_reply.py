"""What a turn of an assessment is answered with, however it ended: one artifact that every assessor can read."""

import re
from datetime import timedelta

from shared.contracts.assessment.messages import EarlyCompletion, TurnComplete
from shared.contracts.task import Artifact, TaskRecord
from shared.domain.instants import parse_duration, written_duration
from shared.domain.words import TaskState

NAME = "assessment_turn"
SHORTEST, USUAL, LONGEST = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)
_NEXT = re.compile(
    r"^[ \t]*[*_`]*Next(?: turn)?[*_`]*:[*_` \t]*(?P<said>[^\s`*_]+)[^\n]*$", re.IGNORECASE | re.MULTILINE
)
_FINISHED = "finished"
_LONGEST = 4_000  # characters of the notes


def is_turn(record: TaskRecord) -> bool:
    """Whether an assessor waits for the task."""
    return record.request.practice is not None and record.request.practice.turn > 0


def artifacts_of(record: TaskRecord) -> tuple[Artifact, ...]:
    """The task's results; of a turn of an assessment that is over, its reply is the last of them."""
    if not is_turn(record) or not record.state.is_terminal:
        return record.artifacts
    return (*record.artifacts, Artifact(name=NAME, data=_reply(record).wire(), media_type="application/json"))


def _reply(record: TaskRecord) -> TurnComplete | EarlyCompletion:
    """A turn that did not come to its answer goes on with a next one, and its notes say why.

    An end is told only where every write of the turn was verified.
    """
    answer = record.answer or record.reason or ""
    said = [match["said"] for match in _NEXT.finditer(answer)][-1:] if record.state is TaskState.COMPLETED else []
    told = _NEXT.sub("", answer).strip()[:_LONGEST]
    if said and said[0].casefold().rstrip(".") == _FINISHED and _is_proved(record):
        return EarlyCompletion(reason=told)
    return TurnComplete(notes=told, time_step=written_duration(_step(said[0] if said else "")))


def _is_proved(record: TaskRecord) -> bool:
    writes = record.metadata.get("writes")
    rows = writes if isinstance(writes, list) else []
    return all(isinstance(one, dict) and one.get("status") == "verified" for one in rows)


def _step(text: str) -> timedelta:
    """Within bounds; the usual one where nothing is said that can be read."""
    try:
        wanted = parse_duration(text.rstrip("."))
    except ValueError:
        return USUAL
    return min(max(wanted, SHORTEST), LONGEST) if wanted else USUAL

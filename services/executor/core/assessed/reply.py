"""What a turn of an assessment is answered with, however it ended: one artifact that every assessor can read."""

from collections.abc import Mapping

from pydantic import JsonValue

from shared.contracts.assessment.messages import EarlyCompletion, TurnComplete
from shared.contracts.task import Artifact, TaskRecord
from shared.domain.words import TaskState

NAME = "assessment_turn"
NOTE = "assessed_turn"  # among the notes of a progress: what comes next
_LONGEST = 4_000  # characters of the notes


def turn_reply(record: TaskRecord, state: TaskState, text: str, notes: Mapping[str, JsonValue]) -> tuple[Artifact, ...]:
    """Nothing for any other task. ``notes``: those of the run's progress, with what comes next if that was asked.

    A run that did not come to its answer goes on with a next turn, and its notes say why.
    """
    if record.request.assessment is None:
        return ()
    note = notes.get(NOTE)
    said = note if state is TaskState.COMPLETED and isinstance(note, dict) else {}
    told = text[:_LONGEST]
    if said.get("finished") is True:
        reply: TurnComplete | EarlyCompletion = EarlyCompletion(reason=str(said.get("reason") or told))
    elif step := said.get("time_step"):
        reply = TurnComplete(notes=told, time_step=str(step))
    else:
        reply = TurnComplete(notes=told)
    return (Artifact(name=NAME, data=reply.wire(), media_type="application/json"),)

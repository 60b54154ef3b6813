"""Where an agent's answer is found, and what it says."""

from collections.abc import Callable

import pytest
from pydantic import JsonValue

from services.assessor.adapters.a2a_replies import read_replies
from shared.contracts.assessment.messages import (
    EarlyCompletion,
    JsonObject,
    TurnComplete,
    TurnStart,
    parse_participant_reply,
)
from tests.assessor.agents import reached
from tests.doubles import scripted_participant as shapes
from tests.doubles.scripted_participant import ScriptedParticipant
from tests.each_row import each_row

DONE: JsonObject = {"message_type": "turn_complete", "time_step": "PT5M"}
SHAPES = [
    shapes.as_message,
    shapes.as_artifact,
    shapes.as_artifact_text,
    shapes.as_status_message,
    shapes.as_working_text,
    shapes.as_history,
    shapes.as_new_message,
    shapes.as_new_task,
]
START = TurnStart.model_validate({"turn_number": 1, "current_time": "2026-03-02T09:00:00Z"})
pytestmark = pytest.mark.promise("assessor.replies")


@each_row("shape", SHAPES)
def test_an_answer_is_found_in_every_shape(shape: Callable[[JsonObject], JsonValue]) -> None:
    assert read_replies(shape(DONE)).data == DONE


@pytest.mark.parametrize("version", ["0.3", "1.0"])
@pytest.mark.parametrize("late", [False, True])
async def test_an_agent_is_asked_in_its_own_version_and_waited_for(version: str, late: bool) -> None:
    async def script(_: JsonObject) -> JsonObject:
        return DONE

    agent = ScriptedParticipant(script, shapes.as_artifact, version, late)
    async with reached(agent) as participant:
        answers = [await participant.ask(START, 5) for _ in range(2)]

    assert answers == [DONE, DONE]
    assert len(set(agent.contexts)) == 1


def test_a_task_that_works_is_waited_for_and_one_that_ended_is_not() -> None:
    working: JsonObject = {"kind": "task", "id": "t", "status": {"state": "working"}}
    ended: JsonObject = {"kind": "task", "id": "t", "status": {"state": "failed"}}

    assert read_replies(working).working_task == "t"
    assert read_replies(ended) == (None, None, "the task ended as failed and brought no data")


@each_row("answer", [None, "x", {"kind": "message", "parts": [{"kind": "text", "text": "Hi!"}]}])
def test_what_holds_no_data_says_so(answer: JsonValue) -> None:
    assert read_replies(answer).data is None
    assert read_replies(answer).problem


@each_row(
    ("data", "meant"),
    (DONE, TurnComplete(time_step="PT5M")),
    ({"message_type": "turn_complete", "notes": None, "time_step": None}, TurnComplete(time_step="PT1H")),
    ({"notes": "x", "actions_taken": 3}, TurnComplete(notes="x")),
    ({"message_type": "early_completion"}, EarlyCompletion()),
    ({"reason": "done"}, EarlyCompletion(reason="done")),
)
def test_an_answer_says_what_it_means_by_type_or_by_its_fields(
    data: JsonObject, meant: TurnComplete | EarlyCompletion
) -> None:
    assert parse_participant_reply(data) == meant


@each_row("data", [{}, {"message_type": "hello"}, {"message_type": "turn_complete", "time_step": "soon"}])
def test_an_answer_that_means_nothing_is_refused(data: JsonObject) -> None:
    with pytest.raises(ValueError, match=r"turn|time_step"):
        parse_participant_reply(data)

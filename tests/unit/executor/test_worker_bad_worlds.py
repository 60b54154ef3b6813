"""A part that fails, stalls or talks nonsense: the task ends ``failed`` with that reason, and nothing is written."""

import asyncio

import pytest

from services.executor.ports.models import ModelReply, ModelRequest, ModelUnavailable
from services.executor.ports.tools import ToolSilent
from shared.contracts.task import TaskRequest
from shared.domain.exact_json import Json, JsonObject
from shared.domain.words import TaskState
from tests.doubles.scripted_model import ScriptedModel, text_reply
from tests.unit.executor.stage import TASK, Stage

pytestmark = pytest.mark.promise("bad_input.honest_ends")


class HangingModel(ScriptedModel):
    """Takes the question and never answers."""

    async def complete(self, request: ModelRequest) -> ModelReply:
        await asyncio.Event().wait()
        return await super().complete(request)


async def _failed(stage: Stage, says: str) -> None:
    record = await stage.run()
    assert (record.state, stage.claims.applied) == (TaskState.FAILED, [])
    assert says in (record.reason or "")
    assert record.answer == record.reason


@pytest.mark.parametrize("state", ["decompose", "assess", "compute", "write_plan", "complete"])
async def test_a_model_that_is_down_ends_the_task(state: str) -> None:
    stage = Stage()

    def down(_: ModelRequest) -> ModelReply:
        raise ModelUnavailable("the model endpoint could not be reached")

    stage.scripts[state] = down
    record = await stage.run()
    assert record.state is TaskState.FAILED
    assert "could not be reached" in (record.reason or "")


@pytest.mark.parametrize("state", ["decompose", "compute", "write_plan"])
@pytest.mark.parametrize("said", ["", "I think so!", "[]", '{"needs": 7}', '{"calls": "all of them"}'])
async def test_a_model_that_talks_nonsense_is_asked_once_more_and_then_ends_the_task(state: str, said: str) -> None:
    stage = Stage()
    stage.scripts[state] = text_reply(said)
    await _failed(stage, "no usable answer")


async def test_a_model_that_never_answers_is_bounded_by_the_tasks_working_time() -> None:
    stage = Stage()
    stage.limits = stage.limits._replace(task_seconds=0.05)

    stage.model = HangingModel(lambda _: text_reply("never said"))
    await _failed(stage, "TASK_TIMEOUT")


async def test_a_tool_server_that_cannot_be_reached_ends_the_task() -> None:
    stage = Stage()
    stage.servers.go_down("office")
    await _failed(stage, "the tool server 'office'")


async def test_a_read_without_an_answer_ends_the_task() -> None:
    stage = Stage()

    def silent(_: JsonObject) -> Json:
        raise ToolSilent("no answer within 10 s")

    stage.servers.add("get_claim", silent)
    await _failed(stage, "did not answer get_claim")


@pytest.mark.parametrize(
    ("document", "says"),
    [
        ('{"rules": [{"id": "R"}]}', "rules.0.condition"),
        ('{"rules": ', "looks like JSON"),
        ('{"limit": 5}', 'no "rules"'),
        ({"rules": "none"}, "rules"),
    ],
)
async def test_rules_that_cannot_be_read_are_not_ignored(document: str | dict[str, str], says: str) -> None:
    stage = Stage()
    request = TaskRequest.model_validate({"text": TASK, "policy_doc": document})
    stage.turns.record = stage.turns.record.model_copy(update={"request": request})
    await _failed(stage, says)

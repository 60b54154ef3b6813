"""A part that fails, stalls or talks nonsense: the task ends ``failed`` with that reason, and nothing is written."""

import asyncio

import pytest

from shared.contracts.task import TaskRequest
from shared.domain.words import TaskState
from shared.ports.models import ModelReply, ModelRequest
from tests.doubles.scripted_model import ScriptedModel, text_reply
from tests.each_row import each_row
from tests.unit.executor.stage import TASK, Stage, keeps_silent

pytestmark = pytest.mark.promise("bad_input.honest_ends")


class HangingModel(ScriptedModel):
    """Takes the question and never answers."""

    async def complete(self, request: ModelRequest) -> ModelReply:
        await asyncio.Event().wait()
        return await super().complete(request)


async def _failed(stage: Stage, says: str) -> None:
    record = await stage.ends(TaskState.FAILED, [], why=says)
    assert str(record.answer).removesuffix("\n\nNothing was written or sent.") == record.reason


@each_row("said", ["I think so!", "[]", '{"needs": 7}', '{"calls": "all of them"}'])
async def test_a_model_that_only_talks_does_nothing_and_the_part_that_it_left_out_is_named(said: str) -> None:
    stage = Stage()
    stage.talk.rounds, stage.talk.answer = [], said
    await stage.ends(TaskState.FAILED, [], why=f"part 1 ({TASK}): no call was made for it")


async def test_a_model_that_never_answers_is_bounded_by_the_tasks_working_time() -> None:
    stage = Stage()
    stage.limits = stage.limits._replace(task_seconds=0.05)

    stage.model = HangingModel(lambda _: text_reply("never said"))
    await _failed(stage, "TASK_TIMEOUT")


async def test_a_tool_server_that_cannot_be_reached_or_does_not_answer_a_read_ends_the_task() -> None:
    stage, silent = Stage(), Stage()
    stage.servers.go_down("office")
    await _failed(stage, "the tool server 'office'")
    silent.servers.add("get_claim", keeps_silent)
    await _failed(silent, "did not answer get_claim")


@each_row(
    ("document", "says"),
    ('{"rules": [{"id": "R"}]}', "rules.0.condition"),
    ('{"rules": ', "looks like JSON"),
    ('{"limit": 5}', 'no "rules"'),
    ({"rules": "none"}, "rules"),
)
async def test_rules_that_cannot_be_read_are_not_ignored(document: str | dict[str, str], says: str) -> None:
    stage = Stage()
    request = TaskRequest.model_validate({"text": TASK, "policy_doc": document})
    stage.turns.record = stage.turns.record.model_copy(update={"request": request})
    await _failed(stage, says)

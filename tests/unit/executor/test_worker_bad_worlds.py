"""A part that fails, stalls or talks nonsense: the task ends ``failed`` with that reason, and nothing is written."""

import asyncio

import pytest

from shared.contracts.task import TaskRequest
from shared.contracts.tenant import Connection
from shared.domain.words import TaskState
from shared.ports.models import ModelReply, ModelRequest
from tests.doubles.scripted_model import ScriptedModel, text_reply
from tests.each_row import each_row
from tests.unit.executor.archived import assert_replayed
from tests.unit.executor.stage import READ, TASK, Stage, decision, keeps_silent, use

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


def _with_second_server(stage: Stage) -> Stage:
    record = stage.tenants.record
    crm = Connection(id="crm", url="http://crm")
    stage.tenants.record = record.model_copy(update={"connections": (*record.connections, crm)})
    stage.servers.go_down("crm")
    return stage


@pytest.mark.promise("tools.server_missing")
async def test_a_task_that_needs_no_tool_of_a_server_out_of_reach_is_done_and_the_answer_names_that_server() -> None:
    stage = _with_second_server(Stage())
    record = await stage.ends(TaskState.COMPLETED, ["C-1"], says="Not reached:\n- the tool server 'crm'")
    assert "tool server 'crm'" in str(record.metadata["missing_tool_servers"])
    assert "at http://crm cannot be used" in str(
        stage.model.requests[0]
    )  # so that the model knows why a tool is missing
    await assert_replayed(stage)


@pytest.mark.promise("tools.server_missing")
async def test_a_part_whose_tool_is_on_a_server_out_of_reach_is_not_done_by_another_tool() -> None:
    text = f"{TASK}. Tell the clerk"
    stage = _with_second_server(
        Stage(text, [READ], [use("approve_claim", 1, claim_id="C-1")], parts=(TASK, "Tell the clerk"))
    )
    await stage.ends(TaskState.FAILED, ["C-1"], why="part 2 (Tell the clerk)", says="tool server 'crm'")
    nothing = _with_second_server(Stage())
    nothing.servers.go_down("office")
    await nothing.ends(TaskState.FAILED, [], why="the tool server 'crm'")


@pytest.mark.promise("tools.server_missing")
async def test_a_server_that_listed_tools_when_the_plan_was_made_must_be_there_when_it_is_approved() -> None:
    stage = Stage()
    stage.policy.says = {"requires_approval": True, "escalation_level": "manager"}
    await stage.ends(TaskState.INPUT_REQUIRED, [])
    _with_second_server(stage).servers.go_down("office")
    await stage.ends(TaskState.FAILED, [], decision("approve"), why="the tool server 'office'")


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

"""What crosses what: decisions, cancels, crashes and servers that are away at the wrong moment."""

import asyncio
from datetime import timedelta

import pytest

from services.executor.ports.tools import ToolUnreachable
from shared.domain.exact_json import Json, JsonObject
from shared.domain.words import TaskState, ToolClass
from shared.ports.models import ModelReply, ModelRequest
from tests.doubles.memory_turns import Died
from tests.doubles.scripted_model import ScriptedModel, text_reply
from tests.unit.executor.stage import Stage, cancel, deadline, decision, message


class _EndlessModel(ScriptedModel):
    """Says when it is asked, and never answers."""

    def __init__(self, asked: asyncio.Event) -> None:
        super().__init__(lambda _: text_reply(""))
        self._asked = asked

    async def complete(self, request: ModelRequest) -> ModelReply:
        self._asked.set()
        await asyncio.Event().wait()
        return await super().complete(request)


async def _waiting() -> Stage:
    stage = Stage()
    stage.policy.says = {"requires_approval": True, "escalation_level": "manager"}
    await stage.run()
    return stage


@pytest.mark.promise("I7.approval_over_two_turns")
async def test_a_yes_counts_although_the_worker_died_over_a_message_before_it() -> None:
    stage = await _waiting()
    await stage.dies(stage.turns.stored, message("any news?", "turn-m"))
    await stage.ends(TaskState.COMPLETED, ["C-1"], decision("approve"))


@pytest.mark.promise("I7.needs_no_tools")
async def test_a_no_needs_no_tool_server() -> None:
    stage = await _waiting()
    stage.servers.go_down("office")
    record = await stage.run(decision("reject"))
    assert (record.state, record.reason) == (TaskState.REJECTED, "rejected by boss; nothing was written")


@pytest.mark.promise("I7.needs_no_tools")
async def test_an_expiry_needs_no_tool_server() -> None:
    stage = await _waiting()
    stage.servers.go_down("office")
    stage.turns.ahead = timedelta(hours=25)
    await stage.ends(TaskState.REJECTED, [], deadline())


@pytest.mark.promise("I7.needs_no_tools")
async def test_a_message_while_the_tool_server_is_away_leaves_the_task_waiting() -> None:
    stage = await _waiting()
    stage.servers.go_down("office")
    await stage.ends(TaskState.INPUT_REQUIRED, [], message("any news?", "turn-m"))


@pytest.mark.promise("task.cancel")
async def test_a_waiting_task_can_be_canceled_while_its_tool_server_is_away() -> None:
    stage = await _waiting()
    stage.servers.go_down("office")
    await stage.ends(TaskState.CANCELED, [], cancel())


@pytest.mark.promise("task.cancel")
async def test_a_cancel_need_not_wait_for_a_model_that_thinks_for_ever() -> None:
    stage = Stage()
    asked = asyncio.Event()
    stage.model = _EndlessModel(asked)
    async with asyncio.timeout(10), asyncio.TaskGroup() as group:
        running = group.create_task(stage.run())
        await asked.wait()
        stage.turns.cancel = cancel()
    assert (running.result().state, stage.claims.applied) == (TaskState.CANCELED, [])


@pytest.mark.promise("I1.gate_in_every_state")
async def test_a_read_that_has_become_a_write_is_not_repeated_as_a_read() -> None:
    stage = await _waiting()
    before = len(stage.servers.called("get_claim"))
    stage.servers.add("get_claim", stage.claims.get, ToolClass.CHANGE)
    record = await stage.run(decision("approve"))
    assert len(stage.servers.called("get_claim")) == before
    assert (record.state, stage.claims.applied) == (TaskState.FAILED, [])


@pytest.mark.promise("I2.no_verdict_no_write")
async def test_a_write_that_provably_was_not_sent_is_judged_anew_after_a_crash() -> None:
    stage = Stage()

    def unreachable(_: JsonObject) -> Json:
        stage.turns.die_before = stage.turns.stored + 1  # that it was not sent is stored, and then it is over
        raise ToolUnreachable("connection refused")

    stage.servers.add("approve_claim", unreachable, ToolClass.CHANGE)
    with pytest.raises(Died):
        await stage.run()
    stage.turns.die_before = None
    stage.servers.add("approve_claim", stage.claims.approve, ToolClass.CHANGE)
    stage.policy.says = {"passed": False, "blocked": True}
    await stage.ends(TaskState.REJECTED, [], attempts=2)


@pytest.mark.promise("I7.changed_inputs_reopen")
async def test_inputs_that_change_while_the_worker_is_dead_reopen_the_gate() -> None:
    stage = await _waiting()
    reads = 0

    def dies_at_the_second(given: JsonObject) -> Json:
        nonlocal reads
        reads += 1
        if reads == 2:  # the inputs have been read again, the write has not begun
            raise Died
        return stage.claims.get(given)

    stage.servers.add("get_claim", dies_at_the_second)
    with pytest.raises(Died):
        await stage.run(decision("approve"))
    stage.servers.add("get_claim", stage.claims.get)
    stage.claims.rows["C-1"]["amount"] = "999.00"
    await stage.ends(TaskState.INPUT_REQUIRED, [], decision("approve"), attempts=2)

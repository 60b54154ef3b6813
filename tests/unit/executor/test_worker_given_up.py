"""A turn that was begun too often: its open writes are read if they can be, and a doubt waits for a person (I3)."""

import asyncio
from datetime import timedelta

import pytest

from services.executor.core.session.context import Ports
from services.executor.core.states.prompts import load
from services.executor.core.turn.attempt import give_up, settle_blindly
from services.executor.core.turn.execute import execute_task
from services.executor.core.turn.worker import Worker
from services.executor.ports.turns import HandedOver, TurnEnd
from shared.contracts.task import Turn
from shared.domain.exact_json import Json, JsonObject
from shared.domain.words import TaskState, ToolClass
from shared.ports.models import Model, ModelReply, ModelRequest
from tests.doubles.memory_turns import Died
from tests.unit.executor.stage import Stage, cancel, message
from tests.unit.executor.test_worker_doubts import late, listed, word

TURN = message("Approve claim C-1 of 120.50")


async def killed_while_sending(*, applied: bool, hours: float = 24) -> Stage:
    """A turn whose process died with the call on its way."""
    stage = Stage()
    stage.change_tenant(approval_hours=hours)

    def dies(given: JsonObject) -> Json:
        if applied:
            stage.claims.approve(given)
        raise Died

    stage.servers.add("approve_claim", dies, ToolClass.CHANGE)
    with pytest.raises(Died):
        await stage.run(TURN)
    assert stage.statuses == ["sending"]
    return stage


async def given_up(stage: Stage, turn: Turn = TURN) -> TurnEnd:
    """As the runner does it where no read can be made."""
    work = stage.turns.work(turn, attempts=6)
    await settle_blindly(work, stage.turns, "it ended before it was done")
    end = await give_up(work, stage.turns, 5)
    await stage.turns.finish(end)
    return end


@pytest.mark.promise("I3.given_up_looks")
async def test_an_open_write_is_read_before_its_task_is_given_up() -> None:
    stage = await killed_while_sending(applied=True)
    await stage.worker.settle_open_writes(stage.turns.work(TURN, attempts=6), stage.turns)
    end = await given_up(stage)
    assert (end.record.state, stage.statuses) == (TaskState.FAILED, ["verified"])
    assert "Carried out before: approve_claim." in (end.record.reason or "")
    assert (end.record.metadata["escalated"], end.record.metadata["doubts"]) == (False, [])
    assert end.outcome is not None


@pytest.mark.promise("I3.given_up_waits")
async def test_a_write_in_doubt_of_a_turn_that_is_given_up_waits_for_an_operator() -> None:
    stage = await killed_while_sending(applied=False)
    end = await given_up(stage)
    assert (end.record.state, stage.statuses) == (TaskState.INPUT_REQUIRED, ["in_doubt"])
    assert (end.record.metadata["escalated"], end.outcome) == (True, None)
    assert listed(end.record, "doubts")[0]["call_id"] == "c1"
    assert "5 times" in (end.record.reason or "")
    assert "take-over" in (end.record.answer or "")
    assert end.timer is not None


@pytest.mark.promise("I3.given_up_waits")
async def test_such_a_doubt_waits_as_long_as_the_tenant_gives_and_not_as_long_as_most_do() -> None:
    stage = await killed_while_sending(applied=False, hours=3)
    end = await given_up(stage)
    (entry,) = (await stage.turns.ledger()).values()
    assert entry.doubted_at is not None
    assert entry.decide_by == entry.doubted_at + timedelta(hours=3)
    assert end.timer is not None


@pytest.mark.promise("I3.given_up_waits")
async def test_an_operator_can_settle_the_doubt_of_a_turn_that_was_given_up() -> None:
    stage = await killed_while_sending(applied=True)
    await given_up(stage)
    await stage.ends(TaskState.COMPLETED, ["C-1"], word(stage, "done"))


@pytest.mark.promise("I3.given_up_waits")
async def test_nobody_is_waited_for_if_the_turn_was_to_end_the_task() -> None:
    stage = await killed_while_sending(applied=False)
    end = await given_up(stage, cancel())
    assert (end.record.state, end.record.metadata["escalated"]) == (TaskState.FAILED, True)
    assert listed(end.record, "doubts")[0]["call_id"] == "c1"
    assert end.outcome is not None


@pytest.mark.promise("I3.given_up_waits")
async def test_a_deadline_that_breaks_too_often_ends_the_wait_all_the_same() -> None:
    stage = await killed_while_sending(applied=False)
    await given_up(stage)
    stage.turns.ahead = timedelta(hours=25)
    end = await given_up(stage, late(stage))
    assert (end.record.state, end.timer) == (TaskState.FAILED, None)


async def test_the_outcome_of_a_dry_run_that_is_given_up_says_that_it_was_one() -> None:
    stage = Stage()
    request = stage.turns.record.request.model_copy(update={"metadata": {"dry_run": True}})
    stage.turns.record = stage.turns.record.model_copy(update={"request": request})
    end = await given_up(stage)
    assert end.outcome is not None
    assert (end.outcome.dry_run, end.outcome.strategy_applied) == (True, False)


_LONGER_THAN_A_LOOK = 1.3


class SlowModel(Model):
    """Stops the process while it thinks about its first answer, and takes its time over that one."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self.asked = 0

    async def complete(self, request: ModelRequest) -> ModelReply:
        self.asked += 1
        if self.asked == 1:
            self._stage.turns.halted = True
            await asyncio.sleep(_LONGER_THAN_A_LOOK)
        return await self._stage.model.complete(request)


@pytest.mark.promise("state.drained")
async def test_a_reply_that_is_paid_for_is_waited_for_and_stored_before_the_session_is_handed_over() -> None:
    stage = Stage()
    model = SlowModel(stage)
    ports = Ports(model, stage.servers, stage.policy, stage.tenants, stage.learned, stage.daily)
    worker = Worker(ports, stage.limits, load(), execute_task)
    work = stage.turns.work(message(stage.turns.record.request.text))
    with pytest.raises(HandedOver):
        await worker.run(work, stage.turns)
    assert [entry.kind for entry in stage.turns.steps.values()].count("model") == 1
    stage.turns.halted = False
    undisturbed = Stage()
    await undisturbed.run()
    assert (await stage.run()).state is TaskState.COMPLETED
    assert len(stage.model.requests) == len(undisturbed.model.requests)

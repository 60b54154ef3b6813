"""Dying at every stored step: another worker goes on or gives up, nothing is paid or written twice (I3, I5)."""

import asyncio
from datetime import timedelta

import pytest
from typing_extensions import override

from services.executor.core.turn.session_run import build_given_up_end, settle_open_writes_unread
from services.executor.ports.turns import HandedOver, TurnEnd
from shared.contracts.task import Turn
from shared.domain.exact_json import Json, JsonObject
from shared.domain.words import FsmState, TaskState, ToolClass, WriteStatus
from shared.ports.models import ModelReply, ModelRequest
from tests.doubles.memory_turns import Died
from tests.doubles.scripted_model import ScriptedModel
from tests.doubles.scripted_talk import results_in
from tests.unit.executor.archived import assert_replayed
from tests.unit.executor.stage import CLAIM_ID, Stage, decision, kills, message
from tests.unit.executor.test_reflect_improves import BETTER, WEAK, doubtful
from tests.unit.executor.test_worker_doubts import late, listed, word


@pytest.mark.promise("I3.killed_at_every_step", "I3.kill_at_every_step", "I5.paid_once")
async def test_dying_before_any_stored_step_leads_to_the_same_end_with_one_write_and_no_reply_that_is_paid_twice() -> (
    None
):
    """A reply that was stored is never asked for again; of those that were not, at most the one that had come."""
    whole = Stage()
    await whole.run()
    again: set[int] = set()
    for step in range(whole.turns.stored):
        stage = Stage()
        await stage.dies(step)
        stored = sum(entry.kind == "model" for entry in stage.turns.steps.values())
        asked_before = len(stage.model.requests)
        await stage.ends(TaskState.COMPLETED, ["C-1"], attempts=2)
        assert (stage.statuses, len(stage.turns.ends)) == ([WriteStatus.VERIFIED.value], 1), step
        assert len(stage.model.requests) - asked_before == len(whole.model.requests) - stored, step
        again.add(len(stage.model.requests) - len(whole.model.requests))
    assert again == {0, 1}


@pytest.mark.promise("I3.kill_at_every_step")
async def test_dying_after_intent_and_before_the_call_ends_absent_and_escalated() -> None:
    """The one kill that may lose a write: it is said, and nothing is sent twice."""
    stage = Stage()
    stage.servers.add("approve_claim", kills, ToolClass.CHANGE, CLAIM_ID)
    with pytest.raises(Died):
        await stage.run()
    stage.servers.add("approve_claim", stage.claims.approve, ToolClass.CHANGE, CLAIM_ID)
    record = await stage.ends(TaskState.INPUT_REQUIRED, [], attempts=2)
    assert (stage.statuses, record.metadata["escalated"]) == (["absent"], True)


@pytest.mark.promise("I7.decision_survives_a_crash")
async def test_dying_at_any_step_of_the_approving_turn_still_writes_once() -> None:
    whole = Stage()
    whole.policy.says = {"requires_approval": True}
    await whole.run()
    asked = whole.turns.stored
    await whole.run(decision("approve"))
    for step in range(asked, whole.turns.stored):
        stage = Stage()
        stage.policy.says = {"requires_approval": True}
        await stage.run()
        await stage.dies(step, decision("approve"))
        record = await stage.run(decision("approve"), attempts=2)
        assert (record.state, stage.claims.applied) == (TaskState.COMPLETED, ["C-1"]), step


@pytest.mark.promise("I3.kill_at_every_step")
async def test_a_write_that_was_proposed_is_brought_to_its_end_although_its_tool_takes_other_arguments_by_now() -> None:
    """What the model was told of its proposals stays as it was told, whatever the server lists for whoever goes on."""
    whole = Stage()
    await whole.run()
    other: JsonObject = {"type": "object", "properties": {}, "additionalProperties": False}
    for step in range(whole.turns.stored):
        stage = Stage()
        await stage.dies(step)
        if not stage.statuses:
            continue
        stage.servers.add("approve_claim", stage.claims.approve, ToolClass.CHANGE, other)
        await stage.run(attempts=2)
        assert stage.statuses[0] in ("verified", "absent"), step
        told = [result.content for result in results_in(stage.model.requests[-1])]
        assert not any("do not fit" in content for content in told), step


async def test_a_turn_that_comes_after_the_end_changes_nothing() -> None:
    stage = Stage()
    first = await stage.run()
    again = await stage.run(message("more", "turn-9"))
    assert (again.answer, again.state) == (first.answer, first.state)
    assert stage.turns.ends[-1].outcome is None


def _stage() -> Stage:
    """A change whose answer says too little: the improvement is asked for once everything is called."""
    return doubtful(WEAK, BETTER)


async def _died(step: int) -> Stage:
    """A stage whose process was killed before that write of its store."""
    stage = _stage()
    await stage.dies(step)
    return stage


def _stands_at_the_end(stage: Stage) -> bool:
    entered = [event.data["state"] for event in stage.turns.events if event.kind == "state"]
    return entered[-1:] == [FsmState.COMPLETE.value]


async def _undisturbed() -> Stage:
    whole = _stage()
    await whole.run()
    return whole


@pytest.mark.promise("answer.needs_no_server")
async def test_a_killed_turn_with_its_writes_done_is_answered_although_the_server_is_away() -> None:
    """At every step from the entry of COMPLETE on, as it is with the server there; a replay agrees."""
    whole = await _undisturbed()
    at_the_end = [stage for step in range(whole.turns.stored) if _stands_at_the_end(stage := await _died(step))]
    for stage in at_the_end:
        stage.servers.go_down("office")
        record = await stage.run(attempts=2)
        assert (record.state, record.answer) == (TaskState.COMPLETED, whole.turns.record.answer), record.reason
        await assert_replayed(stage)
    assert at_the_end


@pytest.mark.promise("answer.needs_no_server")
async def test_a_killed_turn_with_something_left_to_call_asks_the_server_anew() -> None:
    """What may be called, and what calling it does, is never taken from before."""
    whole = await _undisturbed()
    for step in range(1, whole.turns.stored):
        stage = await _died(step)
        if not _stands_at_the_end(stage):
            listed = stage.servers.discoveries
            await stage.run(attempts=2)
            assert stage.servers.discoveries == listed + 1


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
    await settle_open_writes_unread(work, stage.turns, "it ended before it was done")
    end = await build_given_up_end(work, stage.turns, 5)
    await stage.turns.finish(end)
    return end


@pytest.mark.promise("I3.given_up_looks")
async def test_an_open_write_is_read_before_its_task_is_given_up() -> None:
    """Its outcome tells how long the task took from its acceptance, waiting included."""
    stage = await killed_while_sending(applied=True)
    accepted = {"accepted_at": stage.turns.now() - timedelta(hours=1)}
    stage.turns.record = stage.turns.record.model_copy(update=accepted)
    await stage.worker.settle_open_writes(stage.turns.work(TURN, attempts=6), stage.turns)
    end = await given_up(stage)
    assert (end.record.state, stage.statuses) == (TaskState.FAILED, ["verified"])
    assert "Carried out before: approve_claim." in (end.record.reason or "")
    assert (end.record.metadata["escalated"], end.record.metadata["doubts"]) == (False, [])
    assert end.outcome is not None
    assert end.outcome.duration_ms >= 3_600_000


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
async def test_a_write_of_such_a_turn_is_not_judged_while_its_request_may_still_arrive() -> None:
    stage = await killed_while_sending(applied=False)
    await given_up(stage)
    (entry,) = stage.turns.writes.values()
    assert entry.open_until is not None
    assert entry.doubted_at is not None
    assert entry.doubted_at >= entry.open_until


@pytest.mark.promise("I3.given_up_waits")
async def test_such_a_doubt_waits_as_long_as_the_tenant_gives_and_an_operator_can_settle_it() -> None:
    stage = await killed_while_sending(applied=True, hours=3)
    end = await given_up(stage)
    (entry,) = (await stage.turns.read_ledger()).values()
    assert entry.doubted_at is not None
    assert (entry.decide_by, end.timer is not None) == (entry.doubted_at + timedelta(hours=3), True)
    await stage.ends(TaskState.COMPLETED, ["C-1"], word(stage, "done"))


@pytest.mark.promise("I3.given_up_waits")
async def test_a_deadline_that_breaks_too_often_ends_the_wait_all_the_same() -> None:
    stage = await killed_while_sending(applied=False)
    await given_up(stage)
    stage.turns.ahead = timedelta(hours=25)
    end = await given_up(stage, late(stage))
    assert (end.record.state, end.timer) == (TaskState.FAILED, None)


async def test_the_outcome_of_a_dry_run_that_is_given_up_says_that_it_was_one() -> None:
    stage = Stage()
    stage.change_request(metadata={"dry_run": True})
    end = await given_up(stage)
    assert end.outcome is not None
    assert (end.outcome.dry_run, end.outcome.strategy_applied) == (True, False)


_LONGER_THAN_A_LOOK = 1.3


class SlowModel(ScriptedModel):
    """Stops the process while it thinks about its first answer, and takes its time over that one."""

    def __init__(self, stage: Stage) -> None:
        super().__init__(stage.talk)
        self._stage = stage

    @override
    async def complete(self, request: ModelRequest) -> ModelReply:
        if not self.requests:
            self._stage.turns.halted = True
            await asyncio.sleep(_LONGER_THAN_A_LOOK)
        return await super().complete(request)


@pytest.mark.promise("state.drained")
async def test_a_reply_that_is_paid_for_is_waited_for_and_stored_before_the_session_is_handed_over() -> None:
    stage, undisturbed = Stage(), Stage()
    stage.model = SlowModel(stage)
    with pytest.raises(HandedOver):
        await stage.run()
    assert [entry.kind for entry in stage.turns.steps.values()].count("model") == 1
    stage.turns.halted = False
    await undisturbed.run()
    assert (await stage.run()).state is TaskState.COMPLETED
    assert len(stage.model.requests) == len(undisturbed.model.requests)

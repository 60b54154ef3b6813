"""Dying at every stored step: another worker goes on, nothing is paid or written twice (I3, I5)."""

import pytest

from shared.domain.exact_json import JsonObject
from shared.domain.words import FsmState, TaskState, ToolClass, WriteStatus
from tests.doubles.memory_turns import Died
from tests.doubles.scripted_talk import results_in
from tests.unit.executor.archived import replayed
from tests.unit.executor.stage import CLAIM_ID, Stage, decision, kills, message
from tests.unit.executor.test_reflect_improves import BETTER, WEAK, doubtful


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
        stage.turns.die_before = step
        with pytest.raises(Died):
            await stage.run()
        if not stage.statuses:
            continue
        stage.turns.die_before = None
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
        again = await replayed(stage)
        assert again.is_same, again.difference
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

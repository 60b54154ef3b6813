"""Dying at every stored step: another worker goes on, nothing is paid or written twice (I3, I5)."""

import pytest

from shared.domain.exact_json import JsonObject
from shared.domain.words import FsmState, TaskState, ToolClass, WriteStatus
from tests.doubles.memory_turns import Died
from tests.doubles.scripted_talk import results_in
from tests.unit.executor.archived import replayed
from tests.unit.executor.stage import Stage, decision, kills, message
from tests.unit.executor.test_reflect_improves import BETTER, WEAK, doubtful


async def _stored_by_a_whole_run() -> int:
    stage = Stage()
    await stage.run()
    return stage.turns.stored


@pytest.mark.promise("I3.killed_at_every_step", "I3.kill_at_every_step")
async def test_dying_before_any_stored_step_leads_to_the_same_end_with_one_write() -> None:
    for step in range(await _stored_by_a_whole_run()):
        stage = Stage()
        await stage.dies(step)
        record = await stage.run(attempts=2)
        assert record.state is TaskState.COMPLETED, step
        assert stage.claims.applied == ["C-1"], step
        assert stage.statuses == [WriteStatus.VERIFIED.value], step
        assert len(stage.turns.ends) == 1, step


@pytest.mark.promise("I5.paid_once")
async def test_a_model_reply_that_was_stored_is_never_asked_for_again() -> None:
    whole = Stage()
    await whole.run()
    for step in range(whole.turns.stored):
        stage = Stage()
        stage.turns.die_before = step
        with pytest.raises(Died):
            await stage.run()
        stored = sum(entry.kind == "model" for entry in stage.turns.steps.values())
        asked_before = len(stage.model.requests)
        stage.turns.die_before = None
        await stage.run(attempts=2)
        assert len(stage.model.requests) - asked_before == len(whole.model.requests) - stored, step


@pytest.mark.promise("I5.paid_once")
async def test_a_death_before_replies_are_stored_has_at_most_one_of_them_asked_for_again() -> None:
    """The one that had come and was not stored yet."""
    whole = Stage()
    await whole.run()
    again: set[int] = set()
    for step in range(whole.turns.stored):
        stage = Stage()
        await stage.dies(step)
        await stage.run(attempts=2)
        again.add(len(stage.model.requests) - len(whole.model.requests))
    assert again == {0, 1}


@pytest.mark.promise("I3.kill_at_every_step")
async def test_dying_after_intent_and_before_the_call_ends_absent_and_escalated() -> None:
    """The one kill that may lose a write: it is said, and nothing is sent twice."""
    stage = Stage()
    await _die_between_intent_and_call(stage)
    record = await stage.run(attempts=2)
    assert (record.state, stage.claims.applied, stage.statuses) == (TaskState.INPUT_REQUIRED, [], ["absent"])
    assert record.metadata["escalated"] is True


async def _die_between_intent_and_call(stage: Stage) -> None:
    alive = stage.claims.approve
    stage.servers.add("approve_claim", kills, *_class_and_schema(stage))
    with pytest.raises(Died):
        await stage.run()
    stage.servers.add("approve_claim", alive, *_class_and_schema(stage))


def _class_and_schema(stage: Stage):  # type: ignore[no-untyped-def]
    scripted = stage.servers._tools["approve_claim"]
    return scripted.tool_class, scripted.input_schema


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

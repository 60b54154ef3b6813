"""No call of a half-done plan goes out on an old verdict: it is renewed for each attempt, and when it has aged (I2)."""

from datetime import timedelta

import pytest

from shared.domain.exact_json import Json, JsonObject
from shared.domain.words import TaskState, ToolClass
from tests.doubles.memory_turns import Died
from tests.each_row import each_row
from tests.unit.executor.stage import APPROVE, Stage, decision


def two_writes() -> Stage:
    stage = Stage()
    stage.talk.rounds[1:] = [[APPROVE, ("close_claim", {"claim_id": "C-1"})]]
    stage.servers.add("close_claim", lambda _: {"closed": True}, ToolClass.CHANGE)
    return stage


async def half_done() -> Stage:
    """A stage whose process died between the plan's two writes."""
    stage = two_writes()

    def dies(_: JsonObject) -> Json:
        stage.turns.die_before = stage.turns.stored + 2  # the result and its proof are stored, then it dies
        return stage.claims.approve({"claim_id": "C-1"})

    stage.servers.add("approve_claim", dies, ToolClass.CHANGE)
    with pytest.raises(Died):
        await stage.run()
    stage.turns.die_before = None
    assert stage.statuses == ["verified"]
    return stage


@pytest.mark.promise("I2.no_old_verdict")
async def test_a_half_done_plan_asks_for_its_verdict_again_in_another_attempt() -> None:
    stage = await half_done()
    asked = len(stage.policy.asked)
    record = await stage.run(attempts=2)
    assert (record.state, len(stage.servers.called("close_claim"))) == (TaskState.COMPLETED, 1)
    assert len(stage.policy.asked) == asked + 1


@pytest.mark.promise("I2.no_old_verdict")
@each_row("says", [{"passed": False, "blocked": True}, {"requires_approval": True, "policy_hash": "newer"}])
async def test_the_remaining_calls_are_not_sent_when_the_rules_changed(says: dict[str, object]) -> None:
    stage = await half_done()
    stage.policy.says = says
    record = await stage.run(attempts=2)
    assert (record.state, stage.servers.called("close_claim")) == (TaskState.FAILED, [])
    assert (record.metadata["escalated"], "half done" in (record.reason or "")) == (True, True)
    assert "approve_claim" in (record.answer or "")


@pytest.mark.promise("I2.no_old_verdict")
async def test_without_a_policy_service_a_half_done_plan_goes_no_further() -> None:
    stage = await half_done()
    stage.policy.fails_from = 1
    record = await stage.run(attempts=2)
    assert (record.state, stage.servers.called("close_claim")) == (TaskState.FAILED, [])


@pytest.mark.promise("I2.no_old_verdict")
async def test_a_verdict_that_has_aged_is_renewed_before_the_next_call() -> None:
    stage = two_writes()

    def slow(given: JsonObject) -> Json:
        stage.turns.ahead += timedelta(seconds=40)
        return stage.claims.approve(given)

    stage.servers.add("approve_claim", slow, ToolClass.CHANGE)
    await stage.run()
    assert len(stage.policy.asked) == 2


async def test_a_fresh_verdict_is_not_asked_for_again() -> None:
    """One verdict lets the whole plan go out."""
    stage = two_writes()
    await stage.run()
    assert len(stage.policy.asked) == 1


async def test_a_plan_of_which_nothing_is_left_to_send_needs_no_verdict() -> None:
    """A task whose writes are done ends although the policy service is down."""
    stage = Stage()
    await stage.run()
    for step in range(stage.turns.stored):
        resumed = Stage()
        resumed.turns.die_before = step
        with pytest.raises(Died):
            await resumed.run()
        if resumed.statuses != ["verified"]:
            continue
        resumed.turns.die_before, resumed.policy.fails_from = None, 1
        assert (await resumed.run(attempts=2)).state is TaskState.COMPLETED, step


@pytest.mark.promise("I2.no_verdict_no_write")
async def test_a_renewed_verdict_that_asks_for_a_person_is_heeded() -> None:
    """Both verdicts have the same hashes; the first one let the plan pass by itself."""
    stage = Stage()
    stage.age_verdicts()
    stage.policy.says_later = {"passed": False, "escalate": True, "escalation_level": "manager"}
    await stage.ends(TaskState.INPUT_REQUIRED, [])
    await stage.ends(TaskState.COMPLETED, ["C-1"], decision("approve"))

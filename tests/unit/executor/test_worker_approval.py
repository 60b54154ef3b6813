"""I7: what runs is what was approved, by someone who may, in time, on inputs that still hold."""

from datetime import timedelta

import pytest

from services.executor.ports.policy import PolicyUnavailable
from shared.contracts.policy import EvaluateRequest, Verdict
from shared.contracts.task import Principal
from shared.domain.words import Role, TaskState
from tests.doubles.scripted_talk import results_in
from tests.each_row import each_row
from tests.unit.executor.stage import CLERK, RealPolicy, Stage, cancel, deadline, decision, message
from tests.unit.executor.test_session_rules import asks_about_the_second_plan


class _AwayLater(RealPolicy):
    """A policy service that is away once the task's second plan is to be judged."""

    async def evaluate(self, request: EvaluateRequest) -> Verdict:
        if any(call.fields.get("claim_id") == "C-2" for call in request.calls):
            raise PolicyUnavailable("the policy service cannot be reached")
        return await super().evaluate(request)


async def _waiting(**says: object) -> Stage:
    stage = Stage()
    stage.policy.says = {"requires_approval": True, "escalation_level": "manager", **says}
    await stage.run()
    return stage


@pytest.mark.promise("I7.approval_over_two_turns")
async def test_a_plan_that_needs_approval_waits_and_shows_the_exact_call() -> None:
    stage = await _waiting()
    record = stage.turns.record
    assert (record.state, stage.claims.applied) == (TaskState.INPUT_REQUIRED, [])
    assert 'approve_claim(claim_id="C-1")' in (record.answer or "")
    assert stage.turns.ends[-1].timer is not None
    assert stage.turns.ends[-1].outcome is None


@pytest.mark.promise("I7.approval_over_two_turns")
async def test_an_approved_plan_is_carried_out_in_the_second_turn() -> None:
    stage = await _waiting()
    record = await stage.ends(TaskState.COMPLETED, ["C-1"], decision("approve"))
    assert record.metadata["approval"] == "approved by boss"


async def test_a_rejection_ends_the_task_without_a_write() -> None:
    stage = await _waiting()
    record = await stage.ends(TaskState.REJECTED, [], decision("reject"))
    assert "rejected by boss" in (record.reason or "")


async def test_a_task_whose_earlier_plan_wrote_does_not_say_that_nothing_was_written() -> None:
    """Its second plan is rejected: the approver was told of the first one's write, and so is who asked."""
    stage = asks_about_the_second_plan()
    waiting = await stage.run()
    rejected = await stage.run(decision("reject"))
    assert (rejected.state, rejected.reason) == (TaskState.REJECTED, "rejected by boss; nothing more was written")
    assert all('approve_claim {"claim_id":"C-1"}: verified' in (one.answer or "") for one in (waiting, rejected))


async def test_nor_does_it_without_a_verdict_on_its_second_plan() -> None:
    stage = asks_about_the_second_plan()
    stage.policy = _AwayLater()
    failed = await stage.ends(TaskState.FAILED, ["C-1"])
    assert "so nothing more was written" in (failed.reason or "")


@pytest.mark.promise("I7.who_may_decide")
@each_row(
    ("who", "why"),
    [
        (CLERK.model_copy(update={"roles": (Role.APPROVER,), "levels": ("manager",)}), "asked for this"),
        (Principal(id="bystander"), "role approver"),
        (Principal(id="boss", roles=(Role.APPROVER,), levels=("hr",)), "level manager"),
    ],
)
async def test_a_decision_by_someone_who_may_not_make_it_does_not_count(who: Principal, why: str) -> None:
    stage = await _waiting()
    record = await stage.ends(TaskState.INPUT_REQUIRED, [], decision("approve", who))
    assert why in (record.reason or "")
    assert (await stage.run(decision("approve", turn_id="turn-3"))).state is TaskState.COMPLETED


@pytest.mark.promise("I7.expiry_means_no")
async def test_no_decision_in_time_means_no() -> None:
    stage = await _waiting()
    stage.turns.ahead = timedelta(hours=25)
    record = await stage.ends(TaskState.REJECTED, [], deadline())
    assert "no decision before" in (record.reason or "")


@pytest.mark.promise("I7.expiry_means_no")
async def test_a_yes_after_the_deadline_does_not_count() -> None:
    stage = await _waiting()
    stage.turns.ahead = timedelta(hours=25)
    await stage.ends(TaskState.INPUT_REQUIRED, [], decision("approve"))


@pytest.mark.promise("I7.expiry_means_no")
async def test_a_yes_that_was_accepted_in_time_counts_although_it_is_heeded_after_the_deadline() -> None:
    stage = await _waiting()
    stage.turns.ahead = timedelta(hours=25)
    await stage.worker.run(stage.turns.work(decision("approve"))._replace(waited_us=7_200_000_000), stage.turns)
    assert (stage.turns.record.state, stage.claims.applied) == (TaskState.COMPLETED, ["C-1"])


async def test_a_timer_that_fires_early_changes_nothing() -> None:
    stage = await _waiting()
    assert (await stage.run(deadline())).state is TaskState.INPUT_REQUIRED


@pytest.mark.promise("I7.changed_inputs_reopen")
async def test_inputs_that_changed_since_the_approval_reopen_the_gate() -> None:
    stage = await _waiting()
    stage.claims.rows["C-1"]["amount"] = "999.00"
    record = await stage.ends(TaskState.INPUT_REQUIRED, [], decision("approve"))
    assert "changed" in (record.answer or "")
    told = results_in(stage.model.requests[-1])[-1].content
    assert "not made" in results_in(stage.model.requests[-2])[-1].content
    assert "999.00" in told
    record = await stage.ends(TaskState.COMPLETED, ["C-1"], decision("approve", turn_id="turn-3"))


@pytest.mark.promise("I7.changed_inputs_reopen")
async def test_a_yes_to_an_earlier_question_does_not_answer_the_new_one() -> None:
    stage = await _waiting()
    first = stage.turns.record.metadata["approval_id"]
    stage.claims.rows["C-1"]["amount"] = "999.00"
    await stage.run(decision("approve"))
    late = decision("approve", turn_id="turn-3").model_copy(
        update={"data": {"decision": "approve", "approval_id": first}}
    )
    record = await stage.ends(TaskState.INPUT_REQUIRED, [], late)
    assert "earlier question" in (record.reason or "")


async def test_a_message_to_a_waiting_task_leaves_it_waiting() -> None:
    stage = await _waiting()
    record = await stage.ends(TaskState.INPUT_REQUIRED, [], message("any news?", "turn-2"))
    assert "exactly 'approve' or 'reject'" in (record.answer or "")


async def test_a_second_decision_finds_the_task_ended() -> None:
    stage = await _waiting()
    await stage.run(decision("approve"))
    await stage.ends(TaskState.COMPLETED, ["C-1"], decision("reject", turn_id="turn-3"))


@pytest.mark.promise("I7.tenant_asks", "launcher.unruled_writes")
async def test_a_tenant_may_want_an_approval_for_every_write_without_a_rule() -> None:
    stage = Stage()
    stage.change_tenant(unruled_writes="approve")
    record = await stage.ends(TaskState.INPUT_REQUIRED, [])
    assert "no rule applies to approve_claim" in (record.answer or "")


@pytest.mark.promise("task.cancel")
async def test_a_waiting_task_can_be_canceled() -> None:
    stage = await _waiting()
    record = await stage.ends(TaskState.CANCELED, [], cancel())
    assert "canceled by clerk" in (record.answer or "")


@pytest.mark.promise("task.cancel")
async def test_a_running_task_stops_before_its_next_call() -> None:
    stage = Stage()
    stage.turns.cancel = cancel()
    record = await stage.run()
    assert (record.state, stage.model.requests) == (TaskState.CANCELED, [])

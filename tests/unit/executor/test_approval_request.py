"""What an approver is shown: the frozen calls and their hash, whose decision it takes, how many, and until when."""

from datetime import datetime, timedelta

import pytest

from services.executor.core.states.machine import TEMPLATES
from shared.contracts.task import Principal, TaskRecord
from shared.domain.words import Role, TaskState
from tests.unit.executor.begun_as import NOTICE, begun_as
from tests.unit.executor.stage import APPROVE, MANAGER, Stage, decision

pytestmark = pytest.mark.promise("gate.request")

OTHER = Principal(id="other", roles=(Role.APPROVER,), levels=("manager",))


async def _asked(approvers: int = 1) -> Stage:
    template = TEMPLATES["expense_approval"].model_copy(update={"approvers": approvers})
    stage = await begun_as(template, APPROVE, NOTICE)
    stage.policy.says = {"requires_approval": True, "escalation_level": "manager"}
    await stage.run()
    return stage


def _request(record: TaskRecord) -> dict[str, object]:
    request = record.metadata["approval_request"]
    assert isinstance(request, dict)
    return dict(request)


async def test_the_request_has_the_frozen_calls_their_hash_the_role_and_the_deadline_as_data() -> None:
    stage = await _asked()
    (approval,) = stage.turns.approvals
    request = _request(stage.turns.record)
    calls = request["calls"]
    assert isinstance(calls, list)
    assert [(call["tool"], call["arguments"]) for call in calls if isinstance(call, dict)] == [
        ("approve_claim", {"claim_id": "C-1"}),
        ("notify_person", {"text": "Claim C-1 is approved."}),
    ]
    assert request["plan_hash"] == approval.plan.hash == stage.turns.record.metadata["plan_hash"]
    assert (request["level"], request["needed"], request["decisions"]) == ("manager", 1, [])
    assert datetime.fromisoformat(str(request["deadline"])) - approval.asked_at == timedelta(hours=24)
    assert (request["approval_id"], request["confirmation"]) == (approval.approval_id, None)


async def test_the_brief_says_the_same_in_words() -> None:
    stage = await _asked(2)
    (approval,) = stage.turns.approvals
    said = stage.turns.record.answer or ""
    for part in (
        "Approval needed from a manager (2 different people) before these calls are made.",
        '- approve_claim(claim_id="C-1")',
        '- notify_person(text="Claim C-1 is approved.")',
        f"The plan's hash: {approval.plan_hash}",
        f"before {approval.deadline:%Y-%m-%d %H:%M} UTC; no answer means no.",
    ):
        assert part in said


async def test_of_several_people_the_request_says_how_many_have_decided_and_who() -> None:
    stage = await _asked(2)
    record = await stage.run(decision("approve", MANAGER, "first"))
    decisions = _request(record)["decisions"]
    assert isinstance(decisions, list)
    assert [(one["approve"], one["by"]) for one in decisions if isinstance(one, dict)] == [(True, "boss")]
    assert "(2 different people; 1 of 2 given, by boss)" in (record.answer or "")
    record = await stage.run(decision("approve", OTHER, "second"))
    assert (record.state, record.metadata["approval_request"]) == (TaskState.COMPLETED, None)


async def test_a_dry_run_says_whom_a_real_one_would_ask_and_for_which_confirmations() -> None:
    stage = await begun_as(TEMPLATES["subscription_migration"], APPROVE)
    request = stage.turns.record.request.model_copy(update={"metadata": {"dry_run": True}})
    stage.turns.record = stage.turns.record.model_copy(update={"request": request})
    record = await stage.ends(TaskState.COMPLETED, [])
    assert "an approver: 5 confirmations in sequence (what changes, data kept or lost," in str(
        record.metadata["approval"]
    )

"""Confirmations in sequence, in any order of what people say: each an approval of its own on the same plan."""

import asyncio
from collections.abc import Sequence

import pytest
from hypothesis import given, settings, strategies as st

from services.executor.core.states.machine import BUILT_IN_TEMPLATES
from shared.contracts.approval import ApprovalStatus
from shared.contracts.task import Principal, TaskRecord, Turn
from shared.domain.words import FsmState, Role, TaskState, ToolClass
from tests.each_row import each_row
from tests.unit.executor.archived import replayed
from tests.unit.executor.begun_as import begun_as, run_with_deaths
from tests.unit.executor.stage import (
    APPROVE,
    CLERK,
    MANAGER,
    READ,
    Stage,
    Use,
    cancel,
    deadline,
    decision,
    message,
    use,
)

MIGRATION = BUILT_IN_TEMPLATES["subscription_migration"]
SECOND = {"about": "data kept or lost", "number": 2, "of": 5}
FIVE = ("what changes", "data kept or lost", "billing", "effective date", "final go")
OTHER = Principal(id="other", roles=(Role.APPROVER,), levels=("manager",))


async def _confirmed(times: int, stage: Stage | None = None) -> Stage:
    """A migration of which so many confirmations are given."""
    stage = stage or await begun_as(MIGRATION, APPROVE)
    await stage.run()
    for number in range(times):
        await stage.run(decision("approve", turn_id=f"yes-{number}"))
    return stage


def _asked(record: TaskRecord) -> object:
    request = record.metadata["approval_request"]
    assert isinstance(request, dict)
    return request["confirmation"]


@pytest.mark.promise("gate.confirmations")
async def test_five_confirmations_are_asked_one_after_the_other_and_only_then_something_is_written() -> None:
    stage = await _confirmed(0)
    for number, about in enumerate(FIVE, 1):
        record = stage.turns.record
        assert (record.state, stage.claims.applied) == (TaskState.INPUT_REQUIRED, [])
        assert _asked(record) == {"about": about, "number": number, "of": 5}
        assert f"Confirmation {number} of 5 ({about}) needed from an approver" in (record.answer or "")
        await stage.run(decision("approve", turn_id=f"yes-{number}"))
    assert (stage.turns.record.state, stage.claims.applied) == (TaskState.COMPLETED, ["C-1"])
    assert [one.confirmation and one.confirmation.about for one in stage.turns.approvals] == list(FIVE)
    assert len({one.plan_hash for one in stage.turns.approvals}) == 1
    assert len({one.approval_id for one in stage.turns.approvals}) == 5


@pytest.mark.promise("gate.confirmations")
async def test_each_confirmation_is_another_visit_of_the_gate_and_the_result_says_who_gave_it() -> None:
    stage = await _confirmed(4)
    before = "Confirmed before: what changes by boss\nConfirmed before: data kept or lost by boss"
    assert before in (stage.turns.record.answer or "")
    record = await stage.run(decision("approve", OTHER, "yes-last"))
    states = stage.states
    assert states.count(FsmState.APPROVAL_GATE.value) == 5
    assert record.metadata["approval"] == (
        "what changes: confirmed by boss; data kept or lost: confirmed by boss; billing: confirmed by boss; "
        "effective date: confirmed by boss; final go: confirmed by other"
    )
    given = record.metadata["confirmations"]
    assert isinstance(given, list)
    assert [(one["about"], one["by"]) for one in given if isinstance(one, dict)] == [
        *((about, ["boss"]) for about in FIVE[:4]),
        (FIVE[4], ["other"]),
    ]


@pytest.mark.promise("gate.confirmations")
@each_row("given", range(5))
async def test_a_no_at_any_of_them_ends_the_task(given: int) -> None:
    stage = await _confirmed(given)
    record = await stage.ends(TaskState.REJECTED, [], decision("reject", turn_id="no"))
    assert f"Confirmation {given + 1} of 5 ({FIVE[given]}): rejected by boss" in (record.reason or "")


@pytest.mark.promise("gate.confirmations")
async def test_a_yes_to_an_earlier_confirmation_does_not_answer_the_next() -> None:
    stage = await _confirmed(0)
    first = stage.turns.record.metadata["approval_id"]
    await stage.run(decision("approve", turn_id="yes-0"))
    late = decision("approve", turn_id="late").model_copy(
        update={"data": {"decision": "approve", "approval_id": first}}
    )
    record = await stage.run(late)
    assert "earlier question" in (record.reason or "")
    assert _asked(record) == SECOND


@pytest.mark.promise("gate.confirmations")
@each_row("given", range(1, 5))
async def test_inputs_that_change_between_two_confirmations_start_them_over(given: int) -> None:
    stage = await _confirmed(given)
    stage.claims.rows["C-1"]["amount"] = "999.00"
    record = await stage.ends(TaskState.INPUT_REQUIRED, [], decision("approve", turn_id="on-old-inputs"))
    assert _asked(record) == {"about": "what changes", "number": 1, "of": 5}
    assert "changed since the plan was approved" in (record.answer or "")
    for number in range(5):
        assert stage.claims.applied == []
        record = await stage.run(decision("approve", turn_id=f"again-{number}"))
    assert (record.state, stage.claims.applied) == (TaskState.COMPLETED, ["C-1"])


@pytest.mark.promise("gate.confirmations")
async def test_an_amount_that_is_calculated_anew_from_changed_inputs_is_asked_about_and_written() -> None:
    """The value of the outdated plan does not come out again, and nothing rests on it any more."""

    def half(name: str, amount: str) -> list[list[Use]]:
        paid = use("pay_claim", claim_id="C-1", amount=amount)
        return [[use("calculate", name=name, operation="quotient", operands=["r1.amount", "2"])], [paid]]

    stage = Stage("Pay half of claim C-1", [READ], *half("half", "60.25"))
    stage.servers.add("pay_claim", lambda said: {"id": "C-1", "paid": said["amount"]}, ToolClass.CHANGE)
    stage.change_tenant(unruled_writes="approve")
    await stage.ends(TaskState.INPUT_REQUIRED)
    stage.claims.rows["C-1"]["amount"] = "400.00"
    stage.talk.rounds = [[READ], *half("new_half", "200.00")]
    await stage.ends(TaskState.INPUT_REQUIRED, None, decision("approve", turn_id="on-old-inputs"), says="200.00")
    await stage.ends(TaskState.COMPLETED, None, decision("approve", turn_id="on-new-inputs"))
    assert [one["amount"] for one in stage.servers.called("pay_claim")] == ["200.00"]


@pytest.mark.promise("gate.confirmations")
async def test_where_two_people_approve_each_confirmation_takes_both() -> None:
    stage = await _confirmed(1, await begun_as(MIGRATION.model_copy(update={"approvers": 2}), APPROVE))
    assert _asked(stage.turns.record) == {"about": "what changes", "number": 1, "of": 5}
    assert "(2 different people; 1 of 2 given, by boss)" in (stage.turns.record.answer or "")
    record = await stage.run(decision("approve", MANAGER, "boss-again"))
    assert "boss has already decided" in (record.reason or "")
    record = await stage.run(decision("approve", OTHER, "the-other"))
    assert _asked(record) == SECOND


@pytest.mark.promise("gate.confirmations")
async def test_a_process_that_dies_between_confirmations_counts_each_once() -> None:
    """Each turn dies at every point; the confirmations still come in their order, each given once."""
    stage = await _confirmed(0)
    for number in range(5):
        asked = stage.turns.approvals[-1]
        assert asked.confirmation is not None
        assert (asked.confirmation.number, asked.status) == (number + 1, ApprovalStatus.WAITING)
        assert await run_with_deaths(stage, decision("approve", turn_id=f"yes-{number}")) > 0
    assert (stage.turns.record.state, stage.claims.applied) == (TaskState.COMPLETED, ["C-1"])
    assert len(stage.turns.approvals) == 5
    assert (await replayed(stage)).difference == ""


@pytest.mark.promise("gate.confirmations")
async def test_a_confirmation_that_was_given_is_kept_as_given_and_one_that_nobody_asks_any_more_as_superseded() -> None:
    approved, waits, superseded = ApprovalStatus.APPROVED, ApprovalStatus.WAITING, ApprovalStatus.SUPERSEDED
    stage = await _confirmed(2)
    assert [one.status for one in stage.turns.approvals] == [approved, approved, waits]
    stage.claims.rows["C-1"]["amount"] = "999.00"
    await stage.run(decision("approve", turn_id="on-old-inputs"))
    assert [one.status for one in stage.turns.approvals[2:]] == [superseded, waits]
    await stage.run(cancel())
    assert stage.turns.approvals[-1].status is superseded


_NEEDED = len(BUILT_IN_TEMPLATES["subscription_migration"].confirmations)
_OWN = CLERK.model_copy(update={"roles": (Role.APPROVER,), "levels": ("manager",)})
_WORDS = ("yes", "yes", "yes", "yes", "change", "words", "own", "early", "no")


def _turn(word: str, number: int) -> Turn:
    name = f"turn-{number}"
    match word:
        case "yes" | "no":
            return decision("approve" if word == "yes" else "reject", turn_id=name)
        case "own":
            return decision("approve", _OWN, name)
        case "early":
            return deadline(name)
    return message("any news?", name)


class _Expected:
    """What the gate has to know: how many confirmations of the present plan are given, and whether a no came."""

    def __init__(self) -> None:
        self.given, self.changed, self.refused = 0, False, False

    def hear(self, word: str) -> None:
        if word == "yes":
            self.given = 0 if self.changed else self.given + 1
            self.changed = False
        self.changed = self.changed or word == "change"
        self.refused = self.refused or word == "no"

    @property
    def state(self) -> TaskState:
        if self.refused:
            return TaskState.REJECTED
        return TaskState.COMPLETED if self.agreed else TaskState.INPUT_REQUIRED

    @property
    def agreed(self) -> bool:
        return self.given == _NEEDED


async def _heard(words: Sequence[str]) -> tuple[Stage, _Expected]:
    stage, expected = await begun_as(BUILT_IN_TEMPLATES["subscription_migration"], APPROVE), _Expected()
    await stage.run()
    for number, word in enumerate(words, 2):
        if expected.agreed or expected.refused:
            break
        expected.hear(word)
        if word == "change":
            stage.claims.rows["C-1"]["amount"] = f"{number}00.00"
        else:
            await stage.run(_turn(word, number))
        assert (stage.turns.record.state, len(stage.claims.applied)) == (expected.state, int(expected.agreed))
    return stage, expected


@pytest.mark.promise("gate.confirmations")
@settings(max_examples=15)
@given(st.lists(st.sampled_from(_WORDS), min_size=3, max_size=14))
def test_nothing_is_written_before_all_confirmations_of_one_plan_are_given(words: list[str]) -> None:
    stage, expected = asyncio.run(_heard(words))
    confirmed = stage.turns.record.metadata["confirmations"]
    assert isinstance(confirmed, list)
    if not expected.refused:
        assert len(confirmed) == expected.given

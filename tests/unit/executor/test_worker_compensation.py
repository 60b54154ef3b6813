"""A plan that takes back what it did: which calls, in which order, each at most once, and never blindly."""

import pytest

from services.executor.core.execute.approval_gate import brief
from services.executor.ports.tools import ToolAnswer, ToolSilent, ToolUnreachable
from shared.contracts.task import TaskRecord
from shared.domain.exact_json import Json, JsonObject
from shared.domain.words import TaskState, ToolClass
from tests.doubles.memory_turns import Died
from tests.doubles.scripted_model import json_reply
from tests.unit.executor.stage import CALL, Stage, decision
from tests.unit.executor.test_worker_doubts import word

LIMIT = ToolAnswer("over the limit", is_error=True, not_begun=True)
REOPEN: JsonObject = {
    "connection": "office",
    "tool": "reopen_claim",
    "arguments_json": '{"claim_id":{"$ref":"c1.id"}}',
    "origins": [],
    "read_back": {"tool": "get_claim", "arguments_json": '{"claim_id":"C-1"}', "expect_json": '{"status":"open"}'},
}
PAY: JsonObject = {
    "call_id": "c2",
    "connection": "office",
    "tool": "pay_claim",
    "arguments_json": '{"claim_id":"C-1"}',
    "origins": [],
    "read_back": None,
    "on_failure": "compensate",
    "compensation": None,
}


def planned(*calls: JsonObject) -> Stage:
    """A stage whose plan has these calls; paying is refused, and reopening works."""
    stage = Stage()
    stage.scripts["write_plan"] = json_reply({"calls": [*calls], "why_none": None})
    stage.servers.add("pay_claim", lambda _: LIMIT, ToolClass.CHANGE)
    stage.servers.add("reopen_claim", reopened(stage), ToolClass.CHANGE)
    return stage


def reopened(stage: Stage):  # type: ignore[no-untyped-def]  # a handler of the fake servers
    def reopen(given: JsonObject) -> Json:
        key = str(given["claim_id"])
        stage.claims.applied.append(f"reopened {key}")
        stage.claims.rows[key]["status"] = "open"
        return dict(stage.claims.rows[key])

    return reopen


APPROVE: JsonObject = {**CALL, "compensation": REOPEN}


def by_call(stage: Stage) -> dict[str, str]:
    return {entry.call.call_id: entry.status.value for entry in stage.turns.writes.values()}


@pytest.mark.promise("plan.compensates")
async def test_what_the_earlier_calls_did_is_taken_back_when_a_later_one_is_refused() -> None:
    stage = planned(APPROVE, PAY)
    record = await stage.run()
    assert stage.claims.applied == ["C-1", "reopened C-1"]
    assert by_call(stage) == {"c1": "verified", "c2": "refused", "undo-c1": "verified"}
    assert (record.state, record.metadata["escalated"]) == (TaskState.FAILED, False)
    assert "over the limit" in (record.reason or "")
    assert "taken back: c1 approve_claim" in (record.reason or "")


@pytest.mark.promise("plan.compensates")
@pytest.mark.parametrize(
    ("rule", "state", "statuses"),
    [
        ("stop", TaskState.FAILED, {"c1": "verified", "c2": "refused"}),
        ("continue", TaskState.COMPLETED, {"c1": "verified", "c2": "refused"}),
    ],
)
async def test_only_compensate_takes_anything_back(rule: str, state: TaskState, statuses: dict[str, str]) -> None:
    stage = planned(APPROVE, {**PAY, "on_failure": rule})
    record = await stage.run()
    assert (record.state, by_call(stage)) == (state, statuses)


@pytest.mark.promise("plan.compensates")
async def test_the_latest_call_is_taken_back_first() -> None:
    second: JsonObject = {**APPROVE, "call_id": "c2", "arguments_json": '{"claim_id":"C-2"}'}
    second["read_back"] = {"tool": "get_claim", "arguments_json": '{"claim_id":"C-2"}', "expect_json": "{}"}
    second["compensation"] = {**REOPEN, "arguments_json": '{"claim_id":"C-2"}', "read_back": None}
    stage = planned(APPROVE, second, {**PAY, "call_id": "c3"})
    stage.turns.record = stage.turns.record.model_copy(
        update={"request": stage.turns.record.request.model_copy(update={"text": "Approve claims C-1 and C-2"})}
    )
    await stage.run()
    assert stage.claims.applied == ["C-1", "C-2", "reopened C-2"]  # it cannot be proved, so a person decides on C-1
    assert by_call(stage)["undo-c2"] == "unverified"
    second["compensation"] = {**REOPEN, "arguments_json": '{"claim_id":"C-2"}', "read_back": second["read_back"]}
    proved = planned(APPROVE, second, {**PAY, "call_id": "c3"})
    proved.turns.record = stage.turns.record.model_copy(update={"state": TaskState.SUBMITTED})
    await proved.run()
    assert proved.claims.applied == ["C-1", "C-2", "reopened C-2", "reopened C-1"]


@pytest.mark.promise("plan.compensates")
async def test_a_call_that_cannot_be_made_as_planned_is_a_failure_too() -> None:
    stage = planned(APPROVE, {**PAY, "arguments_json": '{"claim_id":{"$ref":"c1.nothing"}}'})
    record = await stage.run()
    assert (record.state, stage.claims.applied) == (TaskState.FAILED, ["C-1", "reopened C-1"])


@pytest.mark.promise("plan.continues")
async def test_a_plan_that_is_to_continue_goes_on_without_a_call_that_cannot_be_made() -> None:
    """The answer says so, and whoever takes the task up later does not make the call out of its order."""
    cannot: JsonObject = {**PAY, "arguments_json": '{"claim_id":{"$ref":"c1.nothing"}}', "on_failure": "continue"}
    after: JsonObject = {**REOPEN, "call_id": "c3", "on_failure": "stop"}
    stage = planned(APPROVE, cannot, after)
    record = await stage.run()
    assert (record.state, stage.claims.applied) == (TaskState.COMPLETED, ["C-1", "reopened C-1"])
    assert by_call(stage) == {"c1": "verified", "c3": "verified"}
    assert "Not made:\n- pay_claim: c2: " in (record.answer or "")


@pytest.mark.promise("plan.never_blindly")
async def test_a_write_that_nothing_proves_is_not_taken_back_and_a_person_is_told() -> None:
    stage = planned({**APPROVE, "read_back": None}, PAY)
    record = await stage.run()
    assert (by_call(stage), stage.claims.applied) == ({"c1": "unverified", "c2": "refused"}, ["C-1"])
    assert (record.state, record.metadata["escalated"]) == (TaskState.FAILED, True)
    assert "still standing: c1 approve_claim (unverified)" in (record.reason or "")


@pytest.mark.promise("plan.never_blindly")
async def test_a_doubtful_write_waits_for_an_operator_before_anything_is_taken_back() -> None:
    stage = planned(APPROVE, PAY)

    def lost(_: JsonObject) -> Json:
        raise ToolSilent("cut off")

    stage.servers.add("pay_claim", lost, ToolClass.CHANGE)
    record = await stage.run()
    assert (record.state, stage.claims.applied) == (TaskState.INPUT_REQUIRED, ["C-1"])
    assert by_call(stage) == {"c1": "verified", "c2": "in_doubt"}


@pytest.mark.promise("plan.compensates")
async def test_what_an_operator_says_is_done_can_be_taken_back() -> None:
    stage = planned(APPROVE, PAY)
    asked: list[JsonObject] = []

    def applied_and_lost(given: JsonObject) -> Json:
        asked.append(given)
        raise ToolSilent("cut off")

    stage.servers.add("approve_claim", applied_and_lost, ToolClass.CHANGE)
    await stage.run()
    stage.claims.rows["C-1"]["status"] = "approved"
    known = planned({**APPROVE, "compensation": {**REOPEN, "arguments_json": '{"claim_id":"C-1"}'}}, PAY)
    known.servers.add("approve_claim", applied_and_lost, ToolClass.CHANGE)
    await known.run()
    known.claims.rows["C-1"]["status"] = "approved"
    record = await known.run(word(known, "done"))
    assert (record.state, known.claims.applied) == (TaskState.FAILED, ["reopened C-1"])
    assert by_call(known) == {"c1": "unverified", "c2": "refused", "undo-c1": "verified"}


@pytest.mark.promise("plan.never_blindly")
async def test_a_compensation_that_is_refused_escalates_and_is_not_repeated() -> None:
    stage = planned(APPROVE, PAY)
    stage.servers.add("reopen_claim", lambda _: ToolAnswer("too late", is_error=True), ToolClass.CHANGE)
    record = await stage.run()
    assert (record.state, record.metadata["escalated"]) == (TaskState.FAILED, True)
    assert "too late" in (record.reason or "")
    assert len(stage.servers.called("reopen_claim")) == 1


@pytest.mark.promise("plan.never_blindly")
async def test_a_compensation_in_doubt_waits_for_an_operator_as_any_write() -> None:
    stage = planned(APPROVE, PAY)

    def lost(_: JsonObject) -> Json:
        raise ToolSilent("cut off")

    stage.servers.add("reopen_claim", lost, ToolClass.CHANGE)
    waiting = await stage.run()
    assert waiting.state is TaskState.INPUT_REQUIRED
    record = await stage.run(word(stage, "done"))
    assert (record.state, record.metadata["escalated"]) == (TaskState.FAILED, False)
    assert "taken back: c1" in (record.reason or "")


@pytest.mark.promise("I3.kill_at_every_step")
async def test_dying_at_any_step_of_taking_back_takes_it_back_once() -> None:
    named = {**APPROVE, "compensation": {**REOPEN, "arguments_json": '{"claim_id":"C-1"}'}}
    whole = planned(named, PAY)
    end = await whole.run()
    for step in range(whole.turns.stored):
        stage = planned(named, PAY)
        stage.turns.die_before = step
        with pytest.raises(Died):
            await stage.run()
        stage.turns.die_before = None
        record = await stage.run(attempts=2)
        if record.state is TaskState.INPUT_REQUIRED:  # the server's refusal was lost with the process
            record = await stage.run(word(stage, "retry"))
        assert stage.claims.applied == ["C-1", "reopened C-1"], step
        assert (record.state, record.reason) == (end.state, end.reason), step


def unreachable(stage: Stage, until: list[bool]) -> list[JsonObject]:
    """Paying finds no connection until the list is not empty; what was paid."""
    paid: list[JsonObject] = []

    def pay(given: JsonObject) -> Json:
        if not until:
            raise ToolUnreachable("refused")
        paid.append(given)
        return {"paid": True}

    stage.servers.add("pay_claim", pay, ToolClass.CHANGE)
    return paid


@pytest.mark.promise("plan.taken_back_for_good")
async def test_a_call_that_could_not_be_sent_is_not_sent_after_the_plan_was_taken_back() -> None:
    stage, reachable = planned(APPROVE, PAY), list[bool]()
    paid = unreachable(stage, reachable)

    def lost(_: JsonObject) -> Json:
        raise ToolSilent("cut off")

    stage.servers.add("reopen_claim", lost, ToolClass.CHANGE)
    assert (await stage.run()).state is TaskState.INPUT_REQUIRED
    reachable.append(True)
    record = await stage.run(word(stage, "done"))
    assert (record.state, paid) == (TaskState.FAILED, [])
    assert by_call(stage) == {"c1": "verified", "c2": "unsent", "undo-c1": "unverified"}
    assert "taken back: c1" in (record.reason or "")


@pytest.mark.promise("plan.taken_back_for_good")
async def test_a_successor_goes_on_taking_back_although_the_failed_call_could_be_sent_now() -> None:
    named = {**APPROVE, "compensation": {**REOPEN, "arguments_json": '{"claim_id":"C-1"}'}}
    stage, reachable = planned(named, PAY), list[bool]()
    paid = unreachable(stage, reachable)
    reopen = reopened(stage)

    def dies(given: JsonObject) -> Json:
        reopen(given)
        raise Died

    stage.servers.add("reopen_claim", dies, ToolClass.CHANGE)
    with pytest.raises(Died):
        await stage.run()
    reachable.append(True)
    record = await stage.run(attempts=2)
    assert (record.state, paid, stage.claims.applied) == (TaskState.FAILED, [], ["C-1", "reopened C-1"])
    assert by_call(stage) == {"c1": "verified", "c2": "unsent", "undo-c1": "verified"}


@pytest.mark.promise("plan.compensations_are_approved")
async def test_compensations_are_judged_hashed_and_shown_to_the_approver() -> None:
    stage = planned(APPROVE, PAY)
    stage.policy.says = {"requires_approval": True}
    record = await stage.run()
    approval = stage.turns.approvals[-1]
    assert [call.call_id for call in stage.policy.asked[-1].calls] == ["c1", "undo-c1", "c2"]
    assert "taken back, if a later call asks for it, by reopen_claim" in brief(approval)
    assert "if it fails, the calls before it are taken back" in (record.answer or "")
    without = approval.plan.model_copy(
        update={"calls": tuple(call.model_copy(update={"compensation": None}) for call in approval.plan.calls)}
    )
    assert without.hash != approval.plan.hash
    done: TaskRecord = await stage.run(decision("approve"))
    assert done.state is TaskState.FAILED
    assert stage.claims.applied == ["C-1", "reopened C-1"]

"""A plan that takes back what it did: which calls, in which order, each at most once, and never blindly."""

import pytest

from services.executor.core.authorize.approval import approver_brief
from services.executor.ports.tools import ToolAnswer, ToolSilent, ToolUnreachable
from shared.contracts.task import TaskRecord
from shared.contracts.tenant import CatalogueEntry
from shared.domain.exact_json import Json, JsonObject
from shared.domain.words import TaskState, ToolClass
from tests.doubles.memory_turns import Died
from tests.each_row import each_row
from tests.unit.executor.stage import APPROVE, TASK, Stage, decision, keeps_silent
from tests.unit.executor.test_worker_doubts import word

LIMIT = ToolAnswer("over the limit", is_error=True, not_begun=True)
ONE: JsonObject = {"type": "object", "properties": {"claim_id": {"type": "string"}}, "required": ["claim_id"]}
REOPENS = CatalogueEntry(compensated_by="reopen_claim")
PROVED = CatalogueEntry(read_back="get_claim", expect={"status": "open"})
PAY: tuple[str, JsonObject] = ("pay_claim", {"claim_id": "C-1"})
APPROVE_2: tuple[str, JsonObject] = ("approve_claim", {"claim_id": "C-2"})


def planned(*calls: tuple[str, JsonObject], text: str = TASK, **catalogue: CatalogueEntry) -> Stage:
    """A stage whose plan has these calls; paying is refused, and reopening takes an approval back."""
    stage = Stage(text)
    stage.talk.rounds[1:] = [calls]
    stage.servers.add("pay_claim", lambda _: LIMIT, ToolClass.CHANGE, ONE)
    stage.servers.add("reopen_claim", reopened(stage), ToolClass.CHANGE, ONE)
    entries = {"approve_claim": REOPENS, "reopen_claim": PROVED, **catalogue}
    stage.set_catalogue(**entries)
    return stage


def reopened(stage: Stage):  # type: ignore[no-untyped-def]  # a handler of the fake servers
    def reopen(given: JsonObject) -> Json:
        key = str(given["claim_id"])
        stage.claims.applied.append(f"reopened {key}")
        stage.claims.rows[key]["status"] = "open"
        return dict(stage.claims.rows[key])

    return reopen


def swallowed(stage: Stage):  # type: ignore[no-untyped-def]  # a handler of the fake servers
    """It answers as if it had reopened the claim, and does not."""

    def reopen(given: JsonObject) -> Json:
        stage.claims.applied.append(f"reopened {given['claim_id']}")
        return {"ok": True}

    return reopen


def needing(field: str) -> tuple[str, JsonObject]:
    """A payment of the claim that the first call's answer names under that field."""
    return "pay_claim", {"_call": {"from": {"claim_id": f"1.{field}"}}}


def as_object(value: Json) -> JsonObject:
    assert isinstance(value, dict)
    return value


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
async def test_without_the_operators_word_nothing_is_taken_back() -> None:
    stage = planned(APPROVE, PAY, approve_claim=CatalogueEntry())
    record = await stage.run()
    assert (record.state, by_call(stage)) == (TaskState.FAILED, {"c1": "verified", "c2": "refused"})


@pytest.mark.promise("plan.compensates")
async def test_what_carries_out_another_part_is_not_taken_back() -> None:
    first, second = "Approve claim C-1", "pay claim C-2"
    stage = planned(
        ("approve_claim", {"claim_id": "C-1", "_call": {"part": 1}}),
        ("pay_claim", {"claim_id": "C-2", "_call": {"part": 2}}),
        text=f"{first} and {second}",
    )
    stage.talk.parts = [(first, "do"), (second, "do")]
    await stage.ends(TaskState.FAILED, ["C-1"])
    assert by_call(stage) == {"c1": "verified", "c2": "refused"}


@pytest.mark.promise("plan.compensates")
@each_row(("proved", "taken_back"), [(False, ["C-2"]), (True, ["C-2", "C-1"])])
async def test_the_latest_call_is_taken_back_first(proved: bool, taken_back: list[str]) -> None:
    """What cannot be seen to be taken back ends it: a person decides about the rest."""
    stage = planned(APPROVE, APPROVE_2, PAY, text="Approve claims C-1 and C-2")
    if not proved:
        stage.servers.add("reopen_claim", swallowed(stage), ToolClass.CHANGE, ONE)
    await stage.run()
    assert stage.claims.applied == ["C-1", "C-2", *(f"reopened {one}" for one in taken_back)]
    assert by_call(stage)["undo-c2"] == ("verified" if proved else "unverified")


@pytest.mark.promise("plan.compensates")
async def test_a_call_that_cannot_be_made_as_planned_is_a_failure_too() -> None:
    stage = planned(APPROVE, needing("nothing"))
    await stage.ends(TaskState.FAILED, ["C-1", "reopened C-1"])


@pytest.mark.promise("plan.compensates")
async def test_what_only_the_answer_names_is_taken_from_there() -> None:
    """A claim is filed, and its number is known by the answer alone."""
    stage = planned(("file_claim", {"memo": "taxi"}), PAY, text="File a claim for a taxi and pay claim C-1")

    def file(_: JsonObject) -> Json:
        stage.claims.rows["C-9"] = {"id": "C-9", "memo": "taxi"}
        return {"claim_id": "C-9"}

    def drop(given: JsonObject) -> Json:
        stage.claims.applied.append(f"dropped {given['claim_id']}")
        return {"dropped": True}

    stage.servers.add("file_claim", file, ToolClass.CHANGE)
    stage.servers.add("drop_claim", drop, ToolClass.CHANGE, ONE)
    entries = {"file_claim": CatalogueEntry(compensated_by="drop_claim", read_back="get_claim")}
    stage.set_catalogue(**entries)
    await stage.run()
    assert stage.claims.applied == ["dropped C-9"]


@pytest.mark.promise("plan.continues")
async def test_a_plan_goes_on_without_a_call_that_cannot_be_made_and_says_so() -> None:
    """Only its own part stops with it; whoever takes the task up later does not make the call out of its order."""
    first, second = "Approve and pay claim C-1", "approve claim C-2"
    (pay, given) = needing("nothing")
    stage = planned(
        ("approve_claim", {"claim_id": "C-1", "_call": {"part": 1}}),
        (pay, {"_call": {"part": 1, **as_object(given["_call"])}}),
        ("approve_claim", {"claim_id": "C-2", "_call": {"part": 2}}),
        text=f"{first}, {second}",
        approve_claim=CatalogueEntry(),
    )
    stage.talk.parts = [(first, "do"), (second, "do")]
    record = await stage.ends(TaskState.FAILED, ["C-1", "C-2"], why="part 1 (Approve and pay claim C-1): pay_claim: ")
    assert by_call(stage) == {"c1": "verified", "c3": "verified"}
    assert "part 2" not in (record.reason or "")


@pytest.mark.promise("plan.never_blindly")
async def test_a_write_that_nothing_proves_is_not_taken_back_and_a_person_is_told() -> None:
    stage = planned(APPROVE, PAY)
    stage.servers.remove("get_claim")
    stage.talk.rounds[0] = []
    record = await stage.run()
    assert (by_call(stage), stage.claims.applied) == ({"c1": "unverified", "c2": "refused"}, ["C-1"])
    assert (record.state, record.metadata["escalated"]) == (TaskState.FAILED, True)
    assert "still standing: c1 approve_claim (unverified)" in (record.reason or "")


@pytest.mark.promise("plan.never_blindly")
async def test_a_doubtful_write_waits_for_an_operator_before_anything_is_taken_back() -> None:
    stage = planned(APPROVE, PAY)

    stage.servers.add("pay_claim", keeps_silent, ToolClass.CHANGE, ONE)
    await stage.ends(TaskState.INPUT_REQUIRED, ["C-1"])
    assert by_call(stage) == {"c1": "verified", "c2": "absent"}


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
    known = planned(APPROVE, PAY)
    known.servers.add("approve_claim", applied_and_lost, ToolClass.CHANGE)
    await known.run()
    known.claims.rows["C-1"]["status"] = "approved"
    await known.ends(TaskState.FAILED, ["reopened C-1"], word(known, "done"))
    assert by_call(known) == {"c1": "unverified", "c2": "refused", "undo-c1": "verified"}


@pytest.mark.promise("plan.never_blindly")
async def test_a_compensation_that_is_refused_escalates_and_is_not_repeated() -> None:
    stage = planned(APPROVE, PAY)
    stage.servers.add("reopen_claim", lambda _: ToolAnswer("too late", is_error=True), ToolClass.CHANGE, ONE)
    record = await stage.run()
    assert (record.state, record.metadata["escalated"]) == (TaskState.FAILED, True)
    assert "too late" in (record.reason or "")
    assert len(stage.servers.called("reopen_claim")) == 1


@pytest.mark.promise("plan.never_blindly")
async def test_a_compensation_in_doubt_waits_for_an_operator_as_any_write() -> None:
    stage = planned(APPROVE, PAY)

    stage.servers.add("reopen_claim", keeps_silent, ToolClass.CHANGE, ONE)
    await stage.ends(TaskState.INPUT_REQUIRED)
    record = await stage.run(word(stage, "done"))
    assert (record.state, record.metadata["escalated"]) == (TaskState.FAILED, False)
    assert "taken back: c1" in (record.reason or "")


@pytest.mark.promise("I3.kill_at_every_step")
async def test_dying_at_any_step_of_taking_back_takes_it_back_once() -> None:
    whole = planned(APPROVE, PAY)
    end = await whole.run()
    for step in range(whole.turns.stored):
        stage = planned(APPROVE, PAY)
        await stage.dies(step)
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

    stage.servers.add("pay_claim", pay, ToolClass.CHANGE, ONE)
    return paid


@pytest.mark.promise("plan.taken_back_for_good")
async def test_a_call_that_could_not_be_sent_is_not_sent_after_the_plan_was_taken_back() -> None:
    stage, reachable = planned(APPROVE, PAY), list[bool]()
    paid = unreachable(stage, reachable)

    stage.servers.add("reopen_claim", keeps_silent, ToolClass.CHANGE, ONE)
    assert (await stage.run()).state is TaskState.INPUT_REQUIRED
    reachable.append(True)
    record = await stage.run(word(stage, "done"))
    assert (record.state, paid) == (TaskState.FAILED, [])
    assert by_call(stage) == {"c1": "verified", "c2": "unsent", "undo-c1": "unverified"}
    assert "taken back: c1" in (record.reason or "")


@pytest.mark.promise("plan.taken_back_for_good")
async def test_a_successor_goes_on_taking_back_although_the_failed_call_could_be_sent_now() -> None:
    stage, reachable = planned(APPROVE, PAY), list[bool]()
    paid = unreachable(stage, reachable)
    reopen = reopened(stage)

    def dies(given: JsonObject) -> Json:
        reopen(given)
        raise Died

    stage.servers.add("reopen_claim", dies, ToolClass.CHANGE, ONE)
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
    assert "taken back, if a later call asks for it, by reopen_claim" in approver_brief(approval)
    assert "if it fails, the calls before it are taken back" in (record.answer or "")
    without = approval.plan.model_copy(
        update={"calls": tuple(call.model_copy(update={"compensation": None}) for call in approval.plan.calls)}
    )
    assert without.hash != approval.plan.hash
    done: TaskRecord = await stage.run(decision("approve"))
    assert done.state is TaskState.FAILED
    assert stage.claims.applied == ["C-1", "reopened C-1"]

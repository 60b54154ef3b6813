"""A plan that takes back what it did: which calls, in which order, each at most once, and never blindly."""

from collections.abc import Sequence
from functools import partial

import pytest

from services.executor.core.authorize.approval import calls_as_json, write_approver_brief
from services.executor.ports.tools import ToolAnswer, ToolUnreachable
from shared.contracts.task import TaskRecord
from shared.contracts.tenant import CatalogueEntry
from shared.domain.exact_json import Json, JsonObject, as_object
from shared.domain.words import TaskState, ToolClass
from tests.doubles.memory_turns import Died
from tests.each_row import each_row
from tests.unit.executor.stage import APPROVE, APPROVE_2, ONE, READ, TASK, Stage, Use, decision, keeps_silent, use
from tests.unit.executor.test_worker_doubts import word

LIMIT = ToolAnswer("over the limit", is_error=True, not_begun=True)
REOPENS = CatalogueEntry(compensated_by="reopen_claim")
PROVED = CatalogueEntry(read_back="get_claim", expect={"status": "open"})
PAY = use("pay_claim", claim_id="C-1")
FAILED, WAITS = TaskState.FAILED, TaskState.INPUT_REQUIRED
DONE, REFUSED = "verified", "refused"


def planned(
    *calls: Use, text: str = f"{TASK} and pay it", parts: Sequence[str] = (), **catalogue: CatalogueEntry
) -> Stage:
    """A stage whose plan has these calls; paying is refused, and reopening takes an approval back."""
    stage = Stage(text, [READ], calls, parts=parts)
    stage.servers.add("pay_claim", lambda _: LIMIT, ToolClass.CHANGE, ONE)
    stage.servers.add("reopen_claim", partial(reopen, stage), ToolClass.CHANGE, ONE)
    stage.set_catalogue(**{"approve_claim": REOPENS, "reopen_claim": PROVED, **catalogue})
    return stage


def reopen(stage: Stage, given: JsonObject) -> Json:
    key = str(given["claim_id"])
    stage.claims.applied.append(f"reopened {key}")
    stage.claims.rows[key]["status"] = "open"
    return dict(stage.claims.rows[key])


def by_call(stage: Stage) -> dict[str, str]:
    return {entry.call.call_id: entry.status.value for entry in stage.turns.writes.values()}


@pytest.mark.promise("plan.compensates")
async def test_what_the_earlier_calls_did_is_taken_back_when_a_later_one_is_refused() -> None:
    stage = planned(APPROVE, PAY)
    record = await stage.ends(FAILED, ["C-1", "reopened C-1"], why="taken back: c1 approve_claim")
    assert by_call(stage) == {"c1": DONE, "c2": REFUSED, "undo-c1": DONE}
    assert record.metadata["escalated"] is False
    assert "over the limit" in (record.reason or "")
    unplanned = planned(APPROVE, use("pay_claim", _call={"from": {"claim_id": "1.nothing"}}))
    await unplanned.ends(FAILED, ["C-1", "reopened C-1"])  # what cannot be made as planned is a failure too


_FIRST, _SECOND = "Approve claim C-1", "pay claim C-2"


@pytest.mark.promise("plan.compensates")
@each_row(
    "stage",
    lambda: [
        planned(APPROVE, PAY, approve_claim=CatalogueEntry()),
        planned(
            use("approve_claim", 1, claim_id="C-1"),
            use("pay_claim", 2, claim_id="C-2"),
            text=f"{_FIRST} and {_SECOND}",
            parts=(_FIRST, _SECOND),
        ),
    ],
)
async def test_without_the_operators_word_and_for_another_part_nothing_is_taken_back(stage: Stage) -> None:
    await stage.ends(FAILED, ["C-1"])
    assert by_call(stage) == {"c1": DONE, "c2": REFUSED}


@pytest.mark.promise("plan.compensates")
@each_row(("proved", "taken_back"), [(False, ["C-2"]), (True, ["C-2", "C-1"])])
async def test_the_latest_call_is_taken_back_first(proved: bool, taken_back: list[str]) -> None:
    """What cannot be seen to be taken back ends it: a person decides about the rest."""
    stage = planned(APPROVE, APPROVE_2, PAY, text="Approve claims C-1 and C-2 and pay C-1")

    def swallow(given: JsonObject) -> Json:
        stage.claims.applied.append(f"reopened {given['claim_id']}")
        return {"ok": True}

    if not proved:
        stage.servers.add("reopen_claim", swallow, ToolClass.CHANGE, ONE)
    await stage.ends(FAILED, ["C-1", "C-2", *(f"reopened {one}" for one in taken_back)])
    assert by_call(stage)["undo-c2"] == (DONE if proved else "unverified")


@pytest.mark.promise("plan.compensates")
async def test_what_only_the_answer_names_is_taken_from_there() -> None:
    """A claim is filed, and its number is known by the answer alone."""
    stage = planned(use("file_claim", memo="taxi"), PAY, text="File a claim for a taxi and pay claim C-1")

    def file(_: JsonObject) -> Json:
        stage.claims.rows["C-9"] = {"id": "C-9", "memo": "taxi"}
        return {"claim_id": "C-9"}

    stage.servers.add("file_claim", file, ToolClass.CHANGE)
    stage.servers.add("drop_claim", lambda _: {"dropped": True}, ToolClass.CHANGE, ONE)
    stage.set_catalogue(file_claim=CatalogueEntry(compensated_by="drop_claim", read_back="get_claim"))
    await stage.run()
    assert stage.servers.called("drop_claim") == [{"claim_id": "C-9"}]


@pytest.mark.promise("plan.continues")
async def test_a_plan_goes_on_without_a_call_that_cannot_be_made_and_says_so() -> None:
    """Only its own part stops with it; whoever takes the task up later does not make the call out of its order."""
    parts = ("Approve and pay claim C-1", "approve claim C-2")
    pay = use("pay_claim", _call={"part": 1, "from": {"claim_id": "1.nothing"}})
    calls = (use("approve_claim", 1, claim_id="C-1"), pay, use("approve_claim", 2, claim_id="C-2"))
    stage = planned(*calls, text=", ".join(parts), parts=parts, approve_claim=CatalogueEntry())
    record = await stage.ends(FAILED, ["C-1", "C-2"], why=f"part 1 ({parts[0]}): pay_claim: ")
    assert by_call(stage) == {"c1": DONE, "c3": DONE}
    assert "part 2" not in (record.reason or "")


@pytest.mark.promise("plan.never_blindly")
async def test_a_write_that_nothing_proves_is_not_taken_back_and_a_person_is_told() -> None:
    stage = planned(APPROVE, PAY)
    stage.servers.remove("get_claim")
    stage.talk.rounds[0] = []
    record = await stage.ends(FAILED, ["C-1"], why="still standing: c1 approve_claim (unverified)")
    assert (by_call(stage), record.metadata["escalated"]) == ({"c1": "unverified", "c2": REFUSED}, True)


@pytest.mark.promise("plan.never_blindly")
async def test_a_compensation_that_is_refused_escalates_unrepeated_and_a_doubt_of_either_waits_for_an_operator() -> (
    None
):
    stage, doubted, silent = (planned(APPROVE, PAY) for _ in range(3))
    stage.servers.add("reopen_claim", lambda _: ToolAnswer("too late", is_error=True), ToolClass.CHANGE, ONE)
    record = await stage.ends(FAILED, why="too late")
    assert (record.metadata["escalated"], len(stage.servers.called("reopen_claim"))) == (True, 1)
    silent.servers.add("reopen_claim", keeps_silent, ToolClass.CHANGE, ONE)
    await silent.ends(WAITS)
    record = await silent.ends(FAILED, turn=word(silent, "done"), why="taken back: c1")
    assert record.metadata["escalated"] is False
    doubted.servers.add("pay_claim", keeps_silent, ToolClass.CHANGE, ONE)
    await doubted.ends(WAITS, ["C-1"])
    assert by_call(doubted) == {"c1": "verified", "c2": "absent"}


@pytest.mark.promise("I3.kill_at_every_step")
async def test_dying_at_any_step_of_taking_back_takes_it_back_once() -> None:
    whole = planned(APPROVE, PAY)
    end = await whole.run()
    for step in range(whole.turns.stored):
        stage = planned(APPROVE, PAY)
        await stage.dies(step)
        record = await stage.run(attempts=2)
        if record.state is WAITS:  # the server's refusal was lost with the process
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
    assert (await stage.run()).state is WAITS
    reachable.append(True)
    record = await stage.run(word(stage, "done"))
    assert (record.state, paid) == (FAILED, [])
    assert by_call(stage) == {"c1": "verified", "c2": "unsent", "undo-c1": "unverified"}
    assert "taken back: c1" in (record.reason or "")


@pytest.mark.promise("plan.taken_back_for_good")
async def test_a_successor_goes_on_taking_back_although_the_failed_call_could_be_sent_now() -> None:
    stage, reachable = planned(APPROVE, PAY), list[bool]()
    paid = unreachable(stage, reachable)

    def dies(given: JsonObject) -> Json:
        reopen(stage, given)
        raise Died

    stage.servers.add("reopen_claim", dies, ToolClass.CHANGE, ONE)
    with pytest.raises(Died):
        await stage.run()
    reachable.append(True)
    record = await stage.run(attempts=2)
    assert (record.state, paid, stage.claims.applied) == (FAILED, [], ["C-1", "reopened C-1"])
    assert by_call(stage) == {"c1": "verified", "c2": "unsent", "undo-c1": "verified"}


@pytest.mark.promise("plan.compensations_are_approved")
async def test_compensations_are_judged_hashed_and_shown_to_the_approver() -> None:
    stage = planned(APPROVE, PAY)
    stage.policy.says = {"requires_approval": True}
    record = await stage.run()
    approval = stage.turns.approvals[-1]
    assert [call.call_id for call in stage.policy.asked[-1].calls] == ["c1", "undo-c1", "c2"]
    assert "taken back, if a later call asks for it, by reopen_claim" in write_approver_brief(approval)
    assert "if it fails, the calls before it are taken back" in (record.answer or "")
    requested = [(one.get("on_failure"), "compensation" in one) for one in map(as_object, calls_as_json(approval.plan))]
    assert requested == [(None, True), ("compensate", False)]
    without = approval.plan.model_copy(
        update={"calls": tuple(call.model_copy(update={"compensation": None}) for call in approval.plan.calls)}
    )
    assert without.hash != approval.plan.hash
    done: TaskRecord = await stage.run(decision("approve"))
    assert done.state is FAILED
    assert stage.claims.applied == ["C-1", "reopened C-1"]

"""A write's whole life in the worker: a verdict that is fresh, intent, call, proof, and what is said of it."""

import time
from collections.abc import Callable, Sequence
from datetime import timedelta

import pytest
from typing_extensions import override

from services.executor.ports.tools import ToolAnswer, ToolUnreachable
from services.executor.ports.turns import EMPTY_BATCH, JournalBatch, StopState
from shared.contracts.ledger import LedgerEntry
from shared.contracts.tenant import CatalogueEntry, RecordKind
from shared.domain.exact_json import Json, JsonObject
from shared.domain.words import TaskState, ToolClass
from tests.doubles.memory_turns import Died, MemoryTurns
from tests.each_row import each_row
from tests.unit.executor.archived import replayed
from tests.unit.executor.stage import APPROVE, Stage, decision, keeps_silent, schema, use

DONE, FAILED, WAITS, NO = TaskState.COMPLETED, TaskState.FAILED, TaskState.INPUT_REQUIRED, TaskState.REJECTED
BLOCKED: dict[str, object] = {"passed": False, "blocked": True}
TIMED_OUT = "The request to the ledger timed out."


def answering(answer: "Json | ToolAnswer") -> Stage:
    """A stage whose write is answered so, and not made."""
    stage = Stage()
    stage.servers.add("approve_claim", lambda _: answer, ToolClass.CHANGE)
    return stage


async def test_a_write_is_applied_once_read_back_and_reported_as_verified() -> None:
    stage = Stage()
    stage.talk.process = "dispute_resolution"
    record = await stage.ends(DONE, ["C-1"], says="verified")
    assert stage.statuses == ["verified"]
    assert record.metadata["states"] == [
        "DECOMPOSE", "ASSESS", "POLICY_CHECK", "APPROVAL_GATE", "MUTATE", "COMPLETE",
    ]  # fmt: skip
    assert record.started_at is not None
    assert record.accepted_at <= record.started_at < record.updated_at  # the store's clock goes on with each step


@pytest.mark.promise("I2.no_verdict_no_write")
@each_row("fails_from", [1, 2, 3])
async def test_without_a_fresh_verdict_nothing_is_written(fails_from: int) -> None:
    """The first verdict is the binding one; an old one is renewed before the first write, and before its intent."""
    stage = Stage()
    stage.age_verdicts()
    stage.policy.fails_from = fails_from
    await stage.ends(FAILED, [], why="no policy verdict")


@pytest.mark.promise("I2.no_verdict_no_write")
async def test_a_no_stops_the_write_also_one_on_another_plan_and_one_that_comes_later() -> None:
    other, later, blocked = Stage(), Stage(), Stage()
    other.policy.says = {"plan_hash": "another"}
    await other.ends(FAILED, [])
    later.age_verdicts()
    later.policy.says_later = BLOCKED
    await later.ends(NO, [])
    blocked.policy.says = BLOCKED
    record = await blocked.ends(NO, [], why="blocked by policy")
    verdict = record.metadata["verdict"]
    assert isinstance(verdict, dict)
    assert (verdict["passed"], verdict["blocked"]) == (False, True)


@pytest.mark.promise("I4.unverified_is_said", "I4.unread_errors")
@each_row(
    ("answer", "state", "status", "says"),
    ({"status": "ok", "tool": "approve_claim", "params": {"claim_id": "C-1"}}, DONE, "unverified", "unverified"),
    (ToolAnswer({"error": "CONSTRAINT_VIOLATION"}, is_error=True), FAILED, "refused", "CONSTRAINT_VIOLATION"),
    (ToolAnswer(TIMED_OUT, is_error=True), WAITS, "absent", ""),  # what it asked for may be done later
    (ToolAnswer({"error": "HTTP 504: gateway timeout"}, is_error=True), WAITS, "absent", ""),
)
async def test_what_a_server_says_without_changing_anything_is_told_as_it_is(
    answer: "Json | ToolAnswer", state: TaskState, status: str, says: str
) -> None:
    stage = answering(answer)
    record = await stage.ends(state, [], says=says)
    assert stage.statuses == [status]
    assert state is not FAILED or says in (record.reason or "")
    assert (await replayed(stage)).difference == ""


@pytest.mark.promise("I4.unverified_is_said")
async def test_a_server_that_writes_and_then_answers_with_an_error_leaves_a_write_in_doubt() -> None:
    """ "Refused" would be untrue: the read-back shows the change. It is not repeated either."""
    stage = Stage()

    def applied_with_an_error(given: JsonObject) -> ToolAnswer:
        stage.claims.approve(given)
        return ToolAnswer({"error": "internal error"}, is_error=True)

    stage.servers.add("approve_claim", applied_with_an_error, ToolClass.CHANGE)
    record = await stage.ends(WAITS, ["C-1"], says="the read-back shows it: status=approved")
    assert (stage.statuses, record.metadata["escalated"]) == (["in_doubt"], True)
    assert "internal error" in (record.answer or "")


@pytest.mark.promise("I4.unread_errors")
@each_row(
    ("said", "not_begun", "status"),
    ("internal error", False, "in_doubt"),
    ("internal error", True, "refused"),
    ("CONSTRAINT_VIOLATION", False, "refused"),
)
async def test_an_error_that_no_read_could_check_is_a_refusal_only_if_protocol_or_reason_say_so(
    said: str, not_begun: bool, status: str
) -> None:
    stage = Stage()

    def refused_and_then_silent(_: JsonObject) -> ToolAnswer:
        stage.servers.add("get_claim", keeps_silent, ToolClass.READ)
        return ToolAnswer({"error": said}, is_error=True, not_begun=not_begun)

    stage.servers.add("approve_claim", refused_and_then_silent, ToolClass.CHANGE)
    await stage.ends(FAILED if status == "refused" else WAITS, says=said)
    assert stage.statuses == [status]


@pytest.mark.promise("I4.unread_errors")
@each_row(
    ("said", "readable", "known", "status"),
    ("it did not work", False, False, "in_doubt"),
    ("it did not work", False, True, "refused"),
    (TIMED_OUT, True, True, "refused"),
)
async def test_where_the_operator_says_that_errors_change_nothing_one_without_a_read_back_or_a_time_out_is_a_refusal(
    said: str, readable: bool, known: bool, status: str
) -> None:
    stage = answering(ToolAnswer(said, is_error=True))
    if not readable:
        stage.cannot_read()
    stage.set_catalogue(approve_claim=CatalogueEntry(errors_change_nothing=known))
    await stage.ends(FAILED if known else WAITS)
    assert stage.statuses == [status]


@pytest.mark.promise("I3.lost_reply", "I3.unsent_is_safe", "tools.echoes")
async def test_a_lost_reply_is_settled_by_reading_an_echo_too_and_a_call_that_never_connected_is_tried_again() -> None:
    lost, echoed, unsent, refusals = Stage(), Stage(), Stage(), [ToolUnreachable("connection refused")] * 2

    def applied_without_an_answer(given: JsonObject) -> Json:
        lost.claims.approve(given)
        return keeps_silent(given)

    def echoes(given: JsonObject) -> Json:
        echoed.claims.approve(given)
        return {"status": "ok", "tool": "approve_claim", "params": given}

    def refuses_twice(given: JsonObject) -> Json:
        if refusals:
            raise refusals.pop()
        return unsent.claims.approve(given)

    for stage, handler in ((lost, applied_without_an_answer), (echoed, echoes), (unsent, refuses_twice)):
        stage.servers.add("approve_claim", handler, ToolClass.CHANGE)
        await stage.ends(DONE, ["C-1"])
        assert stage.statuses == ["verified"]


class FreezingTurns(MemoryTurns):
    """A store after whose first stored intent the whole process stands still, as by a signal."""

    opened = 0

    @override
    async def open_write(
        self,
        entry: LedgerEntry,
        call_seconds: float,
        batch: JournalBatch = EMPTY_BATCH,
        was_shown_before: Callable[[], bool] = lambda: False,
    ) -> StopState:
        stop_state = await super().open_write(entry, call_seconds, batch, was_shown_before)
        self.opened += 1
        if self.opened == 1:
            time.sleep(0.6)  # noqa: ASYNC251  # nothing else may run meanwhile
        return stop_state


@pytest.mark.promise("I3.held_up")
async def test_a_process_that_froze_after_the_intent_does_not_send_late() -> None:
    """Others may have judged the write by then: it is recorded as unsent, and sent anew with an intent of its own."""
    stage = Stage()
    stage.turns = frozen = FreezingTurns(stage.turns.record)
    await stage.ends(DONE, ["C-1"])
    assert frozen.opened == 2


@pytest.mark.promise("tools.catalogue_pairs")
@each_row(("named", "status"), [("fetch_dossier", "verified"), (None, "unverified")])
async def test_a_write_whose_proof_nobody_could_guess_is_proved_as_the_catalogue_says(
    named: str | None, status: str
) -> None:
    stage = Stage()
    stage.cannot_read()
    stage.servers.add("fetch_dossier", stage.claims.get, input_schema=schema("[claim_id]", "[depth:integer]"))
    stage.set_catalogue(approve_claim=CatalogueEntry(read_back=named))
    await stage.ends(DONE)
    assert stage.statuses == [status]


@pytest.mark.promise("tools.echoes")
async def test_a_read_that_only_repeats_the_call_is_no_source_of_a_figure() -> None:
    """Else a model could launder an invented amount through it."""
    read, write = use("look_up_limit", amount="98765.00"), use("set_limit", amount="98765.00")
    stage = Stage("Set the limit", [read], *[[write]] * 4)
    stage.servers.add("look_up_limit", lambda given: {"status": "ok", "tool": "look_up_limit", "params": given})
    stage.servers.add("set_limit", lambda _: {"ok": True}, ToolClass.CHANGE)
    await stage.ends(FAILED, why="98765.00 (amount) stands neither in the task nor in a result")
    assert stage.servers.called("set_limit") == []


def two_writes() -> Stage:
    stage = Stage("Approve claim C-1 of 120.50 and close it")
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
async def test_the_remaining_calls_are_not_sent_when_the_rules_changed_or_nobody_judges(
    says: dict[str, object],
) -> None:
    stage, unjudged = await half_done(), await half_done()
    stage.policy.says = says
    record = await stage.ends(FAILED, attempts=2, why="half done", says="approve_claim")
    assert record.metadata["escalated"] is True
    unjudged.policy.fails_from = 1
    await unjudged.ends(FAILED, attempts=2)
    assert stage.servers.called("close_claim") == unjudged.servers.called("close_claim") == []


@pytest.mark.promise("I2.no_old_verdict")
@each_row(("seconds", "asked"), [(40, 2), (0, 1)])
async def test_a_verdict_that_has_aged_is_renewed_before_the_next_call_and_a_fresh_one_is_not(
    seconds: int, asked: int
) -> None:
    """One verdict lets the whole plan go out."""
    stage = two_writes()

    def slow(given: JsonObject) -> Json:
        stage.turns.ahead += timedelta(seconds=seconds)
        return stage.claims.approve(given)

    stage.servers.add("approve_claim", slow, ToolClass.CHANGE)
    await stage.run()
    assert len(stage.policy.asked) == asked


@pytest.mark.promise("I2.no_verdict_no_write")
async def test_a_renewed_verdict_that_asks_for_a_person_is_heeded() -> None:
    """Both verdicts have the same hashes; the first one let the plan pass by itself."""
    stage = Stage()
    stage.age_verdicts()
    stage.policy.says_later = {"passed": False, "escalate": True, "escalation_level": "manager"}
    await stage.ends(TaskState.INPUT_REQUIRED, [])
    await stage.ends(TaskState.COMPLETED, ["C-1"], decision("approve"))


def hotel(*, drops: Sequence[int] = (), answers: int = 99) -> Stage:
    """A server that posts charges to folios, but not the rows at these places, and answers so many reads."""
    folios = (9001, 9006)
    rows: list[Json] = [{"folio_id": number, "amount": 15} for number in folios]
    text = "Post 15 for parking on each of the folios 9001 and 9006"
    stage = Stage(text, [use("get_folio", folio_id=one) for one in folios], [use("post_charges", charges=rows)])
    stage.talk.answer = "The charges of 15 are posted."
    posted: list[JsonObject] = []

    def show(given: JsonObject) -> Json:
        if len(stage.servers.called("get_folio")) > answers:
            return keeps_silent(given)
        own: list[Json] = [one for one in posted if one["folio_id"] == given["folio_id"]]
        return {"folio": {**given, "balance": 100 + 15 * len(own), "charges": own}}

    def post(_: JsonObject) -> Json:
        posted.extend(
            {"charge_id": 50 + place, **row}
            for place, row in enumerate(rows)
            if isinstance(row, dict) and place not in drops
        )
        return {"posted": len(rows)}

    stage.servers.add("get_folio", show, input_schema=schema("folio_id:integer"))
    stage.servers.add("post_charges", post, ToolClass.CHANGE, schema("charges:array"))
    return stage


@pytest.mark.promise("I4.proof")
@each_row(
    ("drops", "status", "note"),
    ((), "verified", "read back: balance=115"),
    ((0,), "unverified", "row 1 (folio_id=9001): the read-back does not show what was written"),
    ((1,), "unverified", "row 2 (folio_id=9006): the read-back does not show what was written"),
    ((0, 1), "unverified", "the read-back does not show what was written"),
)
async def test_a_call_with_rows_is_verified_only_if_each_record_that_they_name_shows_its_change(
    drops: Sequence[int], status: str, note: str
) -> None:
    stage = hotel(drops=drops)
    await stage.run()
    (entry,) = stage.turns.writes.values()
    assert (entry.status, entry.note) == (status, note), stage.turns.record.reason
    reads = [given["folio_id"] for given in stage.servers.called("get_folio")]
    assert reads == [9001, 9006] * 3, "read by the model, before the call and after it"


@each_row(
    ("answer", "status", "note"),
    ({"wo": "W-94"}, "verified", "read back: fault=tap drips"),
    ({"done": True}, "unverified", "nothing was read back: get_work_order could not be asked, or did not answer"),
)
async def test_the_catalogues_read_is_made_under_a_key_of_the_servers_own(
    answer: JsonObject, status: str, note: str
) -> None:
    opened = use("open_work_order", room_id=1302, fault="tap drips")
    stage = Stage("Open a work order for room 1302: tap drips", [opened], [opened], answer="It is opened.")
    stage.servers.add("open_work_order", lambda _: answer, ToolClass.CHANGE, schema("room_id:integer", "fault"))
    order: JsonObject = {"wo": "W-94", "room_id": 1302, "fault": "tap drips", "status": "open"}
    stage.servers.add("get_work_order", lambda _: order, input_schema=schema("wo"))
    stage.set_catalogue(open_work_order=CatalogueEntry(read_back="get_work_order"))
    stage.change_tenant(records={"work_order": RecordKind(keys=("wo",), reads=("get_work_order",))})
    await stage.run()
    (entry,) = stage.turns.writes.values()
    assert (entry.status, entry.note) == (status, note)

"""Notices: none follows a change that is not verified, and whoever has to be told is told, or it is said (I4)."""

import contextlib

import pytest

from services.executor.core.plan.notices import is_addressed_to
from services.executor.core.states.machine import BUILT_IN_TEMPLATES, ProcessTemplate
from services.executor.ports.tools import ToolAnswer
from shared.contracts.tenant import CatalogueEntry
from shared.domain.exact_json import Json, JsonObject
from shared.domain.words import TaskState, ToolClass
from tests.doubles.memory_turns import Died
from tests.doubles.scripted_talk import of_conversation, results_in
from tests.each_row import each_row
from tests.unit.executor.begun_as import NOTICE, begun_as
from tests.unit.executor.stage import APPROVE, ONE, READ_2, TASK, Stage, Use, use
from tests.unit.executor_core.makers import call, fact, plan

CLOSE = BUILT_IN_TEMPLATES["month_end_close"]
PROCUREMENT = BUILT_IN_TEMPLATES["procurement"]
TO_VENDOR = use("notify_person", vendor_id="C-1", text="approved")
UNPROVED = "nobody is told of a change that is not verified: c1 approve_claim is unverified"


async def unproved(template: ProcessTemplate, *calls: tuple[str, JsonObject], text: str = TASK) -> Stage:
    """No read shows what the calls change, and the tenant has notices wait for proof."""
    stage = await begun_as(template, *calls, text=text)
    stage.servers.remove("get_claim")
    stage.talk.rounds[0] = []
    stage.change_tenant(notices_after_proof=True)
    return stage


DONE, FAILED = TaskState.COMPLETED, TaskState.FAILED
REFUSED = ToolAnswer("no", is_error=True, not_begun=True)


def told(stage: Stage) -> list[str]:
    return [str(given["text"]) for given in stage.claims.told]


@pytest.mark.promise("notify.proved_only", "notify.after_proof")
async def test_no_notice_follows_a_change_that_nothing_proves_and_the_answer_says_so() -> None:
    stage = await unproved(CLOSE, APPROVE, NOTICE)
    await stage.ends(FAILED, ["C-1"], why=UNPROVED, says=f"Not made:\n- notify_person: {UNPROVED}")
    assert told(stage) == []


@pytest.mark.promise("notify.proved_only")
@each_row("shown", [True, False])
async def test_of_a_change_that_no_read_shows_the_notice_says_so_with_the_sentence_that_was_approved(
    shown: bool,
) -> None:
    """Of a verified one it goes out as it was written."""
    stage = await begun_as(CLOSE, APPROVE, NOTICE)
    if not shown:
        stage.servers.remove("get_claim")
        stage.talk.rounds[0] = []
    await stage.ends(DONE)
    sentence = "\n\nPlease note: what this message tells of was accepted by the system, but is not yet confirmed."
    assert stage.statuses[0] == ("verified" if shown else "unverified")
    assert told(stage) == ["Claim C-1 is approved." + ("" if shown else sentence)]


@pytest.mark.promise("notify.own_part")
async def test_a_change_of_another_part_holds_no_notice_back_and_adds_nothing_to_it() -> None:
    parts = ("Close the file C-1", "then approve claim C-1 and say so")
    tell = use("notify_person", 2, text="Claim C-1 is approved.")
    calls = (use("close_file", 1, name="C-1"), use("approve_claim", 2, claim_id="C-1"), tell)
    stage = await begun_as(CLOSE, *calls, text=", ".join(parts))
    stage.servers.add("close_file", lambda _: {"ok": True}, ToolClass.CHANGE)
    stage.talk.parts = [(part, "do") for part in parts]
    await stage.run()
    assert (stage.statuses[:2], told(stage)) == (["unverified", "verified"], ["Claim C-1 is approved."])


@pytest.mark.promise("I4.proof")
@each_row(("said", "status"), [("claim C-1 not found", "verified"), ("internal error", "unverified")])
async def test_a_removal_is_proved_by_a_read_that_finds_nothing_and_not_by_one_that_fails(
    said: str, status: str
) -> None:
    stage = await begun_as(CLOSE, use("delete_claim", claim_id="C-1"), NOTICE, text="Delete claim C-1")

    def removed(given: JsonObject) -> Json:
        stage.claims.rows.pop(str(given["claim_id"]))
        return {"ok": True}

    def shown(given: JsonObject) -> "Json | ToolAnswer":
        row = stage.claims.rows.get(str(given["claim_id"]))
        return dict(row) if row else ToolAnswer(said, is_error=True)

    stage.servers.add("delete_claim", removed, ToolClass.CHANGE, ONE)
    stage.servers.add("get_claim", shown, ToolClass.READ, ONE)
    await stage.run()
    assert stage.statuses[0] == status


@pytest.mark.promise("notify.proved_only")
@each_row(
    ("answer", "state", "says"),
    [({"status": "approved"}, DONE, "contradicted by its read-back"), (REFUSED, FAILED, "- notify_person: ")],
)
async def test_of_a_change_that_its_proof_contradicts_or_that_failed_nobody_is_told(
    answer: "Json | ToolAnswer", state: TaskState, says: str
) -> None:
    """Whatever the tenant says of acknowledged changes."""
    stage = await begun_as(CLOSE, APPROVE, NOTICE)
    stage.servers.add("approve_claim", lambda _: answer, ToolClass.CHANGE)
    stage.set_catalogue(approve_claim=CatalogueEntry(read_back="get_claim", expect={"status": "approved"}))
    record = await stage.run()
    assert (stage.claims.applied, told(stage)) == ([], [])
    assert says in (record.answer or ""), (record.state, record.answer)


@pytest.mark.promise("notify.proved_only")
async def test_one_unproved_change_of_several_holds_every_notice_back_and_each_write_is_settled_before() -> None:
    stage = await begun_as(CLOSE, APPROVE, use("close_file", name="C-1"), NOTICE, use("notify_person", text="Again."))
    free = await begun_as(CLOSE, APPROVE, use("close_file", name="C-1"), NOTICE)
    statuses: list[list[str]] = []

    def tell(given: JsonObject) -> Json:
        statuses.append(free.statuses[:2])
        return free.claims.notify(given)

    for one in (stage, free):
        one.servers.add("close_file", lambda _: {"ok": True}, ToolClass.CHANGE)
    free.servers.add("notify_person", tell, ToolClass.NOTIFY)
    stage.change_tenant(notices_after_proof=True)
    record = await stage.run()
    assert (stage.statuses, told(stage)) == (["verified", "unverified"], [])
    assert (record.answer or "").partition("Not made:\n")[2].count("c2 close_file is unverified") >= 2
    await free.run()
    assert statuses == [["verified", "unverified"]]


@pytest.mark.promise("notify.proved_only")
@each_row("proved", [True, False])
async def test_dying_at_any_point_tells_once_or_never(proved: bool) -> None:
    """What was on its way and cannot be read waits for an operator; all else comes to the same end."""
    begun = begun_as if proved else unproved
    whole = await begun(CLOSE, APPROVE, NOTICE)
    end = await whole.run()
    for step in range(whole.turns.stored):
        stage = await begun(CLOSE, APPROVE, NOTICE)
        stage.turns.die_before = step
        with contextlib.suppress(Died):
            await stage.run()
        unread = "sending" in (stage.statuses[1:] if proved else stage.statuses)
        stage.turns.die_before = None
        record = await stage.run(attempts=2)
        assert record.state is (TaskState.INPUT_REQUIRED if unread else end.state), step
        assert len(stage.claims.told) <= int(proved), step
        assert stage.claims.applied == ["C-1"], step


def _corrections(stage: Stage) -> list[str]:
    """What the model was told of proposals that were not made."""
    last = of_conversation(stage.model.requests)[-1]
    return [result.content for result in results_in(last) if result.is_error]


@pytest.mark.promise("notify.told")
@each_row(
    ("then", "not_told"), [(TO_VENDOR, None), (NOTICE, "The vendor was not told: the plan has no notice to them.")]
)
async def test_a_plan_that_forgets_whom_it_has_to_tell_is_asked_for_once_more_and_then_says_that_nobody_was_told(
    then: Use, not_told: str | None
) -> None:
    stage = await begun_as(PROCUREMENT, APPROVE)
    stage.talk.rounds.append([APPROVE, then])
    record = await stage.ends(DONE, ["C-1"], says=not_told or "")
    (correction,) = _corrections(stage)
    assert "the vendor has to be told of the change" in correction
    assert (len(stage.claims.told), record.metadata.get("not_told")) == (1, not_told)
    assert not_told or "was not told" not in (record.answer or "")


@pytest.mark.promise("notify.told")
async def test_a_notice_that_was_held_back_is_said_not_to_have_told_them() -> None:
    stage = await unproved(PROCUREMENT, APPROVE, TO_VENDOR)
    await stage.ends(FAILED, says="The vendor was not told: nobody is told of a change that is not verified")


@pytest.mark.promise("notify.told")
@each_row(("told", "untold"), [({"vendor_id": "C-1", "text": "approved"}, False), ({"text": "Done."}, True)])
async def test_a_notice_in_a_further_plan_tells_of_what_an_earlier_one_changed(told: JsonObject, untold: bool) -> None:
    parts = ("Approve claim C-1", "then see to the rest")
    stage = await begun_as(PROCUREMENT, text=", ".join(parts))
    stage.talk.parts = [(part, "do") for part in parts]
    change = use("approve_claim", 1, claim_id="C-1")
    stage.talk.rounds[1:] = [[change], [READ_2], [change], [READ_2], [use("notify_person", 2, **told)]]
    record = await stage.run()
    assert (stage.claims.applied, len(stage.claims.told)) == (["C-1"], 1)
    assert ("not_told" in record.metadata) is untold


@pytest.mark.promise("notify.told")
async def test_a_list_that_was_asked_for_stays_one_and_the_metadata_say_who_was_not_told() -> None:
    stage, general = await begun_as(PROCUREMENT, APPROVE), await begun_as(BUILT_IN_TEMPLATES["general"], APPROVE)
    stage.talk.rounds.append([APPROVE])
    stage.talk.form, stage.talk.answer = "list", '["C-1"]'
    record = await stage.run()
    assert (record.answer, "not_told" in record.metadata) == ('["C-1"]', True)
    record = await general.run()  # which has nobody to tell
    assert (_corrections(general), "not_told" in record.metadata) == ([], False)


CREATED = call({}, tool="create_vendor")
KNOWN = (
    fact({"email": "ap@north.example"}, "f1", "get_vendor"),
    fact({"vendor": {"name": "North"}}, "f2", "get_order"),
    fact({"buyer": "us@home.example"}, "f3", "get_order"),
)


@each_row(
    ("tool", "arguments", "told"),
    ("notify_vendor", {}, True),
    ("send_notice", {"vendor_id": "V-1"}, True),
    ("send_email", {"to": "AP@north.example", "body": "approved"}, True),
    ("send_email", {"to": "North"}, True),
    ("send_email", {"to": "vendor"}, True),
    ("send_email", {"to": {"$ref": "c1.email"}}, True),
    ("send_email", {"to": "us@home.example", "body": "the vendor was approved"}, False),
    ("send_email", {"to": "boss"}, False),
)
def test_whom_a_notice_tells(tool: str, arguments: JsonObject, told: bool) -> None:
    notice = call(arguments, "n1", ToolClass.NOTIFY, tool)
    assert is_addressed_to(notice, "vendor", plan(CREATED, notice), KNOWN) is told

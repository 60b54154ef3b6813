"""Notices: none follows a change that is not verified, and whoever has to be told is told, or it is said (I4)."""

import contextlib

import pytest

from services.executor.core.session.values import Fact
from services.executor.core.states.machine import TEMPLATES, ProcessTemplate
from services.executor.core.write.notices import is_addressed_to
from services.executor.ports.tools import ToolAnswer
from shared.contracts.plan import PlannedCall, WritePlan
from shared.contracts.tenant import CatalogueEntry
from shared.domain.exact_json import Json, JsonObject, dumps
from shared.domain.words import TaskState, ToolClass
from tests.doubles.memory_turns import Died
from tests.doubles.scripted_talk import Call, of_conversation, results_in
from tests.each_row import each_row
from tests.unit.executor.archived import replayed
from tests.unit.executor.begun_as import NOTICE, begun_as
from tests.unit.executor.stage import APPROVE, TASK, Stage

CLOSE = TEMPLATES["month_end_close"]
PROCUREMENT = TEMPLATES["procurement"]
TO_VENDOR: tuple[str, JsonObject] = ("notify_person", {"vendor_id": "C-1", "text": "approved"})
UNPROVED = "nobody is told of a change that is not verified: c1 approve_claim is unverified"


async def unproved(template: ProcessTemplate, *calls: tuple[str, JsonObject], text: str = TASK) -> Stage:
    """No read shows what the calls change, and the tenant has notices wait for proof."""
    stage = await begun_as(template, *calls, text=text)
    stage.servers.remove("get_claim")
    stage.talk.rounds[0] = []
    stage.change_tenant(notices_after_proof=True)
    return stage


@pytest.mark.promise("notify.proved_only", "notify.after_proof")
async def test_no_notice_follows_a_change_that_nothing_proves_and_the_answer_says_so() -> None:
    stage = await unproved(CLOSE, APPROVE, NOTICE)
    record = await stage.run()
    assert (record.state, stage.claims.applied, stage.claims.told) == (TaskState.FAILED, ["C-1"], [])
    assert f"Not made:\n- notify_person: {UNPROVED}" in (record.answer or "")
    assert UNPROVED in (record.reason or "")


@pytest.mark.promise("notify.proved_only")
async def test_of_a_change_that_its_proof_contradicts_nobody_is_told() -> None:
    """Whatever the tenant says of acknowledged changes."""
    stage = await begun_as(CLOSE, APPROVE, NOTICE)
    stage.servers.add("approve_claim", lambda _: {"status": "approved"}, ToolClass.CHANGE)
    entry = CatalogueEntry(read_back="get_claim", expect={"status": "approved"})
    stage.set_catalogue(approve_claim=entry)
    await stage.run()
    assert (stage.claims.applied, stage.claims.told) == ([], [])


@pytest.mark.promise("notify.proved_only")
async def test_no_notice_follows_a_change_that_failed() -> None:
    stage = await begun_as(CLOSE, APPROVE, NOTICE)
    stage.servers.add("approve_claim", lambda _: ToolAnswer("no", is_error=True, not_begun=True), ToolClass.CHANGE)
    record = await stage.run()
    assert (record.state, stage.claims.told) == (TaskState.FAILED, [])
    assert "- notify_person: " in (record.answer or "")


@pytest.mark.promise("notify.proved_only")
async def test_one_unproved_change_of_several_holds_every_notice_back() -> None:
    again: tuple[str, JsonObject] = ("notify_person", {"text": "Again."})
    stage = await begun_as(CLOSE, APPROVE, ("close_file", {"name": "C-1"}), NOTICE, again)
    stage.servers.add("close_file", lambda _: {"ok": True}, ToolClass.CHANGE)
    stage.change_tenant(notices_after_proof=True)
    record = await stage.run()
    assert (stage.statuses, stage.claims.told) == (["verified", "unverified"], [])
    notes = (record.answer or "").partition("Not made:\n")[2]
    assert notes.count("c2 close_file is unverified") >= 2


@pytest.mark.promise("notify.proved_only")
async def test_a_plan_that_only_tells_waits_for_no_proof() -> None:
    stage = await begun_as(CLOSE, NOTICE)
    await stage.run()
    assert len(stage.claims.told) == 1


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


@pytest.mark.promise("notify.proved_only")
async def test_every_write_is_settled_when_a_run_leaves_mutate() -> None:
    stage = await begun_as(CLOSE, APPROVE, ("close_file", {"name": "C-1"}), NOTICE)
    stage.servers.add("close_file", lambda _: {"ok": True}, ToolClass.CHANGE)
    statuses: list[list[str]] = []

    def tell(given: JsonObject) -> Json:
        statuses.append(stage.statuses[:2])
        return stage.claims.notify(given)

    stage.servers.add("notify_person", tell, ToolClass.NOTIFY)
    await stage.run()
    assert statuses == [["verified", "unverified"]]


@pytest.mark.promise("notify.proved_only")
@pytest.mark.parametrize("kind", ["general", "expense_approval", "invoice_reconciliation", "dispute_resolution"])
@pytest.mark.parametrize("proved", [True, False])
async def test_a_process_without_a_state_for_notices_tells_of_proved_changes_alone(kind: str, proved: bool) -> None:
    stage = await (begun_as if proved else unproved)(TEMPLATES[kind], APPROVE, NOTICE)
    await stage.run()
    assert (stage.claims.applied, len(stage.claims.told)) == (["C-1"], int(proved))
    assert (await replayed(stage)).difference == ""


def _corrections(stage: Stage) -> list[str]:
    """What the model was told of proposals that were not made."""
    last = of_conversation(stage.model.requests)[-1]
    return [result.content for result in results_in(last) if result.is_error]


@pytest.mark.promise("notify.told")
async def test_a_plan_that_forgets_whom_it_has_to_tell_is_asked_for_once_more() -> None:
    stage = await begun_as(PROCUREMENT, APPROVE)
    stage.talk.rounds.append([APPROVE, TO_VENDOR])
    record = await stage.run()
    assert "the vendor has to be told of the change" in _corrections(stage)[0]
    assert (len(stage.claims.told), "not_told" in record.metadata) == (1, False)
    assert "was not told" not in (record.answer or "")


@pytest.mark.promise("notify.told")
async def test_a_plan_that_forgets_it_again_is_carried_out_and_says_that_nobody_was_told() -> None:
    stage = await begun_as(PROCUREMENT, APPROVE)
    stage.talk.rounds.append([APPROVE, NOTICE])
    record = await stage.run()
    assert (len(_corrections(stage)), record.state, stage.claims.applied) == (1, TaskState.COMPLETED, ["C-1"])
    assert record.metadata["not_told"] == "The vendor was not told: the plan has no notice to them."
    assert str(record.metadata["not_told"]) in (record.answer or "")


@pytest.mark.promise("notify.told")
async def test_a_notice_that_was_held_back_is_said_not_to_have_told_them() -> None:
    stage = await unproved(PROCUREMENT, APPROVE, TO_VENDOR)
    record = await stage.run()
    assert "The vendor was not told: nobody is told of a change that is not verified" in (record.answer or "")


@pytest.mark.promise("notify.told")
@each_row(("tells", "untold"), [(True, False), (False, True)])
async def test_a_notice_in_a_further_plan_tells_of_what_an_earlier_one_changed(tells: bool, untold: bool) -> None:
    stage = await begun_as(PROCUREMENT, text="Approve claim C-1, then see to the rest")
    stage.talk.parts = [("Approve claim C-1", "do"), ("then see to the rest", "do")]
    (_, approve), (_, tell) = APPROVE, TO_VENDOR
    change: Call = ("approve_claim", {**approve, "_call": {"part": 1}})
    other: JsonObject = {"text": "Done."}
    rest: Call = ("notify_person", {**(tell if tells else other), "_call": {"part": 2}})
    read: Call = ("get_claim", {"claim_id": "C-2"})
    stage.talk.rounds[1:] = [[change], [read], [change], [read], [rest]]
    record = await stage.run()
    assert (stage.claims.applied, len(stage.claims.told)) == (["C-1"], 1)
    assert ("not_told" in record.metadata) is untold


@pytest.mark.promise("notify.told")
async def test_a_list_that_was_asked_for_stays_one_and_the_metadata_say_who_was_not_told() -> None:
    stage = await begun_as(PROCUREMENT, APPROVE)
    stage.talk.rounds.append([APPROVE])
    stage.talk.form, stage.talk.answer = "list", '["C-1"]'
    record = await stage.run()
    assert record.answer == '["C-1"]'
    assert "not_told" in record.metadata


@pytest.mark.promise("notify.told")
async def test_without_the_template_nobody_has_to_be_told() -> None:
    stage = await begun_as(TEMPLATES["general"], APPROVE)
    record = await stage.run()
    assert (_corrections(stage), "not_told" in record.metadata) == ([], False)


def _notice(tool: str, arguments: JsonObject) -> PlannedCall:
    return PlannedCall(
        call_id="n1", connection_id="c", tool=tool, tool_class=ToolClass.NOTIFY, arguments_json=dumps(arguments)
    )


CREATED = PlannedCall(
    call_id="c1", connection_id="c", tool="create_vendor", tool_class=ToolClass.CHANGE, arguments_json="{}"
)
KNOWN = (
    Fact(ref="f1", connection_id="c", tool="get_vendor", arguments_json="", result_json='{"email":"ap@north.example"}'),
    Fact(ref="f2", connection_id="c", tool="get_order", arguments_json="", result_json='{"vendor":{"name":"North"}}'),
    Fact(ref="f3", connection_id="c", tool="get_order", arguments_json="{}", result_json='{"buyer":"us@home.example"}'),
)  # fmt: skip


@each_row(
    ("tool", "arguments", "told"),
    [
        ("notify_vendor", {}, True),
        ("send_notice", {"vendor_id": "V-1"}, True),
        ("send_email", {"to": "AP@north.example", "body": "approved"}, True),
        ("send_email", {"to": "North"}, True),
        ("send_email", {"to": "vendor"}, True),
        ("send_email", {"to": {"$ref": "c1.email"}}, True),
        ("send_email", {"to": "us@home.example", "body": "the vendor was approved"}, False),
        ("send_email", {"to": "boss"}, False),
    ],
)
def test_whom_a_notice_tells(tool: str, arguments: JsonObject, told: bool) -> None:
    notice = _notice(tool, arguments)
    assert is_addressed_to(notice, "vendor", WritePlan(task_id="t", calls=(CREATED, notice)), KNOWN) is told

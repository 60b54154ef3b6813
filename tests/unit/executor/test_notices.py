"""Notices: none follows a change that is not verified, and whoever has to be told is told, or it is said (I4)."""

import pytest

from services.executor.core.dossier import Fact
from services.executor.core.execute.addressees import tells
from services.executor.core.fsm.templates import TEMPLATES
from services.executor.ports.models import ModelReply, ModelRequest
from services.executor.ports.tools import ToolAnswer
from shared.contracts.plan import PlannedCall, WritePlan
from shared.domain.exact_json import Json, JsonObject, dumps
from shared.domain.words import FsmState, TaskState, ToolClass
from tests.doubles.scripted_model import json_reply, text_reply
from tests.unit.executor.archived import replayed
from tests.unit.executor.begun_as import NOTICE, begun_as, run_with_deaths
from tests.unit.executor.stage import CALL, TASK, Stage, message

CLOSE = TEMPLATES["month_end_close"]
PROCUREMENT = TEMPLATES["procurement"]
TO_VENDOR: JsonObject = {**NOTICE, "arguments_json": '{"vendor_id":"C-1","text":"approved"}'}
UNPROVED: JsonObject = {**CALL, "read_back": None}


@pytest.mark.promise("notify.proved_only")
async def test_a_notice_goes_out_after_changes_that_are_verified() -> None:
    stage = await begun_as(CLOSE, CALL, NOTICE)
    record = await stage.run()
    assert (record.state, len(stage.claims.told)) == (TaskState.COMPLETED, 1)


@pytest.mark.promise("notify.proved_only")
async def test_no_notice_follows_a_change_that_nothing_proves_and_the_answer_says_so() -> None:
    stage = await begun_as(CLOSE, UNPROVED, NOTICE)
    record = await stage.run()
    assert (record.state, stage.claims.applied, stage.claims.told) == (TaskState.COMPLETED, ["C-1"], [])
    why = "nobody is told of a change that is not verified: c1 approve_claim is unverified"
    assert f"Not made:\n- notify_person: {why}" in (record.answer or "")


@pytest.mark.promise("notify.proved_only")
async def test_no_notice_follows_a_change_that_failed() -> None:
    stage = await begun_as(CLOSE, {**CALL, "on_failure": "continue"}, NOTICE)
    stage.servers.add("approve_claim", lambda _: ToolAnswer("no", is_error=True, not_begun=True), ToolClass.CHANGE)
    record = await stage.run()
    assert (record.state, stage.claims.told) == (TaskState.COMPLETED, [])
    assert "c1 approve_claim is refused" in (record.answer or "")


@pytest.mark.promise("notify.proved_only")
async def test_one_unproved_change_of_several_holds_every_notice_back() -> None:
    other: JsonObject = {**UNPROVED, "call_id": "c2"}
    stage = await begun_as(CLOSE, CALL, other, NOTICE, {**NOTICE, "call_id": "n2"})
    record = await stage.run()
    assert (record.state, stage.claims.told) == (TaskState.COMPLETED, [])
    assert (record.answer or "").count("c2 approve_claim is unverified") == 2


@pytest.mark.promise("notify.proved_only")
async def test_a_plan_that_only_tells_waits_for_no_proof() -> None:
    stage = await begun_as(CLOSE, NOTICE)
    await stage.run()
    assert len(stage.claims.told) == 1


@pytest.mark.promise("notify.proved_only")
@pytest.mark.parametrize(("change", "told"), [(CALL, 1), (UNPROVED, 0)])
async def test_dying_at_any_point_tells_once_or_never(change: JsonObject, told: int) -> None:
    stage = await begun_as(CLOSE, change, NOTICE)
    await run_with_deaths(stage, message(TASK))
    assert (stage.turns.record.state, len(stage.claims.told)) == (TaskState.COMPLETED, told)


@pytest.mark.promise("notify.proved_only")
async def test_a_task_whose_notice_was_held_back_is_replayed_to_the_same_end() -> None:
    stage = await begun_as(PROCUREMENT, UNPROVED, TO_VENDOR)
    await stage.run()
    assert (await replayed(stage)).difference == ""


@pytest.mark.promise("notify.proved_only")
async def test_every_write_is_settled_when_a_run_leaves_mutate() -> None:
    stage = await begun_as(CLOSE, CALL, {**UNPROVED, "call_id": "c2"}, NOTICE)
    await stage.run()
    entered = next(step.data_json for key, step in stage.turns.steps.items() if key.endswith("SCHEDULE_NOTIFY:entered"))
    assert FsmState.SCHEDULE_NOTIFY in entered
    assert stage.statuses == ["verified", "unverified"]


@pytest.mark.promise("notify.proved_only")
@pytest.mark.parametrize("kind", ["general", "expense_approval", "invoice_reconciliation", "dispute_resolution"])
@pytest.mark.parametrize(("change", "told"), [(CALL, 1), (UNPROVED, 0)])
async def test_a_process_without_a_state_for_notices_tells_of_proved_changes_alone(
    kind: str, change: JsonObject, told: int
) -> None:
    stage = await begun_as(TEMPLATES[kind], change, NOTICE)
    record = await stage.run()
    assert (record.state, stage.claims.applied, len(stage.claims.told)) == (TaskState.COMPLETED, ["C-1"], told)
    assert (await replayed(stage)).difference == ""


def _plans(stage: Stage, *plans: list[JsonObject]) -> list[str]:
    """The model's plans, one after the other; what each request for one said was wrong with the one before."""
    problems: list[str] = []

    def script(request: ModelRequest) -> ModelReply:
        text = str(request.messages[0])
        problems.append(text.partition("<correction>")[2].partition("<\\")[0])
        calls: list[Json] = [*plans[min(len(problems), len(plans)) - 1]]
        return json_reply({"calls": calls, "why_none": None})

    stage.scripts["write_plan"] = script
    return problems


@pytest.mark.promise("notify.told")
async def test_a_plan_that_forgets_whom_it_has_to_tell_is_asked_for_once_more() -> None:
    stage = await begun_as(PROCUREMENT)
    problems = _plans(stage, [CALL], [CALL, TO_VENDOR])
    record = await stage.run()
    assert "the vendor has to be told of the change" in problems[1]
    assert (len(stage.claims.told), "not_told" in record.metadata) == (1, False)
    assert "was not told" not in (record.answer or "")


@pytest.mark.promise("notify.told")
async def test_a_plan_that_forgets_it_again_is_carried_out_and_says_that_nobody_was_told() -> None:
    stage = await begun_as(PROCUREMENT)
    problems = _plans(stage, [CALL], [CALL, NOTICE])
    record = await stage.run()
    assert (len(problems), record.state, stage.claims.applied) == (2, TaskState.COMPLETED, ["C-1"])
    assert record.metadata["not_told"] == "The vendor was not told: the plan has no notice to them."
    assert str(record.metadata["not_told"]) in (record.answer or "")


@pytest.mark.promise("notify.told")
async def test_a_notice_that_was_held_back_is_said_not_to_have_told_them() -> None:
    stage = await begun_as(PROCUREMENT, UNPROVED, TO_VENDOR)
    record = await stage.run()
    assert "The vendor was not told: nobody is told of a change that is not verified" in (record.answer or "")


@pytest.mark.promise("notify.told")
async def test_a_list_that_was_asked_for_stays_one_and_the_metadata_say_who_was_not_told() -> None:
    stage = await begun_as(PROCUREMENT, CALL)
    stage.scripts["complete"] = text_reply('["C-1"]')
    record = await stage.run()
    assert record.answer == '["C-1"]'
    assert "not_told" in record.metadata


@pytest.mark.promise("notify.told")
async def test_a_task_that_told_nobody_after_a_correction_is_replayed_to_the_same_end() -> None:
    stage = await begun_as(PROCUREMENT, CALL)
    await stage.run()
    assert (await replayed(stage)).difference == ""


@pytest.mark.promise("notify.told")
async def test_without_the_template_nobody_has_to_be_told() -> None:
    stage = await begun_as(TEMPLATES["general"])
    problems = _plans(stage, [CALL])
    record = await stage.run()
    assert (len(problems), "not_told" in record.metadata) == (1, False)


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


@pytest.mark.parametrize(
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
    assert tells(notice, "vendor", WritePlan(task_id="t", calls=(CREATED, notice)), KNOWN) is told

"""A part that is so already is left with the change that is not needed, and the record that shows it."""

import pytest

from shared.domain.exact_json import Json, JsonObject
from shared.domain.words import TaskState
from tests.each_row import each_row
from tests.unit.executor.stage import READ, READ_2, Stage, Use, use

DONE, FAILED = TaskState.COMPLETED, TaskState.FAILED
ROW: JsonObject = {"id": "C-1", "status": "approved", "amount": "120.50", "reason": None}


def left(tool: str = "approve_claim", part: int = 1, ref: str = "r1", **given: Json) -> Use:
    call: JsonObject = {"tool": tool, "arguments": {"claim_id": "C-1", **given}}
    return use("leave_part", part=part, because="it is approved", ref=ref, call=call)


def stage_of(text: str = "Approve claim C-1", *calls: Use, row: JsonObject = ROW) -> Stage:
    stage = Stage(text, [READ], [*(calls or (left(),))], answer="Claim C-1 is approved.")
    stage.claims.rows["C-1"] = {**row}
    stage.offers("set_limit", "claim_id", "[amount]", "[note]")
    stage.offers("add_note", "claim_id", "note")
    stage.offers("cancel_claim", "claim_id")
    stage.offers("assign_claim", "claim_id", "employee_id")
    return stage


@pytest.mark.promise("coverage.already_so")
async def test_a_part_whose_record_shows_it_already_is_done_without_a_call_and_the_answer_says_so() -> None:
    record = await stage_of().ends(DONE, [])
    assert "it is so already: status=approved (r1)" in str(record.answer)
    await stage_of("Set the limit of claim C-1 to 120.50", left("set_limit", amount="120.5")).ends(DONE)


@pytest.mark.promise("coverage.already_so")
@each_row(
    ("text", "call", "row"),
    ("Approve claim C-1", left(), {**ROW, "status": "open"}),
    ("Approve claim C-1", left(), {**ROW, "payment_status": "open"}),
    ("Approve claim C-1", left(), {**ROW, "status": "open", "history": {"status": "approved"}}),
    ("Approve claim C-1", left(), {"id": "C-1", "approved_by": "approved"}),
    ("Approve claim C-2", left(), ROW),  # another one is approved
    ("Cancel claim C-1", left("cancel_claim"), ROW),
    ("Cancel claim C-1", left(), ROW),  # the part says something else
    ("Set the limit of claim C-1 to 90", left("set_limit", amount="90"), ROW),
    ("Set the limit of claim C-1 to 90", left("set_limit", amount="120.50"), ROW),
    ("Set the limit of claim C-1 to 120.50", left("set_limit"), ROW),  # nothing is set
    ("Add the note approved to claim C-1", left("add_note", note="approved"), {**ROW, "note": "approved"}),
    ("Approve claim C-1", left("get_claim"), ROW),
    ("Approve claim C-1", left("no_such_tool"), ROW),
    ("Approve claim C-1", left(ref="r7"), ROW),
)
async def test_a_part_that_its_record_does_not_show_whole_counts_as_not_done(
    text: str, call: Use, row: JsonObject
) -> None:
    record = await stage_of(text, call, row=row).ends(FAILED, [])
    assert "it is so already" not in f"{record.answer} {record.reason}"


@pytest.mark.promise("coverage.already_so")
async def test_nothing_is_so_already_by_what_was_read_before_the_task_itself_changed_something() -> None:
    parts, first = ("Approve claim C-2", "Approve claim C-1"), use("approve_claim", 1, claim_id="C-2")
    stage = Stage(". ".join(parts), [READ, READ_2], [first], [first], [left(part=2)], parts=parts)
    stage.claims.rows["C-1"] = {**ROW}
    await stage.ends(FAILED, ["C-2"], why="part 2")

"""Whether a read could show a write at all, and whether what was read before a call already shows it (I3)."""

from collections.abc import Callable
from zoneinfo import ZoneInfo

import pytest

from services.executor.core.write.field_proof import WriteEvidence
from services.executor.core.write.settling import can_read_show_write, judge_write, was_shown_before
from services.executor.ports.tools import ToolAnswer
from shared.contracts.ledger import LedgerEntry
from shared.contracts.plan import ReadBack
from shared.contracts.tenant import CatalogueEntry
from shared.domain.exact_json import Json, JsonObject, dumps
from shared.domain.words import TaskState, ToolClass, WriteStatus
from tests.each_row import each_row
from tests.unit.executor.stage import Stage, keeps_silent
from tests.unit.executor_core.makers import call, entry

PARTS: Json = [{"id": "P-51", "name": "brake pad set", "stock": 3}, {"id": "P-52", "name": "oil filter", "stock": 22}]
INVOICE: Json = {"id": "V-1", "total": 480, "discount": 0, "status": "unpaid"}
ORDER: JsonObject = {
    "type": "object",
    "properties": {"part_id": {"type": "string"}, "quantity": {"type": "integer"}},
    "required": ["part_id", "quantity"],
}
JOB: Json = {"id": "J-1", "status": "open", "mechanic": "Ines", "notes": []}


@pytest.mark.promise("I3.lost_reply")
@each_row(
    ("tool", "arguments", "reader", "before", "can"),
    ("order_part", {"part_id": "P-51", "quantity": 5}, "list_parts", PARTS, False),
    ("order_part", {"part_id": "P-51"}, "list_parts", PARTS, False),
    ("order_part", {"part_id": "P-51", "quantity": 5}, "list_orders", [], True),
    ("set_job_status", {"job_id": "J-1", "status": "done"}, "get_job", JOB, True),
    ("set_job_priority", {"job_id": "J-1", "priority": "high"}, "get_job", JOB, False),
    ("add_note", {"job_id": "J-1", "text": "waits"}, "get_job", JOB, True),
    ("write_off_invoice", {"invoice_id": "V-1"}, "get_invoice", INVOICE, True),
    ("approve_invoice", {"invoice_id": "V-1", "comment": "fine"}, "get_invoice", INVOICE, True),
    ("delete_invoice", {"invoice_id": "V-1"}, "get_invoice", INVOICE, True),
    ("delete_invoice", {"invoice_id": "V-2"}, "list_parts", PARTS, False),
    ("create_customer", {"customer_id": "K-9", "name": "Ann"}, "get_customer", [], True),
    ("book_room", {"room_id": "R-1", "day": "2026-12-01"}, "list_bookings", [], True),
    ("pay_invoice", {"invoice_id": "V-1", "amount": 480}, "list_payments", [], True),
)
def test_a_read_can_show_fields_that_it_showed_before_or_records_of_the_kind_that_is_made(
    tool: str, arguments: JsonObject, reader: str, before: Json, can: bool
) -> None:
    """The read before the call tells it; where there was none, the one after it."""
    for first, then in ((before, None), (None, before)):
        assert can_read_show_write(WriteEvidence(tool, arguments, {}, first, None, then, {}, reader)) is can


def _orders(answer: Callable[[JsonObject], "Json | ToolAnswer"], read_back: str | None | bool = None) -> Stage:
    """A stage that orders a part; no read shows orders, and a list shows parts."""
    stage = Stage(text="Order 5 of part P-51.")
    stage.servers.add("list_parts", lambda _: PARTS, ToolClass.READ)
    stage.servers.add("order_part", answer, ToolClass.CHANGE, ORDER)
    stage.set_catalogue(order_part=CatalogueEntry.model_validate({"read_back": read_back}))
    order: JsonObject = {"part_id": "P-51", "quantity": 5, "_call": {"part": 1}}
    stage.talk.rounds = [[("list_parts", {})], [("order_part", order)]]
    stage.talk.answer = "5 of P-51 are ordered."
    return stage


@pytest.mark.promise("I3.lost_reply")
@each_row("read_back", [None, "list_parts", False])
async def test_a_lost_write_that_no_read_can_show_is_in_doubt_and_never_absent(read_back: str | None | bool) -> None:
    stage = _orders(keeps_silent, read_back)
    record = await stage.run()
    (write,) = stage.turns.writes.values()
    assert (record.state, write.status.value) == (TaskState.INPUT_REQUIRED, "in_doubt")
    assert "not applied" not in str(record.answer)


async def test_an_error_to_a_write_that_no_read_can_show_is_no_refusal() -> None:
    stage = _orders(lambda _: ToolAnswer("the depot's line went down", is_error=True))
    await stage.run()
    assert stage.statuses == ["in_doubt"]


@each_row(("read_back", "asks"), [(None, True), (False, False)])
async def test_a_catalogue_can_say_that_no_read_shows_a_write(read_back: bool | None, asks: bool) -> None:
    stage = _orders(lambda _: "OK", read_back)
    record = await stage.run()
    (write,) = stage.turns.writes.values()
    assert (record.state, write.status.value) == (TaskState.COMPLETED, "unverified")
    assert str(write.note).startswith("no read")
    assert (write.call.read_back is not None) is asks


@each_row(
    ("day", "status"),
    ("2026-12-04", WriteStatus.VERIFIED),
    ("04.12.2026", WriteStatus.VERIFIED),
    ("2026-12-04T00:30:00+01:00", WriteStatus.VERIFIED),
    ("2026-12-03", WriteStatus.UNVERIFIED),  # as it is in UTC
)
def test_epoch_seconds_show_the_day_that_they_are_in_the_zone(day: str, status: WriteStatus) -> None:
    moved = _entry("move_booking", {"id": "E-1", "day": day}, {}, {"id": "E-1", "day": 1796284800})
    answered = moved.model_copy(update={"result_json": dumps("ok")})
    judgement = judge_write(answered, {"id": "E-1", "day": 1796340600}, ZoneInfo("Europe/Berlin"))
    assert judgement.status is status


def _entry(tool: str, arguments: JsonObject, expect: JsonObject, before: Json) -> LedgerEntry:
    read_back = ReadBack(tool="get_it", arguments_json=dumps({"id": "E-1"}), expect_json=dumps(expect))
    sent = entry(WriteStatus.SENDING, of=call(arguments, tool=tool, read_back=read_back))
    return sent.model_copy(update={"before_json": dumps(before)})


_APPROVE: tuple[str, JsonObject, JsonObject] = ("approve_expense", {"expense_id": "E-1"}, {"status": "approved"})
_PLAINLY: tuple[str, JsonObject, JsonObject] = ("approve_expense", {"expense_id": "E-1"}, {})
_BOOK: tuple[str, JsonObject, JsonObject] = ("book_room", {"room": "R-9", "day": "2026-04-02"}, {})


@pytest.mark.promise("redis.tail_lost")
@each_row(
    ("call", "before", "shown"),
    (_APPROVE, {"expense_id": "E-1", "status": "pending"}, False),
    (_APPROVE, {"expense_id": "E-1", "status": "approved"}, True),
    (_APPROVE, None, False),
    (_PLAINLY, {"expense_id": "E-1", "status": "pending"}, False),
    (_PLAINLY, {"expense_id": "E-1", "status": "approved"}, True),
    (_BOOK, [], False),
    (_BOOK, [{"booking_id": "B-1", "room": "R-9", "day": "2026-04-02"}], True),
    (_BOOK, [{"booking_id": "B-1", "room": "R-9", "day": "2026-04-09"}], False),
)
def test_only_a_record_that_has_all_of_it_shows_it(
    call: tuple[str, JsonObject, JsonObject], before: Json, shown: bool
) -> None:
    assert was_shown_before(_entry(*call, before)) is shown

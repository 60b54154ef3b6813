"""A word of choice leaves open only what it stands with, and a record belongs to those that the part names."""

from datetime import UTC, datetime

import pytest

from services.executor.core.plan.faults import PartContext
from services.executor.core.plan.sources import KnownSources, SourceFinder
from services.executor.core.session.values import Fact
from services.executor.core.tools.toolbox import build_record_keys
from services.executor.ports.tools import Tool
from shared.contracts.tenant import RecordKind
from shared.domain.exact_json import Json, JsonObject
from shared.domain.words import ToolClass
from tests.each_row import each_row
from tests.unit.executor_core.makers import call, fact, tool

pytestmark = pytest.mark.promise("conversation.agreement")

NOW = datetime(2026, 11, 27, 9, tzinfo=UTC)
UNTOLD, OTHERWISE = "no word of the task tells of this record", "this part says"


def _tool(name: str, *fields: str, **listed: list[Json]) -> Tool:
    properties: JsonObject = {field: {} for field in fields}
    properties |= {field: {"type": "string", "enum": words} for field, words in listed.items()}
    return tool(name, ToolClass.CHANGE, {"type": "object", "properties": properties})


def _rows(kind: str, *rows: JsonObject) -> Fact:
    return fact({f"{kind}s": [*rows]}, kind, f"list_{kind}s")


def _find(task: str, called: Tool, given: JsonObject, facts: tuple[Fact, ...], *others: JsonObject) -> str:
    part = PartContext(task, write_tools=[called], proposed_calls=[(called.name, one) for one in (given, *others)])
    found = SourceFinder(KnownSources((task,), facts, (), NOW, (task,), keys=_KEYS)).find_sources(
        call(given, tool=called.name, tool_class=called.tool_class), called, part
    )
    return " ".join((*found.problems, *found.doubts))


_KEYS = build_record_keys({"budget": RecordKind(keys=("cost_centre",))}, {})
CLOSE, GIVE = _tool("close_order", "order_id"), _tool("assign_order", "order_id", "technician_id")
CANCEL, ENROL = _tool("cancel_booking", "booking_id"), _tool("move_student", "student_id", "class_id")
OFFICE = (
    _rows("order", {"order_id": 70316, "technician_id": 5}, {"order_id": 70318, "technician_id": 7},
          {"order_id": 70319, "technician_id": 6}),
    _rows("technician", {"technician_id": 5, "name": "Jonas Keller"}, {"technician_id": 6, "name": "Mira Sandoval"},
          {"technician_id": 7, "name": "Peter Holm"}),
    _rows("booking", {"booking_id": "B-12", "customer_id": "C-1"}, {"booking_id": "B-13", "customer_id": "C-1"}),
    _rows("student", {"student_id": 1001, "name": "Ann Lee", "class_id": 31},
          {"student_id": 1002, "name": "Bo Li", "class_id": 31}),
    _rows("class", {"class_id": 31, "name": "7a"}, {"class_id": 32, "name": "7b"}),
)  # fmt: skip


@each_row(
    "task",
    "All is checked: close order 70318.",
    "Close order 70318, it was not urgent.",
    "Close order 70318. I will tell the others later.",
    "Close 70318 as everything is checked.",
    "Schließe den Auftrag 70318, alles ist geprüft.",
    "Ferme l'ordre 70318, tous les essais sont faits.",
)
def test_a_word_of_choice_about_something_else_leaves_no_record_open(task: str) -> None:
    assert UNTOLD in _find(task, CLOSE, {"order_id": 70316}, OFFICE)


@each_row(
    ("task", "called", "given", "others"),
    ("Cancel the newer duplicate of booking B-12.", CANCEL, {"booking_id": "B-13"}, ()),
    ("Cancel all bookings of the customer of B-12.", CANCEL, {"booking_id": "B-13"}, ({"booking_id": "B-12"},)),
    ("Close 70316 and all the others.", CLOSE, {"order_id": 70319}, ({"order_id": 70316},)),
    ("Schließe alle Aufträge außer 70319.", CLOSE, {"order_id": 70318}, ()),
    ("Close every order. 70318 worries me most.", CLOSE, {"order_id": 70316}, ({"order_id": 70318},)),
    ("Peter Holm is ill. Give 70318 to whoever can.", GIVE, {"order_id": 70318, "technician_id": 6}, ()),
    ("7a is full: move Ann Lee to any other class.", ENROL, {"student_id": 1001, "class_id": 32}, ()),
    ("Everyone in 7a but Bo Li goes to 7b.", ENROL, {"student_id": 1001, "class_id": 32}, ()),
)
def test_a_word_of_choice_leaves_open_the_records_that_it_stands_with(
    task: str, called: Tool, given: JsonObject, others: tuple[JsonObject, ...]
) -> None:
    assert not _find(task, called, given, OFFICE, *others)


MOVE = _tool("transfer_budget", "from_id", "to_id", "amount")
PRIORITY, STAGE = (
    _tool("set_priority", "order_id", priority=["P1", "P2"]),
    _tool("set_stage", "id", stage=["review", "offer"]),
)
BUDGETS = tuple(
    fact({"id": name, "planned": planned}, name, "get_budget", asked={"id": name})
    for name, planned in (("CC-1", 800), ("CC-2", 1200))
)
ORDER = (fact({"order_id": "O-1", "priority": "P2"}, "o", "get_order", asked={"order_id": "O-1"}),)
CASE = (fact({"id": "A-1", "stage": "review"}, "a", "get_case", asked={"id": "A-1"}),)


@each_row(
    ("task", "called", "given", "facts", "why"),
    ("Move 1,000 euros from CC-1 to CC-2 for the next year.", MOVE,
     {"from_id": "CC-1", "to_id": "CC-2", "amount": 800}, BUDGETS, OTHERWISE),
    ("Move 1,000 euros from CC-1 to CC-2 for the next year.", MOVE,
     {"from_id": "CC-1", "to_id": "CC-2", "amount": 1000}, BUDGETS, ""),
    ("Move the lowest of 1,000 euros and what CC-1 has to CC-2.", MOVE,
     {"from_id": "CC-1", "to_id": "CC-2", "amount": 800}, BUDGETS, ""),
    ("Make O-1 a P1 before the next inspection.", PRIORITY, {"order_id": "O-1", "priority": "P2"}, (), OTHERWISE),
    ("Make O-1 a P1, all agree.", PRIORITY, {"order_id": "O-1", "priority": "P2"}, (), OTHERWISE),
    ("Make O-1 the most urgent of all P2 orders.", PRIORITY, {"order_id": "O-1", "priority": "P1"}, ORDER, ""),
    ("It is in review. Move A-1 to the next stage.", STAGE, {"id": "A-1", "stage": "offer"}, CASE, ""),
)  # fmt: skip
def test_a_superlative_leaves_open_no_amount_or_word_before_it(
    task: str, called: Tool, given: JsonObject, facts: tuple[Fact, ...], why: str
) -> None:
    found = _find(task, called, given, facts)
    assert why in found if why else not found


CHARGE, END, BOOK = _tool("charge", "cost_centre", "amount"), _tool("end_leave", "leave_id"), _tool("book", "room_id")
SHIP, MESSAGE = _tool("ship_order", "order_id", "warehouse_id"), _tool("message_teacher", "teacher_id", "text")
KIN = (
    _rows("ward", {"ward_id": "W-1", "name": "Surgery", "cost_centre": "CC-1"},
          {"ward_id": "W-2", "name": "Cardiology", "cost_centre": "CC-2"}),
    _rows("employee", {"employee_id": "E-1", "name": "Ann Lee", "room_id": "R-1"},
          {"employee_id": "E-2", "name": "Bo Li", "room_id": "R-2"}),
    _rows("room", {"room_id": "R-1"}, {"room_id": "R-2"}, {"room_id": "R-3"}),
    _rows("leave", {"leave_id": "L-1", "employee_id": "E-1"}, {"leave_id": "L-2", "employee_id": "E-2"}),
    _rows("customer", {"customer_id": "C-1", "name": "Oduya Plc", "warehouse_id": "H-1"},
          {"customer_id": "C-2", "name": "Lech SA", "warehouse_id": "H-2"}),
    _rows("order", {"order_id": "S-5", "customer_id": "C-1"}),
    _rows("student", {"student_id": "S-1", "name": "Cid Roe", "class_id": "K-1"}),
    _rows("class", {"class_id": "K-1", "teacher_id": "P-1"}, {"class_id": "K-2", "teacher_id": "P-2"}),
)  # fmt: skip


@each_row(
    ("task", "called", "given", "is_told"),
    ("Charge Surgery 40 euros.", CHARGE, {"cost_centre": "CC-2", "amount": 40}, False),
    ("Charge Surgery 40 euros.", CHARGE, {"cost_centre": "CC-1", "amount": 40}, True),
    ("Ann Lee is back.", END, {"leave_id": "L-2"}, False),
    ("Bo Li is back, says Ann Lee.", END, {"leave_id": "L-2"}, True),
    ("Ship what Oduya ordered.", SHIP, {"order_id": "S-5", "warehouse_id": "H-2"}, True),  # the order tells of Oduya
    ("Write to the teacher of Cid Roe.", MESSAGE, {"teacher_id": "P-1", "text": "Write"}, True),
)
def test_a_record_of_another_than_the_named_one_of_its_kind_is_sent_back(
    task: str, called: Tool, given: JsonObject, is_told: bool
) -> None:
    assert (UNTOLD not in _find(task, called, given, KIN)) == is_told


ORDER_GOODS = _tool("order_goods", "lines")
ITEMS = (
    _rows("item", {"item_id": "GLV-M", "descr": "Nitrile gloves M"}, {"item_id": "SYR-50", "descr": "Syringe 50 ml"},
          {"item_id": "LAT-7", "descr": "Kept with the syringes."}),
)  # fmt: skip


@each_row(("item", "is_told"), ("SYR-50", True), ("LAT-7", False))
def test_a_word_of_a_description_tells_of_a_record_and_a_word_of_its_prose_does_not(item: str, is_told: bool) -> None:
    lines: list[Json] = [{"item_id": "GLV-M", "quantity": 2}, {"item_id": item, "quantity": 120}]
    found = _find("Order 2 boxes of GLV-M and 120 syringes.", ORDER_GOODS, {"lines": lines}, ITEMS)
    assert (UNTOLD not in found) == is_told


def test_a_code_of_one_letter_is_not_told_of_by_an_article() -> None:
    invoices = _rows("invoice", {"invoice_id": 88101, "status": "R"}, {"invoice_id": 88102, "status": "A"})
    void, task = _tool("void_invoice", "invoice_id"), "A driver called: void invoice 88101."
    assert UNTOLD in _find(task, void, {"invoice_id": 88102}, (invoices,))
    assert not _find(task, void, {"invoice_id": 88101}, (invoices,))


def test_a_name_of_two_capitals_is_not_the_word_it() -> None:
    budgets = _rows("budget", {"cost_centre": "CC-1", "name": "Sales"}, {"cost_centre": "CC-2", "name": "IT"})
    given: JsonObject = {"cost_centre": "CC-2", "amount": 50}
    assert not _find("Charge Sales 40 euros and IT 50.", CHARGE, given, (budgets,), {**given, "cost_centre": "CC-1"})
    assert UNTOLD in _find("Charge Sales 50 euros, it is due.", CHARGE, given, (budgets,))

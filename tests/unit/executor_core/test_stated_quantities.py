"""Counts and measures of a change are held against the words of its part, as amounts are."""

from datetime import UTC, datetime
from decimal import Decimal

import pytest

from services.executor.core.plan.faults import PartContext
from services.executor.core.plan.sources import KnownSources, SourcedCall, SourceFinder
from services.executor.core.session.values import NamedValue
from services.executor.ports.tools import Tool
from shared.domain.exact_json import Json, JsonObject
from shared.domain.words import ToolClass
from tests.each_row import each_row
from tests.unit.executor_core.makers import call, fact, from_fact, from_task, tool, value

pytestmark = pytest.mark.promise("conversation.agreement")

NOW = datetime(2026, 11, 27, 9, tzinfo=UTC)
NUT: JsonObject = {"item_cd": "NUT-5", "on_hand": 240, "per_box": 100, "reorder_pt": 200, "price": Decimal("8.95")}
LINES: Json = [{"pos": 10, "item_cd": "NUT-5", "qty": 10, "rcvd": 4}, {"pos": 20, "item_cd": "BLT-9", "qty": 30}]
FACTS = (
    fact(NUT, "r1", "get_item", asked={"item_cd": "NUT-5"}),
    fact({"order_no": 4711, "lines": LINES}, "r2", "get_order", asked={"order_no": 4711}),
    fact({"employee_id": "E-1", "name": "Ann Lee", "days": 25, "days_left": 12}, "r3", "get_employee"),
    fact({"course_id": "C-7", "title": "Physics 2", "pupils": 24, "seats": 20}, "r4", "get_course"),
    fact([{"order_no": 4812, "lines": 1}], "r6", "list_orders"),
    fact({"items": [{"ticket_id": "T-1"}, {"ticket_id": "T-2"}]}, "r5", "list_tickets"),
)


def _tool(name: str, *fields: str) -> Tool:
    return tool(name, ToolClass.CHANGE, {"type": "object", "properties": {field: {} for field in fields}})


ORDER, ORDER_ALL = _tool("create_order", "item_cd", "qty"), _tool("create_orders", "lines")
REORDER, LINE = (
    _tool("set_reorder_pt", "item_cd", "reorder_pt"),
    _tool("change_line_quantity", "order_no", "pos", "qty"),
)
RECEIPT, STOCK = _tool("post_receipt", "order_no", "pos", "qty"), _tool("adj_stock", "item_cd", "delta")
REDUCE, CLOSE = _tool("reduce_stock", "item_cd", "delta"), _tool("close_ticket", "ticket_id", "hours_spent")
LEAVE, SEATS = _tool("grant_leave", "employee_id", "days"), _tool("set_seats", "course_id", "seats")
TABLE, ITEM = _tool("book_table", "guests", "hour"), _tool("update_item", "item_cd", "price", "reorder_pt", "qty")
ON_ORDER: JsonObject = {"order_no": 4711, "pos": 10}


def _find(
    task: str, called: Tool, given: JsonObject, others: tuple[JsonObject, ...] = (), values: tuple[NamedValue, ...] = ()
) -> SourcedCall:
    part = PartContext(task, proposed_calls=[(called.name, one) for one in (given, *others)])
    planned = call(given, tool=called.name, tool_class=called.tool_class)
    return SourceFinder(KnownSources((task,), FACTS, values, NOW, (task,))).find_sources(planned, called, part)


@each_row(
    ("task", "called", "given", "why"),
    ("Order 40 boxes of NUT-5.", ORDER, {"item_cd": "NUT-5", "qty": 240}, "this part says 40"),  # the stock
    ("Please order 40 boxes of NUT-5.", ORDER, {"item_cd": "NUT-5", "qty": 30}, "this part says 40"),
    ("Order a dozen NUT-5.", ORDER, {"item_cd": "NUT-5", "qty": 13}, "this part says a dozen"),
    ("Bitte bestelle 40 Kisten NUT-5.", ORDER, {"item_cd": "NUT-5", "qty": 240}, "this part says 40"),
    ("If NUT-5 is below its reorder point, order 4 of it.", ORDER, {"item_cd": "NUT-5", "qty": 200}, "says 4"),
    ("Order 40 boxes of NUT-5 and 20 of BLT-9.", ORDER_ALL,
     {"lines": [{"item_cd": "NUT-5", "qty": 40}, {"item_cd": "BLT-9", "qty": 240}]}, "this part says 20"),
    ("Close T-1, it took 3 hours.", CLOSE, {"ticket_id": "T-1", "hours_spent": 30}, "this part says 3 hours"),
    ("Set the reorder point of NUT-5 to 150 boxes.", REORDER, {"item_cd": "NUT-5", "reorder_pt": 15}, "says 150"),
    ("We counted 236 boxes of NUT-5. Correct the stock.", STOCK, {"item_cd": "NUT-5", "delta": 4}, "says 236"),
    ("All 4 nut kits of 4711 came. Book them in.", RECEIPT, {**ON_ORDER, "qty": 2}, "this part says 4"),
    ("Raise the quantity on 4711 from 10 to 15.", LINE, {**ON_ORDER, "qty": 5}, "this part says 15"),
    ("Raise the quantity on 4711 by 5.", LINE, {**ON_ORDER, "qty": 14}, "this part says by 5"),
    ("Book a table for 8 guests.", TABLE, {"guests": 18, "hour": 1}, "this part says 8"),
    ("Take 20 boxes of NUT-5 out of stock.", STOCK, {"item_cd": "NUT-5", "delta": 20}, "the other way round"),
    ("Add 20 boxes of NUT-5 to the stock.", STOCK, {"item_cd": "NUT-5", "delta": -20}, "the other way round"),
)  # fmt: skip
def test_another_count_or_measure_than_the_part_says_is_sent_back(
    task: str, called: Tool, given: JsonObject, why: str
) -> None:
    found = _find(task, called, given)

    assert not found.problems
    assert any(why in origin.against for origin in found.call.origins)


@each_row(
    ("task", "called", "given"),
    ("Order 40 boxes of NUT-5.", ORDER, {"item_cd": "NUT-5", "qty": 40}),
    ("Commande trois douzaines de NUT-5.", ORDER, {"item_cd": "NUT-5", "qty": 36}),
    ("Order as many NUT-5 as are on order 4711, for 3 wards.", ORDER, {"item_cd": "NUT-5", "qty": 10}),
    ("Order NUT-5 in the quantity of 4711.", ORDER, {"item_cd": "NUT-5", "qty": 10}),
    ("If fewer than 50 boxes are left, order NUT-5 up to its reorder point.", ORDER, {"item_cd": "NUT-5", "qty": 200}),
    ("Order NUT-5 up to its reorder point; 40 boxes were broken.", ORDER, {"item_cd": "NUT-5", "qty": 200}),
    ("If NUT-5 is below 1,000 boxes, order 40 of it.", ORDER, {"item_cd": "NUT-5", "qty": 40}),
    ("The rest of 4711 came on 2 pallets, book it in.", RECEIPT, {"order_no": 4711, "pos": 20, "qty": 30}),
    ("All the nuts of 4711 came in 2 boxes. Book them in.", RECEIPT, {**ON_ORDER, "qty": 10}),
    ("Raise the quantity on 4711 by 5 boxes.", LINE, {**ON_ORDER, "qty": 15}),
    ("Reduce the quantity on 4711 by 4.", LINE, {**ON_ORDER, "qty": 6}),
    ("Erhöhe die Menge auf 4711 um 5 Stück.", LINE, {**ON_ORDER, "qty": 15}),
    ("Close T-1, it took 90 minutes.", CLOSE, {"ticket_id": "T-1", "hours_spent": Decimal("1.5")}),
    ("Give Ann Lee the days that she has left; the 2 interns get none.", LEAVE, {"employee_id": "E-1", "days": 12}),
    ("Grant Ann Lee her yearly days, she is here for 3 years.", LEAVE, {"employee_id": "E-1", "days": 25}),
    ("Set the seats of Physics 2 to the number of its pupils.", SEATS, {"course_id": "C-7", "seats": 24}),
    ("Book a table for 2 adults and 3 children at 1 pm.", TABLE, {"guests": 5, "hour": 1}),
    ("Everything on 4711 came, in 3 boxes. Book it in.", RECEIPT, {"order_no": 4711, "pos": 20, "qty": 30}),
    ("Order the usual box of NUT-5, there are 2 shelves free.", ORDER, {"item_cd": "NUT-5", "qty": 100}),
    ("Give back the 12 boxes of NUT-5 that I removed.", STOCK, {"item_cd": "NUT-5", "delta": 12}),
    ("Take 20 boxes of NUT-5 out of stock.", STOCK, {"item_cd": "NUT-5", "delta": -20}),
    ("Add 20 boxes of NUT-5 to the stock.", STOCK, {"item_cd": "NUT-5", "delta": 20}),
    ("20 Kisten NUT-5 sind nass geworden.", STOCK, {"item_cd": "NUT-5", "delta": -20}),
    ("Reduce the stock of NUT-5 by 5 boxes.", REDUCE, {"item_cd": "NUT-5", "delta": 5}),
)
def test_what_the_words_or_the_record_give_is_left_alone(task: str, called: Tool, given: JsonObject) -> None:
    found = _find(task, called, given)

    assert not found.problems
    assert not [origin.against for origin in found.call.origins if origin.against]


def test_what_another_call_uses_is_not_missing_from_this_one() -> None:
    others: tuple[JsonObject, ...] = ({"order_no": 4711, "pos": 20, "qty": 80},)
    found = _find("Reduce NUT-5 on 4711 to 60 boxes and BLT-9 to 80.", LINE, {**ON_ORDER, "qty": 60}, others)
    assert not found.doubts


def test_a_calculated_count_uses_the_number_that_it_was_calculated_from() -> None:
    task, values = (
        "We counted 236 boxes of NUT-5. Correct the stock.",
        (value("delta", "difference", "-4", from_task("236"), from_fact("on_hand", "r1")),),
    )
    assert not _find(task, STOCK, {"item_cd": "NUT-5", "delta": -4}, values=values).doubts
    assert _find(task, STOCK, {"item_cd": "NUT-5", "delta": 4}, values=values).doubts


def test_a_step_of_one_field_is_none_of_another_one() -> None:
    values = (value("new", "sum", "13.95", from_fact("price", "r1"), from_task("5")),)
    given: JsonObject = {"item_cd": "NUT-5", "price": Decimal("13.95"), "reorder_pt": 200, "qty": 20}
    assert not _find("Raise the price of NUT-5 by 5, set its quantity to 20.", ITEM, given, values=values).doubts


@each_row(
    ("task", "fee", "is_sourced"),
    ("Lend NUT-5 to hall 4, free of charge.", 0, True),
    ("Verleihe NUT-5 kostenlos.", 0, True),
    ("Lend NUT-5 to hall 4.", 0, False),
    ("Lend NUT-5 to hall 4, free of charge.", 13, False),
)
def test_nothing_is_charged_where_the_task_says_so(task: str, fee: int, is_sourced: bool) -> None:
    found = _find(task, _tool("lend_item", "item_cd", "daily_fee"), {"item_cd": "NUT-5", "daily_fee": fee})
    assert (not found.problems) == is_sourced

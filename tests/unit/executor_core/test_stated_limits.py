"""A change is held against the limit that its part sets for the records that it may be made on."""

from datetime import UTC, datetime
from decimal import Decimal

import pytest

from services.executor.core.plan.faults import PartContext
from services.executor.core.plan.sources import KnownSources, SourceFinder
from shared.domain.exact_json import Json, JsonObject
from shared.domain.words import ToolClass
from tests.each_row import each_row
from tests.unit.executor_core.makers import call, fact, tool
from tests.unit.policy.generated import soon

pytestmark = pytest.mark.promise("conversation.agreement")

NOW = datetime(2026, 11, 27, 9, tzinfo=UTC)
INVOICES: Json = [
    {"invoice_no": "R-1", "gross": Decimal("1284.60"), "due": "2026-12-01"},
    {"invoice_no": "R-2", "gross": Decimal("402.30"), "due": "2026-12-01"},
    {"invoice_no": "R-3", "gross": Decimal("1071.00"), "net": Decimal("900.00")},
]
FACTS = (
    fact({"ro_id": "RO-6", "estimate_eur": 1320, "deposit_eur": 100}, "r1", "get_ro", asked={"ro_id": "RO-6"}),
    fact({"fine_id": 703, "amount_cents": 24000}, "r2", "get_fine", asked={"fine_id": 703}),
    fact({"items": INVOICES}, "r3", "list_invoices"),
)
APPROVE, PAY_FINE, PAY = ("approve_ro", "ro_id"), ("pay_fine", "fine_id"), ("pay_invoice", "invoice_no")
GROSS: JsonObject = {"amount": Decimal("1071.00")}


@each_row(
    ("task", "tool_and_field", "record_id", "reason", "beside"),
    ("If the estimate of RO-6 is under 1,000 euro, approve it.", APPROVE, "RO-6", "estimate_eur of RO-6 is 1320", {}),
    ("Pay fine 703 unless it is over 200 euro.", PAY_FINE, 703, "amount_cents of 703 is 24000", {}),
    ("Zahle alle Rechnungen unter 1.000 Euro.", PAY, "R-1", "this part says unter 1.000", {}),
    ("Pay every invoice over €500.", PAY, "R-2", "gross of R-2 is 402.3", {}),
    ("Pay all invoices except those over 1,000 euro.", PAY, "R-1", "gross of R-1 is 1284.6", {}),
    ("Approve RO-6 if it is over 1,000 euro.", APPROVE, "RO-6", "", {}),  # it has two amounts
    ("If our account has more than 5,000 euro, pay R-2.", PAY, "R-2", "", {}),
    ("If R-2 is over 500 euro, ask Ann; otherwise pay it.", PAY, "R-2", "", {}),
    ("Pay invoices over 100 and under 300 euro.", PAY, "R-2", "", {}),
    ("Pay R-2, not over 300 euro.", PAY, "R-2", "", {}),
    ("Pay R-2 over 500 euro for Monday.", PAY, "R-2", "", {}),
    ("Pay R-2 if it is over 500 euro or overdue.", PAY, "R-2", "", {}),
    ("Pay all invoices under 1,000 euro.", PAY, "R-3", "gross of R-3 is 1071", GROSS),
    ("Pay all invoices under 1,000 euro.", PAY, "R-3", "", {}),  # it has two amounts
)
def test_a_record_beyond_the_limit_of_its_part_is_not_what_the_part_means(
    task: str, tool_and_field: tuple[str, str], record_id: str | int, reason: str, beside: JsonObject
) -> None:
    name, field = tool_and_field
    arguments: JsonObject = {field: record_id, **beside}
    called = tool(name, ToolClass.CHANGE, {"type": "object", "properties": {field: {}, "amount": {}}})
    planned = call(arguments, tool=name, tool_class=ToolClass.CHANGE)
    part = PartContext(task, proposed_calls=[(name, arguments)])
    sourced = SourceFinder(KnownSources((task,), FACTS, (), NOW, (task,))).find_sources(planned, called, part)
    faults = [fault for fault in (*sourced.problems, *sourced.doubts) if "this part says" in fault]
    assert bool(faults) is bool(reason), faults
    assert reason in " ".join(faults)


@each_row(
    ("task", "count", "read", "reason"),
    [
        (
            "Order 5 of S-1 unless we have as many in stock.",
            5,
            {"stock": 6},
            "unless we have as many in stock, and stock",
        ),
        ("Order 5 of S-1 unless we have as many in stock.", 5, {"stock": 5}, "stock is 5"),
        ("Order 5 of S-1 unless we have as many in stock.", 5, {"stock": 4}, ""),
        ("Send 5 of S-1 out if there are enough in stock.", 5, {"stock": 6}, ""),
        ("Send 5 of S-1 out if there are enough in stock.", 5, {"stock": 4}, "stock is 4"),
        ("Versende 5 von S-1, falls genug im Lager sind.", 5, {"lager": 4}, "lager is 4"),
        ("Envoie 5 de S-1, sauf si autant sont au stock.", 5, {"stock": 6}, "stock is 6"),
        # what is left, what is negated, and what no single number shows
        ("Send 5 of S-1 out if enough in stock remain.", 5, {"stock": 4}, ""),
        ("Order 5 of S-1 if we do not have enough in stock.", 5, {"stock": 4}, ""),
        ("Order 5 of S-1 if enough in stock, or ask Ann.", 5, {"stock": 4}, ""),
        ("Order 5 of S-1 if enough people asked.", 5, {"stock": 4}, ""),
        ("Order 5 of S-1 if there are enough in stock.", 5, {"stock": 4, "stock_abroad": 9}, ""),
        ("Order 1 of S-1 unless we have as many in stock.", 1, {"stock": 0}, ""),
        # an indirect question, two conditions, and what went
        ("See if we still have enough of S-1 in stock and, if we don't, order 5.", 5, {"stock": 4}, ""),
        ("Check if we have that many of S-1 in stock, and if we lack them, order 5.", 5, {"stock": 4}, ""),
        ("Order 5 of S-1, and tell me if that is enough stock.", 5, {"stock": 4}, ""),
        ("Find out for me if that is enough stock: order 5 of S-1.", 5, {"stock": 4}, ""),
        ("Order 5 of S-1 so that we know if the stock is enough.", 5, {"stock": 4}, ""),
        ("Bestelle 5 von S-1 und prüfe, wenn genug im Lager sind.", 5, {"lager": 4}, ""),
        ("Order 5 of S-1 if we sold that many of the stock.", 5, {"stock": 4}, ""),
        ("Order 5 of S-1.", 5, {"stock": 9}, ""),
    ],
)
def test_what_a_record_holds_is_held_against_what_the_call_takes(
    task: str, count: int, read: JsonObject, reason: str
) -> None:
    arguments: JsonObject = {"part_id": "S-1", "pieces": count}
    called = tool("order_part", ToolClass.CHANGE, {"type": "object", "properties": {"part_id": {}, "pieces": {}}})
    planned = call(arguments, tool=called.name, tool_class=called.tool_class)
    facts = [fact({"part_id": "S-1", **read}, f"r{number}", "get_part", asked={"part_id": "S-1"}) for number in (1, 2)]
    part = PartContext(task, proposed_calls=[(called.name, arguments)])
    found = SourceFinder(KnownSources((task,), facts, (), NOW, (task,))).find_sources(planned, called, part)
    doubts = " ".join(found.doubts)
    assert reason in doubts
    assert bool(reason) is bool(doubts), doubts


@each_row("piece", ["if ", "1 ", "A-1 "])
def test_a_part_of_many_conditions_numbers_or_ids_is_read_in_linear_time(piece: str) -> None:
    called = tool("order_part", ToolClass.CHANGE, {"type": "object", "properties": {"pieces": {}, "part_id": {}}})
    text = piece * 3_000
    finder = SourceFinder(KnownSources((text,), (), (), NOW, (text,)))
    planned = call({"pieces": 5, "part_id": "A-1"}, tool=called.name, tool_class=called.tool_class)
    assert soon(lambda: finder.find_sources(planned, called, PartContext(text)))

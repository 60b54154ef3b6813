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

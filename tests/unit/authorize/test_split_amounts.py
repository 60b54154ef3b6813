"""A limit on a figure holds for all of a task's changes of one record together, however they are split."""

import pytest

from shared.contracts.policy import Rule
from shared.domain.exact_json import JsonObject
from tests.each_row import each_row
from tests.unit.authorize.verdicts import change, read, verdict

LIMIT = Rule(id="R1", condition='tool == "discount_invoice" && amount > 100', action="escalate", reason="over 100")
INVOICE: JsonObject = {"invoice_id": "V-1", "total": 500}


@pytest.mark.promise("policy.split_amounts")
@each_row(
    ("first", "second", "asks"),
    [
        ({"invoice_id": "V-1", "amount": 90}, {"invoice_id": "V-1", "amount": 90}, True),
        ({"invoice_id": "V-1", "amount": 60}, {"invoice_id": "V-1", "amount": 40}, False),
        ({"invoice_id": "V-1", "amount": 90}, {"invoice_id": "V-2", "amount": 90}, False),
        ({"invoice_id": "V-1", "amount": 120}, {"invoice_id": "V-2", "amount": 1}, True),
    ],
)
def test_calls_on_one_record_are_judged_by_their_sum(first: JsonObject, second: JsonObject, asks: bool) -> None:
    calls = (change("discount_invoice", first), change("discount_invoice", second, "c2"))
    facts = [read("get_invoice", INVOICE, "f1"), read("get_invoice", {**INVOICE, "invoice_id": "V-2"}, "f2")]
    found = verdict([LIMIT], calls, facts)
    assert (found.escalate or found.requires_approval) is asks

"""Every write of the company: what it leaves behind, what it refuses, and what builds on it."""

import json
from pathlib import Path
from typing import NamedTuple

import pytest
from pydantic import JsonValue

from examples.company import ledger
from examples.company.books import AlreadyDone, CompanyBooks, ToolRefused
from examples.company.catalogue import TOOLS
from examples.demo.books import BooksSnapshot
from tests.each_row import each_row
from tests.unit.company.books_stage import call, record, rows

_OTHERWISE_TRIED = {"release_bank_file", "close_ledger_period", "deactivate_employee", "notify_employee"}


class Case(NamedTuple):
    """A write, the read that shows it, and the fields in which that read shows it. ``again``: it may be done again."""

    tool: str
    arguments: dict[str, JsonValue]
    read_back: str
    key: dict[str, JsonValue]
    shows: dict[str, JsonValue]
    again: bool = False


_NEW_PO = {"vendor_id": "VEN-601", "department": "finance", "requested_by": "EMP-352", "item": "Ink", "amount": "9.99"}
_CREDIT = {"incident_id": "INC-1501", "sla_id": "SLA-1401", "amount": "420.00", "reason": "137 minutes down"}
_SLIP = {"payslip_id": "SLP-1914", "gross": "15000", "tax": "3697.50", "reason": "bonus"}
_RECEIPT = "record_receipt"

CASES = [Case(**json.loads(line)) for line in Path(__file__).with_name("writes.jsonl").read_text().splitlines()]


def _the_record(books: CompanyBooks, case: Case) -> dict[str, object]:
    answer = call(books, case.read_back, **case.key)
    if isinstance(answer, dict) and (key := next((name for name in ("messages", "bookings") if name in answer), "")):
        return {**rows(answer, key)[-1]}
    if isinstance(answer, list):
        (answer,) = answer
    assert isinstance(answer, dict)
    return {**answer}


@pytest.mark.promise("company.writes_can_be_read_back")
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.tool)
def test_a_write_shows_in_its_read_back_and_once_only_means_once(
    books: CompanyBooks, tmp_path: Path, case: Case
) -> None:
    """The read did not show it before; a second time it is refused as done already, or applied where that is fair."""
    before = call(books, case.read_back, **case.key)
    call(books, case.tool, **case.arguments)
    shown = _the_record(books, case)
    if not case.again:
        with pytest.raises(AlreadyDone):
            call(books, case.tool, **case.arguments)

    assert before != call(books, case.read_back, **case.key)
    assert {name: shown[name] for name in case.shows} == case.shows
    assert ledger.count(tmp_path / "company.db", case.tool) == 1


def test_every_write_has_a_case() -> None:
    writes = {name for name, tool in TOOLS.items() if not tool.hints.read_only}

    assert writes - _OTHERWISE_TRIED == {case.tool for case in CASES}


@each_row(
    ("tool", "arguments", "sentence"),
    ("approve_expense", {"expense_id": "EXP-1011"}, "already approved"),
    ("approve_expense", {"expense_id": "EXP-1004"}, "600.00 available"),
    ("reserve_budget", {"department": "Marketing", "amount": "600.01", "purpose": "fair"}, "600.00 available"),
    ("reserve_budget", {"department": "Mars", "amount": 1, "purpose": "fair"}, "no budget"),
    ("create_refund", {"order_id": "ORD-2004", "amount": "390.01", "reason": "late"}, "390.00 left"),
    ("cancel_order", {"order_id": "ORD-2005", "reason": "late"}, "already shipped"),
    ("notify_employee", {"employee_id": "EMP-389", "message": "hello"}, "former"),
    ("submit_expense", {"employee_id": "EMP-1", "amount": 5, "category": "meals", "description": "x"}, "no employ"),
    ("approve_purchase_order", {"purchase_order_id": "PO-7027"}, "600.00 available"),
    ("approve_purchase_order", {"purchase_order_id": "PO-7029"}, "suspended"),
    ("receive_purchase_order", {"purchase_order_id": "PO-7024"}, "not approved"),
    ("create_purchase_order", {**_NEW_PO, "department": "Mars"}, "no budget"),
    ("create_purchase_order", {**_NEW_PO, "requested_by": "EMP-389"}, "former"),
    ("match_invoice", {"invoice_id": "INV-6001", "purchase_order_id": "PO-7001"}, "10481.37, the order over 10250"),
    ("match_invoice", {"invoice_id": "INV-6025", "purchase_order_id": "PO-7003"}, "with invoice INV-6003"),
    ("pay_invoice", {"invoice_id": "INV-6001", "amount": "10481.37"}, "is open"),
    ("pay_invoice", {"invoice_id": "INV-6010", "amount": "4350.01"}, "not 4350.01"),
    ("renew_contract", {"contract_id": "CON-1112", "ends_on": "2030-01-01"}, "terminated"),
    ("renew_contract", {"contract_id": "CON-1101", "ends_on": "2026-12-31"}, "already runs"),
    ("notify_customer", {"customer_id": "CUS-816", "message": "x"}, "no longer"),
    ("create_customer", {"name": "Cafe", "email": "ORDERS@brightcafe.example"}, "CUS-801"),
    (_RECEIPT, {"receivable_id": "REC-1304", "amount": "6300.01"}, "6300.00 left"),
    ("escalate_receivable", {"receivable_id": "REC-1303", "dunning": "reminded"}, "already at last_demand"),
    ("escalate_incident", {"incident_id": "INC-1501", "severity": "P2"}, "already P1"),
    ("record_sla_credit", {**_CREDIT, "incident_id": "INC-1502"}, "does not fall under"),
    ("record_sla_credit", {**_CREDIT, "incident_id": "INC-1502", "sla_id": "SLA-1402"}, "within the 60"),
    ("record_sla_credit", {**_CREDIT, "amount": "4200.01"}, "monthly fee of 4200.00"),
    ("revoke_access", {"access_id": "ACC-9034"}, "ACC-9032 has to be revoked before"),
    ("grant_access", {"employee_id": "EMP-447", "system": "palette", "privilege": "admin"}, "already has access"),
    ("deactivate_employee", {"employee_id": "EMP-404"}, "still has active access: ACC-90"),
    ("assign_asset", {"asset_id": "AST-1725", "employee_id": "EMP-447"}, "already retired"),
    ("pay_payroll_run", {"payroll_run_id": "RUN-1804", "amount": "1"}, "not approved"),
    ("pay_payroll_run", {"payroll_run_id": "RUN-1806", "amount": "14323.14"}, "net pay of RUN-1806 is 14323.15"),
    ("adjust_payslip", {**_SLIP, "payslip_id": "SLP-1901"}, "already settled"),
    ("adjust_payslip", {**_SLIP, "tax": "15000.01"}, "more than"),
    ("approve_invoice", {"invoice_id": "INV-6010"}, "already matched"),
    ("record_kyc_shortfall", {"kyc_document_id": "KYD-2316"}, "already received"),
    ("record_kyc_shortfall", {"kyc_document_id": "KYD-2328"}, "already has the shortfall SHF-2401"),
    ("resolve_dispute", {"dispute_id": "DSP-2505", "resolution": "again"}, "already resolved"),
)
def test_the_companys_rules_refuse_and_change_nothing(
    books: CompanyBooks, tmp_path: Path, tool: str, arguments: dict[str, JsonValue], sentence: str
) -> None:
    before = BooksSnapshot.read(tmp_path / "company.db")

    with pytest.raises(ToolRefused, match=sentence):
        call(books, tool, **arguments)

    after = BooksSnapshot.read(tmp_path / "company.db")
    assert (after.changes_since(before), after.writes_since(before)) == ((), ())


def test_an_employee_goes_when_every_access_right_is_revoked_in_its_order(books: CompanyBooks) -> None:
    rights = call(books, "list_access", employee_id="EMP-404")
    assert isinstance(rights, list)
    for right in rights:
        assert isinstance(right, dict)
        call(books, "revoke_access", access_id=str(right["id"]))

    assert len(rights) == 4
    assert record(books, "deactivate_employee", employee_id="EMP-404")["status"] == "former"
    assert record(books, "get_employee", employee_id="EMP-404")["status"] == "former"


_NET = "84944.64"


@pytest.mark.promise("company.consistent")
def test_a_period_is_closed_once_and_only_over_its_exact_revenue(books: CompanyBooks) -> None:
    with pytest.raises(ToolRefused, match="not booked"):
        call(books, "close_ledger_period", ledger_period_id="LDP-2402")
    with pytest.raises(ToolRefused, match=r"114044\.71, not 114044\.70"):
        call(books, "record_revenue_booking", ledger_period_id="LDP-2402", amount="114044.70")
    call(books, "record_revenue_booking", ledger_period_id="LDP-2402", amount="114044.71")

    assert record(books, "close_ledger_period", ledger_period_id="LDP-2402")["status"] == "closed"
    with pytest.raises(AlreadyDone):
        call(books, "close_ledger_period", ledger_period_id="LDP-2402")


@pytest.mark.promise("company.consistent")
def test_a_bank_file_pays_approved_runs_out_to_the_cent_and_once(books: CompanyBooks) -> None:
    file = {"bank_file_id": "BNK-2802"}
    with pytest.raises(ToolRefused, match="Not every payroll run of 2026-04"):
        call(books, "release_bank_file", **file, total=_NET)
    for run in ("RUN-1807", "RUN-1808", "RUN-1809"):
        call(books, "approve_payroll_run", payroll_run_id=run)
    with pytest.raises(ToolRefused, match="just that"):
        call(books, "release_bank_file", **file, total="84944.65")

    assert record(books, "release_bank_file", **file, total=_NET)["status"] == "released"
    assert record(books, "get_payroll_run", payroll_run_id="RUN-1809")["status"] == "settled"
    with pytest.raises(AlreadyDone):
        call(books, "release_bank_file", **file, total=_NET)


def test_an_item_becomes_another_product_only_at_the_quoted_total_of_a_placed_order(books: CompanyBooks) -> None:
    asked = {"order_item_id": "ITM-2306", "product_id": "PRD-2213"}
    quote = record(books, "get_price_quote", **asked)

    assert (quote["old_total"], quote["new_total"]) == ("312.00", "368.70")
    with pytest.raises(ToolRefused, match=r"368\.70, not 312\.00"):
        call(books, "modify_order_item", **asked, total="312.00")
    with pytest.raises(AlreadyDone, match="delivered"):
        call(books, "modify_order_item", order_item_id="ITM-2302", product_id="PRD-2213", total="1.00")
    call(books, "modify_order_item", **asked, total="368.70")
    order = record(books, "get_order", order_id="ORD-2006")
    assert (order["total"], order["item"]) == ("368.70", "Water filter with sensor")

"""The example data as a whole: what one table says, no other contradicts."""

from collections import Counter, defaultdict
from datetime import date
from pathlib import Path

import pytest

from examples.company import ledger
from examples.company.ledger import Cell
from examples.company.tables import NUMBERING, TABLES, all_columns
from tests.company_stage import open_books

Rows = dict[str, dict[str, dict[str, Cell]]]


@pytest.fixture
def rows(tmp_path: Path) -> Rows:
    open_books(tmp_path).close()
    database = tmp_path / "company.db"
    return {table: {str(row["id"]): row for row in ledger.rows(database, table)} for table in TABLES}


def _cents(row: dict[str, Cell], column: str = "amount_cents") -> int:
    value = row[column]
    assert isinstance(value, int)
    return value


@pytest.mark.promise("company.consistent")
def test_there_are_a_few_hundred_rows_and_every_reference_leads_to_one(rows: Rows) -> None:
    """By the columns' own names: ``x_id`` is the id of a row of the table ``xs``."""
    assert sum(len(found) for found in rows.values()) >= 300
    for table, found in rows.items():
        assert found, table
        assert all(key.startswith(f"{NUMBERING[table].prefix}-") for key in found)
    for table, found in rows.items():
        for column in all_columns()[table]:
            target = f"{column.name.removesuffix('_id')}s"
            if column.name.endswith("_id") and target in rows:
                assert {row[column.name] for row in found.values()} - {None} <= rows[target].keys()


@pytest.mark.promise("company.consistent")
def test_budgets_cover_what_was_approved(rows: Rows) -> None:
    approved: Counter[object] = Counter()
    for claim in rows["expenses"].values():
        if claim["status"] == "approved":
            approved[rows["employees"][str(claim["employee_id"])]["department"]] += _cents(claim)
    for order in rows["purchase_orders"].values():
        if order["status"] in ("approved", "received"):
            approved[order["department"]] += _cents(order)

    for budget in rows["budgets"].values():
        assert approved[budget["department"]] <= _cents(budget, "spent_cents")


@pytest.mark.promise("company.consistent")
def test_invoices_agree_with_their_purchase_orders_and_payments(rows: Rows) -> None:
    """What is matched or settled equals its order; a flag carries the exact difference; what is settled was paid."""
    paid = {payment["invoice_id"]: payment for payment in rows["payments"].values()}
    assert paid.keys() == {key for key, row in rows["invoices"].items() if row["status"] == "settled"}
    for key, invoice in rows["invoices"].items():
        order = rows["purchase_orders"].get(str(invoice["purchase_order_id"]))
        if key in paid:
            assert (paid[key]["amount_cents"], paid[key]["vendor_id"]) == (_cents(invoice), invoice["vendor_id"])
        if order:
            assert order["vendor_id"] == invoice["vendor_id"]
            assert order["status"] in ("approved", "received")
        if order and invoice["variance_cents"] is not None:
            assert _cents(invoice) - _cents(order) == invoice["variance_cents"]


@pytest.mark.promise("company.consistent")
def test_payslips_add_up_to_their_runs_and_credits_are_what_the_agreement_says(rows: Rows) -> None:
    sums: dict[object, Counter[str]] = defaultdict(Counter)
    for slip in rows["payslips"].values():
        for column in ("gross_cents", "tax_cents", "net_cents"):
            sums[slip["payroll_run_id"]][column] += _cents(slip, column)
    people = Counter(slip["employee_id"] for slip in rows["payslips"].values())

    for key, run in rows["payroll_runs"].items():
        assert {column: run[column] for column in sums[key]} == sums[key]
    assert people == {key: 4 for key, person in rows["employees"].items() if person["status"] == "active"}
    for row in rows["sla_credits"].values():
        incident, sla = rows["incidents"][str(row["incident_id"])], rows["slas"][str(row["sla_id"])]
        assert incident["sla_id"] == row["sla_id"]
        assert _cents(incident, "downtime_minutes") > _cents(sla, "allowed_downtime_minutes")
        assert _cents(row) * 100 == _cents(sla, "monthly_fee_cents") * _cents(sla, "credit_pct")
    for incident in rows["incidents"].values():
        if incident["sla_id"]:
            assert rows["slas"][str(incident["sla_id"])]["service"] == incident["service"]


@pytest.mark.promise("company.consistent")
def test_a_settled_receivable_is_received_in_full_and_a_dispute_is_about_an_order_of_its_customer(rows: Rows) -> None:
    for row in rows["receivables"].values():
        assert (row["status"] == "settled") == (row["amount_cents"] == row["received_cents"])
        assert date.fromisoformat(str(row["due_on"]))
    for order in rows["orders"].values():
        assert order["customer_email"] in {customer["email"] for customer in rows["customers"].values()}
    for row in rows["disputes"].values():
        order, customer = rows["orders"][str(row["order_id"])], rows["customers"][str(row["customer_id"])]
        assert order["customer_email"] == customer["email"]
        assert _cents(row) <= _cents(order, "total_cents")


@pytest.mark.promise("company.consistent")
def test_those_who_left_hold_nothing_and_shortfalls_are_of_documents_that_are_not_there(rows: Rows) -> None:
    active = {key for key, person in rows["employees"].items() if person["status"] == "active"}
    held = {right["employee_id"] for right in rows["access_rights"].values() if right["status"] == "active"}

    assert held == active
    assert {asset["employee_id"] for asset in rows["assets"].values()} - {None} <= active
    for row in rows["kyc_shortfalls"].values():
        document = rows["kyc_documents"][str(row["kyc_document_id"])]
        assert document["status"] in ("missing", "expired")
        assert document["customer_id"] == row["customer_id"]
    assert {row["customer_id"] for row in rows["screenings"].values()} == rows["customers"].keys()

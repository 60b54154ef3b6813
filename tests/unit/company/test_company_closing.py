"""Writes that build on others: a period is closed over booked revenue, and a bank file pays approved runs out."""

from decimal import Decimal

import pytest

from examples.company.books import AlreadyDone, CompanyBooks, ToolRefused
from shared.domain.exact_json import Json
from tests.unit.company.books_stage import call, record, rows

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


def _contracts(books: CompanyBooks) -> list[dict[str, Json]]:
    pages = (record(books, "list_period_contracts", ledger_period_id="LDP-2402", page=page) for page in (1, 2, 3))
    return [row for page in pages for row in rows(page, "contracts")]


def test_contracts_of_a_period_come_in_pages_with_the_months_elapsed(books: CompanyBooks) -> None:
    """Counted from the month in which they begin to the period's own, and never more than they have."""
    found = {row["id"]: row for row in _contracts(books)}

    assert len(found) == record(books, "list_period_contracts", ledger_period_id="LDP-2402")["total"] == 24
    assert (found["CTR-2602"]["elapsed"], found["CTR-2607"]["elapsed"]) == (3, 18)


def test_what_moved_on_the_accounts_of_a_period_sums_to_nothing(books: CompanyBooks) -> None:
    accounts = rows(record(books, "list_period_accounts", ledger_period_id="LDP-2402"), "accounts")

    assert sum(Decimal(str(row["balance"])) for row in accounts) == 0
    assert {str(row["balance"]) for row in accounts if row["name"] == "Salaries"} == {"118111.50"}


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


def test_a_file_that_is_a_cent_off_is_never_released(books: CompanyBooks) -> None:
    for run in ("RUN-1810", "RUN-1811", "RUN-1812"):
        call(books, "approve_payroll_run", payroll_run_id=run)
    for total in ("84944.63", "84944.64"):
        with pytest.raises(ToolRefused, match="just that"):
            call(books, "release_bank_file", bank_file_id="BNK-2803", total=total)


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


def test_a_preview_says_what_a_smaller_plan_has_no_room_for(books: CompanyBooks) -> None:
    preview = record(books, "get_subscription_preview", subscription_id="SBS-1208", plan_name="Growth")

    assert (preview["old_monthly"], preview["new_monthly"], preview["effective_on"]) == (
        "1913.60",
        "1104.00",
        "2026-05-08",
    )
    assert preview["data_kept"] == "90 days of records, 100 GB"
    assert preview["data_lost"] == "209 days of records; 200 GB"


def test_an_sla_tells_how_often_it_was_broken(books: CompanyBooks) -> None:
    assert [record(books, "get_sla", sla_id=key)["breaches"] for key in ("SLA-1401", "SLA-1403", "SLA-1410")] == [
        1,
        0,
        3,
    ]


def test_steps_against_what_is_overdue_go_one_way(books: CompanyBooks) -> None:
    """A letter goes to the customer who owes; days are counted to the day asked about."""
    overdue = record(books, "list_overdue_receivables", due_before="2026-04-01")
    days = {row["id"]: row["days_overdue"] for row in rows(overdue, "receivables")}
    letter = record(books, "send_final_notice", receivable_id="REC-1311")

    assert (days["REC-1304"], days["REC-1308"]) == (60, 20)
    assert letter["recipient"] == "CUS-811"
    with pytest.raises(AlreadyDone):
        call(books, "send_reminder", receivable_id="REC-1311")

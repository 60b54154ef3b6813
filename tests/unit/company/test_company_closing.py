"""Writes that build on others: a period is closed over booked revenue, and a bank file pays approved runs out."""

import pytest

from examples.company.books import AlreadyDone, CompanyBooks, ToolRefused
from tests.unit.company.books_stage import call, record

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

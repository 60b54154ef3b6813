"""Long lists: pages in four shapes, and what a row or two more or less does to them."""

from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from pydantic import JsonValue

from examples.company import ledger
from examples.company.books import CompanyBooks, ToolRefused
from examples.company.paging import CAP
from tests.unit.company.books_stage import call, record


def _ids(answer: object) -> list[object]:
    assert isinstance(answer, list)
    return [row["id"] for row in answer]


def _by_page(books: CompanyBooks, tool: str, limit: int) -> list[object]:
    found: list[object] = []
    for page in range(1, 100):
        answer = record(books, tool, page=page, limit=limit)
        key = next(iter(answer.keys() - {"page", "limit", "total"}))
        if not answer[key]:
            assert len(found) == answer["total"]
            return found
        found += _ids(answer[key])
    raise AssertionError("the pages do not end")


def _by_offset(books: CompanyBooks, tool: str, limit: int) -> list[object]:
    found: list[object] = []
    while True:
        answer = record(books, tool, offset=len(found), limit=limit)
        key = next(iter(answer.keys() - {"offset", "limit", "has_more"}))
        found += _ids(answer[key])
        if not answer["has_more"]:
            return found


def _by_link(books: CompanyBooks, tool: str, limit: int) -> list[object]:
    found: list[object] = []
    asked: dict[str, JsonValue] = {"limit": limit}
    while True:
        answer = record(books, tool, **asked)
        key = next(iter(answer.keys() - {"next"}))
        found += _ids(answer[key])
        if answer["next"] is None:
            return found
        asked = {name: int(value[0]) for name, value in parse_qs(urlsplit(str(answer["next"])).query).items()}


def _by_cursor(books: CompanyBooks, tool: str, limit: int) -> list[object]:
    found: list[object] = []
    cursor: JsonValue = None
    while True:
        answer = record(books, tool, cursor=cursor, limit=limit)
        key = next(iter(answer.keys() - {"next_cursor"}))
        found += _ids(answer[key])
        if answer["next_cursor"] is None:
            return found
        cursor = str(answer["next_cursor"])


@pytest.mark.promise("company.pages")
@pytest.mark.parametrize("limit", [1, 3, CAP, 1000])
@pytest.mark.parametrize(
    ("walk", "tool", "table"),
    [
        (_by_page, "list_invoices", "invoices"),
        (_by_page, "list_receivables", "receivables"),
        (_by_page, "list_vendors", "vendors"),
        (_by_offset, "list_purchase_orders", "purchase_orders"),
        (_by_offset, "list_customers", "customers"),
        (_by_link, "list_subscriptions", "subscriptions"),
        (_by_offset, "list_assets", "assets"),
        (_by_cursor, "list_payments", "payments"),
        (_by_cursor, "list_payslips", "payslips"),
        (_by_cursor, "list_tickets", "tickets"),
        (_by_cursor, "list_outbox", "outbox"),
    ],
)
def test_the_pages_of_a_list_are_the_whole_table(
    books: CompanyBooks, tmp_path: Path, walk: object, tool: str, table: str, limit: int
) -> None:
    """Each row once, in order, however long a page is asked to be."""
    assert callable(walk)
    assert walk(books, tool, limit) == [row["id"] for row in ledger.rows(tmp_path / "company.db", table)]


@pytest.mark.parametrize("cursor", ["x", "====", "ä", "/w==", "dGlja2V0cz5USUMtMjEwMQ=="])
def test_a_cursor_of_no_list_is_refused(books: CompanyBooks, cursor: str) -> None:
    with pytest.raises(ToolRefused, match="no cursor"):
        call(books, "list_payments", cursor=cursor)

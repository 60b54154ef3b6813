"""Tools over the periods of the ledger: what contracts have earned is booked once, then a period is closed once."""

from typing import Annotated

from pydantic import Field

from examples.company import money
from examples.company.books import AlreadyDone, CompanyBooks, ToolRefused
from examples.company.lookup import RowQuery, add, check_status, find, require_row, rows_of, update
from examples.company.money import Amount
from examples.company.paging import OffsetArguments, PageArguments, numbered_page, offset_page
from examples.company.toolbox import ADD, DECIDE, READ, Arguments, CompanyTool
from shared.domain.exact_json import Json

PeriodId = Annotated[str, Field(description="Period id, such as LDP-2401", min_length=1)]

_EARNED = "Revenue recognised"
_DEFERRED, _REVENUE = "Deferred revenue", "Revenue"
_MONTH = "(CAST(SUBSTR(p.month, 1, 4) AS INTEGER) * 12 + CAST(SUBSTR(p.month, 6, 2) AS INTEGER))"
_START = "(CAST(SUBSTR(c.starts_on, 1, 4) AS INTEGER) * 12 + CAST(SUBSTR(c.starts_on, 6, 2) AS INTEGER))"
_CONTRACTS = (
    f"SELECT c.*, MIN(c.months, {_MONTH} - {_START} + 1) AS elapsed FROM customer_contracts c"  # noqa: S608 - our own
    " JOIN ledger_periods p ON p.id = ? WHERE SUBSTR(c.starts_on, 1, 7) <= p.month"
)
_MOVED = "SELECT COALESCE(SUM(amount_cents), 0) FROM ledger_bookings e WHERE e.ledger_period_id = p.id AND"
_ACCOUNTS = (
    f"SELECT a.*, ({_MOVED} e.debit_id = a.id) - ({_MOVED} e.credit_id = a.id) AS balance_cents"  # noqa: S608 - our own
    " FROM ledger_accounts a JOIN ledger_periods p ON p.id = ?"
)


class PeriodById(Arguments):
    ledger_period_id: PeriodId


class PeriodSlice(OffsetArguments):
    ledger_period_id: PeriodId


class PeriodPage(PageArguments):
    ledger_period_id: PeriodId


class RecogniseRevenue(PeriodById):
    amount: Amount


def get_ledger_period(books: CompanyBooks, asked: PeriodById) -> Json:
    return find(books, "ledger_periods", asked.ledger_period_id)


def list_period_contracts(books: CompanyBooks, asked: PeriodPage) -> Json:
    return numbered_page(books, "contracts", RowQuery(_CONTRACTS, (asked.ledger_period_id,)), asked)


def list_period_bookings(books: CompanyBooks, asked: PeriodSlice) -> Json:
    return offset_page(books, "bookings", rows_of("ledger_bookings", ledger_period_id=asked.ledger_period_id), asked)


def list_period_accounts(books: CompanyBooks, asked: PeriodSlice) -> Json:
    return offset_page(books, "accounts", RowQuery(_ACCOUNTS, (asked.ledger_period_id,)), asked)


def record_revenue_booking(books: CompanyBooks, asked: RecogniseRevenue) -> Json:
    check_status(books, "ledger_periods", asked.ledger_period_id, "open")
    if _count_recognitions(books, asked.ledger_period_id):
        raise AlreadyDone(f"The revenue of period {asked.ledger_period_id} is already booked.")
    earned = _earned_cents(books, asked.ledger_period_id)
    if money.to_cents(asked.amount) != earned:
        raise ToolRefused(
            f"The contracts of {asked.ledger_period_id} have earned {money.spell(earned)}, not {asked.amount}."
        )
    return add(
        books,
        "ledger_bookings",
        ledger_period_id=asked.ledger_period_id,
        debit_id=_require_account(books, _DEFERRED),
        credit_id=_require_account(books, _REVENUE),
        purpose=_EARNED,
        amount_cents=earned,
        created_at=books.now(),
    )


def close_ledger_period(books: CompanyBooks, asked: PeriodById) -> Json:
    check_status(books, "ledger_periods", asked.ledger_period_id, "open")
    if not _count_recognitions(books, asked.ledger_period_id):
        raise ToolRefused(f"The revenue of period {asked.ledger_period_id} is not booked yet.")
    return update(books, "ledger_periods", asked.ledger_period_id, status="closed", closed_at=books.now())


def _count_recognitions(books: CompanyBooks, ledger_period_id: str) -> int:
    sql = "SELECT COUNT(*) FROM ledger_bookings WHERE ledger_period_id = ? AND purpose = ?"
    return books.find_number(sql, ledger_period_id, _EARNED)


def _earned_cents(books: CompanyBooks, ledger_period_id: str) -> int:
    """Straight-line, in cents, each contract rounded half up by itself."""
    require_row(books, "ledger_periods", ledger_period_id)
    share = "(2 * value_cents * elapsed + months) / (2 * months)"
    return books.find_number(f"SELECT SUM({share}) FROM ({_CONTRACTS})", ledger_period_id)  # noqa: S608 - our own query


def _require_account(books: CompanyBooks, name: str) -> str:
    found = books.find_row("SELECT id FROM ledger_accounts WHERE name = ?", name)
    if found is None:
        raise ToolRefused(f"There is no account {name}.")
    return str(found["id"])


TOOLS = (
    CompanyTool(
        "get_ledger_period",
        "One period of the ledger by id, with the balances to compare.",
        PeriodById,
        READ,
        get_ledger_period,
    ),
    CompanyTool(
        "list_period_contracts",
        "Customers' contracts that run in a period, page by page: value, months, and months elapsed by its end.",
        PeriodPage,
        READ,
        list_period_contracts,
    ),
    CompanyTool("list_period_bookings", "Bookings of a period, page by page.", PeriodSlice, READ, list_period_bookings),
    CompanyTool(
        "list_period_accounts",
        "The ledger's accounts with what moved on them in a period, page by page.",
        PeriodSlice,
        READ,
        list_period_accounts,
    ),
    CompanyTool(
        "record_revenue_booking",
        "Book what customers' contracts have earned by the end of an open period; once only.",
        RecogniseRevenue,
        ADD,
        record_revenue_booking,
    ),
    CompanyTool(
        "close_ledger_period",
        "Close an open period whose revenue is booked; once only.",
        PeriodById,
        DECIDE,
        close_ledger_period,
    ),
)

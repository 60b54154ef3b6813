"""Tools over the periods of the ledger: what contracts have earned is booked once, then a period is closed once."""

from typing import Annotated

from pydantic import Field

from examples.company import money
from examples.company.books import AlreadyDone, CompanyBooks, ToolRefused
from examples.company.lookup import RowQuery, add, change, existing, in_status, one, rows_of
from examples.company.money import Amount
from examples.company.paging import FromOffset, Paged, by_offset, by_page
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


class ByPeriod(Arguments):
    ledger_period_id: PeriodId


class OfPeriod(FromOffset):
    ledger_period_id: PeriodId


class PagesOfPeriod(Paged):
    ledger_period_id: PeriodId


class Recognise(ByPeriod):
    amount: Amount


def get_ledger_period(books: CompanyBooks, asked: ByPeriod) -> Json:
    return one(books, "ledger_periods", asked.ledger_period_id)


def list_period_contracts(books: CompanyBooks, asked: PagesOfPeriod) -> Json:
    return by_page(books, "contracts", RowQuery(_CONTRACTS, (asked.ledger_period_id,)), asked)


def list_period_bookings(books: CompanyBooks, asked: OfPeriod) -> Json:
    return by_offset(books, "bookings", rows_of("ledger_bookings", ledger_period_id=asked.ledger_period_id), asked)


def list_period_accounts(books: CompanyBooks, asked: OfPeriod) -> Json:
    return by_offset(books, "accounts", RowQuery(_ACCOUNTS, (asked.ledger_period_id,)), asked)


def record_revenue_booking(books: CompanyBooks, asked: Recognise) -> Json:
    in_status(books, "ledger_periods", asked.ledger_period_id, "open")
    if _count_recognitions(books, asked.ledger_period_id):
        raise AlreadyDone(f"The revenue of period {asked.ledger_period_id} is already booked.")
    earned = _earned_cents(books, asked.ledger_period_id)
    if money.cents(asked.amount) != earned:
        raise ToolRefused(
            f"The contracts of {asked.ledger_period_id} have earned {money.text(earned)}, not {asked.amount}."
        )
    return add(
        books,
        "ledger_bookings",
        ledger_period_id=asked.ledger_period_id,
        debit_id=_account(books, _DEFERRED),
        credit_id=_account(books, _REVENUE),
        purpose=_EARNED,
        amount_cents=earned,
        created_at=books.now(),
    )


def close_ledger_period(books: CompanyBooks, asked: ByPeriod) -> Json:
    in_status(books, "ledger_periods", asked.ledger_period_id, "open")
    if not _count_recognitions(books, asked.ledger_period_id):
        raise ToolRefused(f"The revenue of period {asked.ledger_period_id} is not booked yet.")
    return change(books, "ledger_periods", asked.ledger_period_id, status="closed", closed_at=books.now())


def _count_recognitions(books: CompanyBooks, ledger_period_id: str) -> int:
    sql = "SELECT COUNT(*) FROM ledger_bookings WHERE ledger_period_id = ? AND purpose = ?"
    return books.number(sql, ledger_period_id, _EARNED)


def _earned_cents(books: CompanyBooks, ledger_period_id: str) -> int:
    """Straight-line, in cents, each contract rounded half up by itself."""
    existing(books, "ledger_periods", ledger_period_id)
    share = "(2 * value_cents * elapsed + months) / (2 * months)"
    return books.number(f"SELECT SUM({share}) FROM ({_CONTRACTS})", ledger_period_id)  # noqa: S608 - our own query


def _account(books: CompanyBooks, name: str) -> str:
    found = books.record("SELECT id FROM ledger_accounts WHERE name = ?", name)
    if found is None:
        raise ToolRefused(f"There is no account {name}.")
    return str(found["id"])


TOOLS = (
    CompanyTool(
        "get_ledger_period",
        "One period of the ledger by id, with the balances to compare.",
        ByPeriod,
        READ,
        get_ledger_period,
    ),
    CompanyTool(
        "list_period_contracts",
        "Customers' contracts that run in a period, page by page: value, months, and months elapsed by its end.",
        PagesOfPeriod,
        READ,
        list_period_contracts,
    ),
    CompanyTool("list_period_bookings", "Bookings of a period, page by page.", OfPeriod, READ, list_period_bookings),
    CompanyTool(
        "list_period_accounts",
        "The ledger's accounts with what moved on them in a period, page by page.",
        OfPeriod,
        READ,
        list_period_accounts,
    ),
    CompanyTool(
        "record_revenue_booking",
        "Book what customers' contracts have earned by the end of an open period; once only.",
        Recognise,
        ADD,
        record_revenue_booking,
    ),
    CompanyTool(
        "close_ledger_period",
        "Close an open period whose revenue is booked; once only.",
        ByPeriod,
        DECIDE,
        close_ledger_period,
    ),
)

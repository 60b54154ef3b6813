"""Tools over what customers owe: reminders go one way, and no more is received than is owed."""

from typing import Annotated, Literal

from pydantic import Field

from examples.company import money
from examples.company.books import AlreadyDone, CompanyBooks, ToolRefused
from examples.company.lookup import RowQuery, cents_of, check_status, find, rows_of, update
from examples.company.money import Amount
from examples.company.paging import PageArguments, numbered_page
from examples.company.toolbox import ADD, DECIDE, READ, Arguments, CompanyTool
from shared.domain.exact_json import Json

ReceivableId = Annotated[str, Field(description="Receivable id, such as REC-1301", min_length=1)]
Dunning = Literal["reminded", "last_demand", "collections"]
STEPS = ("unreminded", "reminded", "last_demand", "collections")


class ReceivableById(Arguments):
    receivable_id: ReceivableId


class ReceivableFilter(PageArguments):
    customer_id: Annotated[str | None, Field(description="Only what this customer owes")] = None
    status: Annotated[Literal["open", "settled", "abandoned"] | None, Field(description="Only this status")] = None


class OverdueFilter(PageArguments):
    due_before: Annotated[str, Field(description="A day such as 2026-03-31", pattern=r"^\d{4}-\d\d-\d\d$")]


class NewReceipt(ReceivableById):
    amount: Amount


class EscalateReceivable(ReceivableById):
    dunning: Annotated[Dunning, Field(description="The step to take")]


class WriteOffDebt(ReceivableById):
    reason: Annotated[str, Field(description="Why nothing more is expected", min_length=1)]


def get_receivable(books: CompanyBooks, asked: ReceivableById) -> Json:
    return find(books, "receivables", asked.receivable_id)


def list_receivables(books: CompanyBooks, asked: ReceivableFilter) -> Json:
    query = rows_of("receivables", customer_id=asked.customer_id, status=asked.status)
    return numbered_page(books, "receivables", query, asked)


def list_overdue_receivables(books: CompanyBooks, asked: OverdueFilter) -> Json:
    days = "CAST(JULIANDAY(?) - JULIANDAY(due_on) AS INTEGER) AS days_overdue"
    sql = f"SELECT *, {days} FROM receivables WHERE status = 'open' AND due_on < ?"  # noqa: S608 - our own words
    query = RowQuery(sql, (asked.due_before, asked.due_before))
    return numbered_page(books, "receivables", query, asked)


def record_receipt(books: CompanyBooks, asked: NewReceipt) -> Json:
    check_status(books, "receivables", asked.receivable_id, "open")
    owed = cents_of(books, "receivables", asked.receivable_id, "amount_cents - received_cents")
    amount = money.to_cents(asked.amount)
    if amount > owed:
        raise ToolRefused(f"{asked.receivable_id} has {money.spell(owed)} left to receive, not {money.spell(amount)}.")
    received = cents_of(books, "receivables", asked.receivable_id, "received_cents") + amount
    status = "settled" if amount == owed else "open"
    return update(books, "receivables", asked.receivable_id, received_cents=received, status=status)


def escalate_receivable(books: CompanyBooks, asked: EscalateReceivable) -> Json:
    owed = check_status(books, "receivables", asked.receivable_id, "open")
    if STEPS.index(asked.dunning) <= STEPS.index(str(owed["dunning"])):
        raise AlreadyDone(f"Receivable {asked.receivable_id} is already at {owed['dunning']}.")
    return update(books, "receivables", asked.receivable_id, dunning=asked.dunning)


def write_off_receivable(books: CompanyBooks, asked: WriteOffDebt) -> Json:
    check_status(books, "receivables", asked.receivable_id, "open")
    return update(books, "receivables", asked.receivable_id, status="abandoned", reason=asked.reason)


TOOLS = (
    CompanyTool("get_receivable", "One receivable by id: what a customer owes.", ReceivableById, READ, get_receivable),
    CompanyTool(
        "list_receivables",
        "Receivables, page by page, by customer or by status if given.",
        ReceivableFilter,
        READ,
        list_receivables,
    ),
    CompanyTool(
        "list_overdue_receivables",
        "Open receivables that were due before a day and how many days they are overdue then, page by page.",
        OverdueFilter,
        READ,
        list_overdue_receivables,
    ),
    CompanyTool(
        "record_receipt",
        "Book money received for a receivable, never more than is owed.",
        NewReceipt,
        ADD,
        record_receipt,
    ),
    CompanyTool(
        "escalate_receivable",
        "Take the next step against a customer who does not pay; each step once.",
        EscalateReceivable,
        DECIDE,
        escalate_receivable,
    ),
    CompanyTool(
        "write_off_receivable", "Give an open receivable up; once only.", WriteOffDebt, DECIDE, write_off_receivable
    ),
)

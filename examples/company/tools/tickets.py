"""Tools over customers' tickets."""

from typing import Annotated, Literal

from pydantic import Field

from examples.company.books import CompanyBooks
from examples.company.lookup import add, check_status, find, require_row, rows_of, update
from examples.company.paging import CursorArguments, cursor_page
from examples.company.toolbox import ADD, DECIDE, READ, Arguments, CompanyTool
from examples.company.tools.customers import CustomerId
from examples.company.tools.people import EmployeeId, require_active
from shared.domain.exact_json import Json

TicketId = Annotated[str, Field(description="Ticket id, such as TIC-2101", min_length=1)]
Priority = Literal["low", "normal", "high", "urgent"]


class TicketById(Arguments):
    ticket_id: TicketId


class TicketFilter(CursorArguments):
    status: Annotated[Literal["open", "closed"] | None, Field(description="Only this status")] = None
    customer_id: Annotated[str | None, Field(description="Only tickets of this customer")] = None


class NewTicket(Arguments):
    customer_id: CustomerId
    subject: Annotated[str, Field(description="What it is about", min_length=1)]
    priority: Annotated[Priority, Field(description="How pressing it is")]


class AssignTicket(TicketById):
    employee_id: EmployeeId


class TicketEnd(TicketById):
    resolution: Annotated[str, Field(description="What was done", min_length=1)]


def get_ticket(books: CompanyBooks, asked: TicketById) -> Json:
    return find(books, "tickets", asked.ticket_id)


def list_tickets(books: CompanyBooks, asked: TicketFilter) -> Json:
    return cursor_page(books, "tickets", rows_of("tickets", status=asked.status, customer_id=asked.customer_id), asked)


def create_ticket(books: CompanyBooks, asked: NewTicket) -> Json:
    require_row(books, "customers", asked.customer_id)
    fields = {"customer_id": asked.customer_id, "subject": asked.subject, "priority": asked.priority}
    return add(books, "tickets", **fields, created_at=books.now())


def assign_ticket(books: CompanyBooks, asked: AssignTicket) -> Json:
    check_status(books, "tickets", asked.ticket_id, "open")
    require_active(books, asked.employee_id)
    return update(books, "tickets", asked.ticket_id, employee_id=asked.employee_id)


def close_ticket(books: CompanyBooks, asked: TicketEnd) -> Json:
    check_status(books, "tickets", asked.ticket_id, "open")
    closed = {"status": "closed", "resolution": asked.resolution, "decided_at": books.now()}
    return update(books, "tickets", asked.ticket_id, **closed)


TOOLS = (
    CompanyTool("get_ticket", "One customer's ticket by id.", TicketById, READ, get_ticket),
    CompanyTool(
        "list_tickets", "Tickets, page by page, by status or by customer if given.", TicketFilter, READ, list_tickets
    ),
    CompanyTool("create_ticket", "Open a ticket for a customer.", NewTicket, ADD, create_ticket, keyed=True),
    CompanyTool("assign_ticket", "Give an open ticket to an employee.", AssignTicket, DECIDE, assign_ticket),
    CompanyTool("close_ticket", "Close an open ticket with what was done; once only.", TicketEnd, DECIDE, close_ticket),
)

"""Messages to people outside and inside, kept in the outbox."""

from typing import Annotated

from pydantic import Field

from examples.company.books import CompanyBooks, ToolRefused
from examples.company.lookup import add, require_row, rows_of
from examples.company.paging import CursorArguments, cursor_page
from examples.company.toolbox import ADD, READ, Arguments, CompanyTool
from shared.domain.exact_json import Json

Text = Annotated[str, Field(description="The text of the message", min_length=1, max_length=4000)]
Subject = Annotated[str | None, Field(description="The subject line")]


class VendorMessage(Arguments):
    vendor_id: Annotated[str, Field(description="Vendor id, such as VEN-601", min_length=1)]
    message: Text
    subject: Subject = None


class CustomerMessage(Arguments):
    customer_id: Annotated[str, Field(description="Customer id, such as CUS-801", min_length=1)]
    message: Text
    subject: Subject = None


class SentFilter(CursorArguments):
    recipient: Annotated[str | None, Field(description="Only messages to this employee, vendor or customer id")] = None


def notify_vendor(books: CompanyBooks, asked: VendorMessage) -> Json:
    require_row(books, "vendors", asked.vendor_id)
    return add_to_outbox(books, asked.vendor_id, asked.subject, asked.message)


def notify_customer(books: CompanyBooks, asked: CustomerMessage) -> Json:
    if require_row(books, "customers", asked.customer_id)["status"] != "active":
        raise ToolRefused(f"Customer {asked.customer_id} is no longer served.")
    return add_to_outbox(books, asked.customer_id, asked.subject, asked.message)


def add_to_outbox(books: CompanyBooks, recipient: str, subject: str | None, message: str) -> Json:
    """Put a message into the outbox; its row."""
    fields = {"recipient": recipient, "subject": subject or "Notice", "message": message}
    return add(books, "outbox", **fields, created_at=books.now())


def list_outbox(books: CompanyBooks, asked: SentFilter) -> Json:
    return cursor_page(books, "messages", rows_of("outbox", recipient=asked.recipient), asked)


TOOLS = (
    CompanyTool("notify_vendor", "Send a message to a vendor.", VendorMessage, ADD, notify_vendor, keyed=True),
    CompanyTool("notify_customer", "Send a message to a customer.", CustomerMessage, ADD, notify_customer, keyed=True),
    CompanyTool("list_outbox", "Messages sent to anybody, oldest first, page by page.", SentFilter, READ, list_outbox),
)

"""Tools over customers' disputes: each is decided once, one way or the other."""

from typing import Annotated, Literal

from pydantic import Field

from examples.company.books import Books
from examples.company.lookup import all_of, change, in_status, one, rows_of
from examples.company.toolbox import DECIDE, READ, Arguments, CompanyTool
from shared.domain.exact_json import Json

DisputeId = Annotated[str, Field(description="Dispute id, such as DSP-2501", min_length=1)]


class ById(Arguments):
    dispute_id: DisputeId


class Filter(Arguments):
    status: Annotated[Literal["open", "resolved", "rejected"] | None, Field(description="Only this status")] = None
    customer_id: Annotated[str | None, Field(description="Only disputes of this customer")] = None


class Resolve(ById):
    resolution: Annotated[str, Field(description="What the customer gets", min_length=1)]


class Reject(ById):
    reason: Annotated[str, Field(description="Why the customer gets nothing", min_length=1)]


def get_dispute(books: Books, asked: ById) -> Json:
    return one(books, "disputes", asked.dispute_id)


def list_disputes(books: Books, asked: Filter) -> Json:
    return [*all_of(books, rows_of("disputes", status=asked.status, customer_id=asked.customer_id))]


def resolve_dispute(books: Books, asked: Resolve) -> Json:
    in_status(books, "disputes", asked.dispute_id, "open")
    decided = {"status": "resolved", "resolution": asked.resolution, "decided_at": books.now()}
    return change(books, "disputes", asked.dispute_id, **decided)


def reject_dispute(books: Books, asked: Reject) -> Json:
    in_status(books, "disputes", asked.dispute_id, "open")
    decided = {"status": "rejected", "reason": asked.reason, "decided_at": books.now()}
    return change(books, "disputes", asked.dispute_id, **decided)


TOOLS = (
    CompanyTool("get_dispute", "One dispute by id, with what it is about.", ById, READ, get_dispute),
    CompanyTool("list_disputes", "Disputes, by status or by customer if given.", Filter, READ, list_disputes),
    CompanyTool(
        "resolve_dispute", "Resolve an open dispute for the customer; once only.", Resolve, DECIDE, resolve_dispute
    ),
    CompanyTool("reject_dispute", "Reject an open dispute with a reason; once only.", Reject, DECIDE, reject_dispute),
)

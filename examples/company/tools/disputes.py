"""Tools over customers' disputes: each is decided once, one way or the other."""

from typing import Annotated, Literal

from pydantic import Field

from examples.company.books import CompanyBooks
from examples.company.lookup import check_status, fetch, find, rows_of, update
from examples.company.toolbox import DECIDE, READ, Arguments, CompanyTool
from shared.domain.exact_json import Json

DisputeId = Annotated[str, Field(description="Dispute id, such as DSP-2501", min_length=1)]


class DisputeById(Arguments):
    dispute_id: DisputeId


class DisputeFilter(Arguments):
    status: Annotated[Literal["open", "resolved", "rejected"] | None, Field(description="Only this status")] = None
    customer_id: Annotated[str | None, Field(description="Only disputes of this customer")] = None


class ResolveDispute(DisputeById):
    resolution: Annotated[str, Field(description="What the customer gets", min_length=1)]


class RejectDispute(DisputeById):
    reason: Annotated[str, Field(description="Why the customer gets nothing", min_length=1)]


def get_dispute(books: CompanyBooks, asked: DisputeById) -> Json:
    return find(books, "disputes", asked.dispute_id)


def list_disputes(books: CompanyBooks, asked: DisputeFilter) -> Json:
    return [*fetch(books, rows_of("disputes", status=asked.status, customer_id=asked.customer_id))]


def resolve_dispute(books: CompanyBooks, asked: ResolveDispute) -> Json:
    check_status(books, "disputes", asked.dispute_id, "open")
    decided = {"status": "resolved", "resolution": asked.resolution, "decided_at": books.now()}
    return update(books, "disputes", asked.dispute_id, **decided)


def reject_dispute(books: CompanyBooks, asked: RejectDispute) -> Json:
    check_status(books, "disputes", asked.dispute_id, "open")
    decided = {"status": "rejected", "reason": asked.reason, "decided_at": books.now()}
    return update(books, "disputes", asked.dispute_id, **decided)


TOOLS = (
    CompanyTool("get_dispute", "One dispute by id, with what it is about.", DisputeById, READ, get_dispute),
    CompanyTool("list_disputes", "Disputes, by status or by customer if given.", DisputeFilter, READ, list_disputes),
    CompanyTool(
        "resolve_dispute",
        "Resolve an open dispute for the customer; once only.",
        ResolveDispute,
        DECIDE,
        resolve_dispute,
    ),
    CompanyTool(
        "reject_dispute", "Reject an open dispute with a reason; once only.", RejectDispute, DECIDE, reject_dispute
    ),
)

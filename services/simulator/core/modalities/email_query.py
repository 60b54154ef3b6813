"""Finding mail: the rarest of what is asked for is looked up, the rest of it is tested."""

from collections.abc import Collection, Iterator
from typing import Literal

from services.simulator.core.modalities.email_records import EmailRecord, Priority
from services.simulator.core.modalities.fields import AwareTime, Name
from services.simulator.core.modalities.filters import Rank, RowTests, find_keys, page_of, sort_keys
from services.simulator.core.modalities.mailbox import Mailbox, group_name
from services.simulator.core.modalities.pages import FoundPage, Order, PageQuery

_PRIORITIES = {"low": 0, "normal": 1, "high": 2}


class EmailQuery(PageQuery):
    """A query over mail. Addresses and words match parts of a text, whatever the case; ``labels`` must all be there."""

    folder: Name | None = None
    is_read: bool | None = None
    is_starred: bool | None = None
    from_address: str | None = None
    to_address: str | None = None
    subject_contains: str | None = None
    body_contains: str | None = None
    has_attachments: bool | None = None
    labels: tuple[Name, ...] | None = None
    thread_id: Name | None = None
    priority: Priority | None = None
    sent_after: AwareTime | None = None
    sent_before: AwareTime | None = None
    received_after: AwareTime | None = None
    received_before: AwareTime | None = None
    sort_by: Literal["received_at", "sent_at", "date", "subject", "from_address", "from", "priority"] = "received_at"
    sort_order: Order = "desc"


def find_mails(box: Mailbox, query: EmailQuery) -> FoundPage:
    """The mails that are asked for, sorted, one page of them."""
    rank = rank_by(query.sort_by)
    if rank is None and query.filters <= {"folder", "is_read"} and not query.is_read:
        return _keys_in_group(box, query)
    keys = find_keys(box.emails, keys_by_index(box, query), tests_of(query))
    return page_of(query, sort_keys(box.emails, keys, box.by_arrival, rank), query.sort_order)


def _keys_in_group(box: Mailbox, query: EmailQuery) -> FoundPage:
    """The page of keys for a query that an index answers in order; no row outside the page is looked at."""
    limit, descending = query.limit or len(box.emails), query.sort_order == "desc"
    if not query.filters:
        return FoundPage(box.by_arrival.page(query.offset, limit, descending=descending), len(box.emails))
    name = group_name(query.folder, unread=query.is_read is False)
    return FoundPage(box.groups.page(name, query.offset, limit, descending=descending), box.groups.size(name))


def keys_by_index(box: Mailbox, query: EmailQuery) -> Iterator[Collection[str]]:
    """For each filter that has an index, the keys of the mails that pass it."""
    if query.folder is not None:
        yield box.in_folder[query.folder]
    if query.thread_id is not None:
        yield box.in_thread[query.thread_id]
    for label in query.labels or ():
        yield box.labelled[label]
    marks = (("unread", query.is_read is False), ("starred", query.is_starred), ("attachments", query.has_attachments))
    for mark, value in marks:
        if value:
            yield box.marked[mark]
    if query.received_after is not None or query.received_before is not None:
        yield box.by_arrival.find_between(query.received_after, query.received_before)


def tests_of(query: EmailQuery) -> RowTests[EmailRecord]:
    """The tests that a row has to pass to match the query."""
    tests = RowTests[EmailRecord]()
    tests.require_equal(query, "folder", "is_read", "is_starred", "thread_id", "priority")
    tests.require_text(query.from_address, lambda mail: mail.from_address)
    tests.require_text(query.to_address, lambda mail: "\n".join(mail.recipients))
    tests.require_text(query.subject_contains, lambda mail: mail.subject)
    tests.require_text(query.body_contains, lambda mail: mail.body_text)
    tests.require_between(lambda mail: mail.sent_at, query.sent_after, query.sent_before)
    tests.require_between(lambda mail: mail.received_at, query.received_after, query.received_before)
    tests.require(query.has_attachments, lambda mail: bool(mail.attachments))
    if wanted_labels := set(query.labels or ()):
        tests.require(True, lambda mail: wanted_labels.issubset(mail.labels))
    return tests


def rank_by(sort_by: str) -> Rank[EmailRecord] | None:
    """The function to sort by; None for the time of arrival."""
    if sort_by in ("received_at", "date"):
        return None
    if sort_by == "sent_at":
        return lambda mail: mail.sent_at
    if sort_by == "priority":
        return lambda mail: _PRIORITIES[mail.priority]
    return lambda mail: (mail.subject if sort_by == "subject" else mail.from_address).casefold()

"""Finding mail: the rarest of what is asked for is looked up, the rest of it is tested."""

from collections.abc import Collection, Iterator
from typing import Literal

from services.simulator.core.modalities.email_records import EmailRecord, Priority
from services.simulator.core.modalities.fields import Given, Name
from services.simulator.core.modalities.filters import Rank, RowTests, find_keys, page_of, sort_keys
from services.simulator.core.modalities.mailbox import Mailbox, group_name
from services.simulator.core.modalities.pages import FoundPage, Order, PageQuery

_PRIORITIES = {"low": 0, "normal": 1, "high": 2}


class EmailQuery(PageQuery):
    """Addresses and words match as parts of a text, whatever their case; ``labels`` must all be there."""

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
    sent_after: Given | None = None
    sent_before: Given | None = None
    received_after: Given | None = None
    received_before: Given | None = None
    sort_by: Literal["received_at", "sent_at", "date", "subject", "from_address", "from", "priority"] = "received_at"
    sort_order: Order = "desc"


def find_mails(box: Mailbox, asked: EmailQuery) -> FoundPage:
    """The mails that are asked for, sorted, one page of them."""
    rank = rank_by(asked.sort_by)
    if rank is None and asked.filters <= {"folder", "is_read"} and not asked.is_read:
        return _keys_in_group(box, asked)
    found = find_keys(box.emails, keys_by_index(box, asked), tests_of(asked))
    return page_of(asked, sort_keys(box.emails, found, box.by_arrival, rank), asked.sort_order)


def _keys_in_group(box: Mailbox, asked: EmailQuery) -> FoundPage:
    """What stands in order already: only the page is looked at."""
    limit, descending = asked.limit or len(box.emails), asked.sort_order == "desc"
    if not asked.filters:
        return FoundPage(box.by_arrival.page(asked.offset, limit, descending=descending), len(box.emails))
    name = group_name(asked.folder, unread=asked.is_read is False)
    return FoundPage(box.groups.page(name, asked.offset, limit, descending=descending), box.groups.size(name))


def keys_by_index(box: Mailbox, asked: EmailQuery) -> Iterator[Collection[str]]:
    """What the indexes say for each filter that they know."""
    if asked.folder is not None:
        yield box.in_folder[asked.folder]
    if asked.thread_id is not None:
        yield box.in_thread[asked.thread_id]
    for label in asked.labels or ():
        yield box.labelled[label]
    marks = (("unread", asked.is_read is False), ("starred", asked.is_starred), ("attachments", asked.has_attachments))
    for mark, wanted in marks:
        if wanted:
            yield box.marked[mark]
    if asked.received_after is not None or asked.received_before is not None:
        yield box.by_arrival.find_between(asked.received_after, asked.received_before)


def tests_of(asked: EmailQuery) -> RowTests[EmailRecord]:
    """One for each filter."""
    tests = RowTests[EmailRecord]()
    tests.require_equal(asked, "folder", "is_read", "is_starred", "thread_id", "priority")
    tests.require_text(asked.from_address, lambda mail: mail.from_address)
    tests.require_text(asked.to_address, lambda mail: "\n".join(mail.recipients))
    tests.require_text(asked.subject_contains, lambda mail: mail.subject)
    tests.require_text(asked.body_contains, lambda mail: mail.body_text)
    tests.require_between(lambda mail: mail.sent_at, asked.sent_after, asked.sent_before)
    tests.require_between(lambda mail: mail.received_at, asked.received_after, asked.received_before)
    tests.require(asked.has_attachments, lambda mail: bool(mail.attachments))
    if wanted := set(asked.labels or ()):
        tests.require(True, lambda mail: wanted.issubset(mail.labels))
    return tests


def rank_by(sort_by: str) -> Rank[EmailRecord] | None:
    """What to sort by where it is not the time of arrival."""
    if sort_by in ("received_at", "date"):
        return None
    if sort_by == "sent_at":
        return lambda mail: mail.sent_at
    if sort_by == "priority":
        return lambda mail: _PRIORITIES[mail.priority]
    return lambda mail: (mail.subject if sort_by == "subject" else mail.from_address).casefold()

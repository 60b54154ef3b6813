"""Finding mail: the rarest of what is asked for is looked up, the rest of it is tested."""

from collections.abc import Callable, Collection, Iterator
from datetime import datetime
from typing import Literal

from services.simulator.core.modalities.email_records import Email, Priority
from services.simulator.core.modalities.fields import Given, Name
from services.simulator.core.modalities.mailbox import Mailbox
from services.simulator.core.modalities.pages import Asked, Found, Order, Test

_Rank = Callable[[str], tuple[object, ...]]
_PRIORITIES = {"low": 0, "normal": 1, "high": 2}


class EmailQuery(Asked):
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


def find(box: Mailbox, asked: EmailQuery) -> Found:
    """The mails that are asked for, sorted, one page of them."""
    by_arrival = asked.sort_by in ("received_at", "date")
    if by_arrival and not asked.filters:
        limit = len(box.emails) if asked.limit is None else asked.limit
        keys = box.by_arrival.stretch(asked.offset, limit, descending=asked.sort_order == "desc")
        return Found(keys, len(box.emails))
    tests = list(tests_of(asked))
    keys = [key for key in rarest(box, asked) if all(test(box.emails[key]) for test in tests)]
    keys.sort(key=box.by_arrival.place)
    if not by_arrival:
        keys.sort(key=rank(box, asked.sort_by))
    if asked.sort_order == "desc":
        keys.reverse()
    return Found(asked.page(keys), len(keys))


def rarest(box: Mailbox, asked: EmailQuery) -> Collection[str]:
    """The smallest set of mails that an index has for one of the filters."""
    sets = list(_indexed(box, asked))
    return min(sets, key=len) if sets else box.emails.keys()


def _indexed(box: Mailbox, asked: EmailQuery) -> Iterator[Collection[str]]:
    if asked.folder is not None:
        yield box.in_folder[asked.folder]
    if asked.thread_id is not None:
        yield box.in_thread[asked.thread_id]
    for label in asked.labels or ():
        yield box.labelled[label]
    for wanted, mark in ((asked.is_read is False, "unread"), (asked.is_starred, "starred")):
        if wanted:
            yield box.marked[mark]
    if asked.has_attachments:
        yield box.marked["attachments"]
    if asked.received_after is not None or asked.received_before is not None:
        yield box.by_arrival.between(asked.received_after, asked.received_before)


def tests_of(asked: EmailQuery) -> Iterator[Test[Email]]:
    """One test for each filter."""
    yield from _equal(asked)
    yield from _containing(asked)
    if asked.has_attachments is not None:
        yield lambda mail: bool(mail.attachments) == asked.has_attachments
    if asked.labels:
        wanted = set(asked.labels)
        yield lambda mail: wanted.issubset(mail.labels)
    yield from _within(lambda mail: mail.sent_at, asked.sent_after, asked.sent_before)
    yield from _within(lambda mail: mail.received_at, asked.received_after, asked.received_before)


def _equal(asked: EmailQuery) -> Iterator[Test[Email]]:
    for name in ("folder", "is_read", "is_starred", "thread_id", "priority"):
        if (value := getattr(asked, name)) is not None:
            yield is_same(name, value)


def _containing(asked: EmailQuery) -> Iterator[Test[Email]]:
    parts: tuple[tuple[str | None, Callable[[Email], str]], ...] = (
        (asked.from_address, lambda mail: mail.from_address),
        (asked.to_address, lambda mail: "\n".join(mail.recipients)),
        (asked.subject_contains, lambda mail: mail.subject),
        (asked.body_contains, lambda mail: mail.body_text),
    )
    for part, text_of in parts:
        if part:
            yield contains(part, text_of)


def is_same(name: str, value: object) -> Test[Email]:
    return lambda mail: getattr(mail, name) == value


def contains(part: str, text_of: Callable[[Email], str]) -> Test[Email]:
    wanted = part.casefold()
    return lambda mail: wanted in text_of(mail).casefold()


def _within(
    time_of: Callable[[Email], datetime], after: datetime | None, before: datetime | None
) -> Iterator[Test[Email]]:
    if after is not None:
        yield lambda mail: time_of(mail) >= after
    if before is not None:
        yield lambda mail: time_of(mail) <= before


def rank(box: Mailbox, sort_by: str) -> _Rank:
    """What to sort by where it is not the time of arrival."""
    if sort_by == "priority":
        return lambda key: (_PRIORITIES[box.emails[key].priority],)
    name = {"from": "from_address"}.get(sort_by, sort_by)
    if name == "sent_at":
        return lambda key: (box.emails[key].sent_at,)
    return lambda key: (str(getattr(box.emails[key], name)).casefold(),)

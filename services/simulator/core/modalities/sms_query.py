"""Finding text messages."""

from collections.abc import Collection, Iterator
from typing import Literal

from services.simulator.core.modalities.fields import AwareTime, Name
from services.simulator.core.modalities.filters import Rank, RowTests, find_keys, page_of, sort_keys
from services.simulator.core.modalities.pages import FoundPage, Order, PageQuery
from services.simulator.core.modalities.sms_records import DeliveryStatus, Direction, MessageType, SmsMessageRecord
from services.simulator.core.modalities.telephone import Telephone


class SmsQuery(PageQuery):
    """A query over text messages. Numbers match as a whole, words of the body whatever their case."""

    thread_id: Name | None = None
    from_number: Name | None = None
    to_number: Name | None = None
    body_contains: str | None = None
    message_type: MessageType | None = None
    direction: Direction | None = None
    is_read: bool | None = None
    has_attachments: bool | None = None
    delivery_status: DeliveryStatus | None = None
    is_deleted: bool | None = None
    is_spam: bool | None = None
    sent_after: AwareTime | None = None
    sent_before: AwareTime | None = None
    sort_by: Literal["sent_at", "timestamp", "date", "from_number", "delivery_status"] = "sent_at"
    sort_order: Order = "desc"


def find_messages(phone: Telephone, query: SmsQuery) -> FoundPage:
    keys = find_keys(phone.messages, keys_by_index(phone, query), tests_of(query))
    return page_of(query, sort_keys(phone.messages, keys, phone.by_sending, rank_by(query.sort_by)), query.sort_order)


def keys_by_index(phone: Telephone, query: SmsQuery) -> Iterator[Collection[str]]:
    if query.thread_id is not None:
        yield phone.in_thread[query.thread_id]
    if query.from_number is not None:
        yield phone.sent_from[query.from_number]
    if query.is_read is False:
        yield phone.not_read[""]
    if query.sent_after is not None or query.sent_before is not None:
        yield phone.by_sending.find_between(query.sent_after, query.sent_before)


def tests_of(query: SmsQuery) -> RowTests[SmsMessageRecord]:
    """The tests that a row has to pass to match the query."""
    tests = RowTests[SmsMessageRecord]()
    tests.require_equal(query, "thread_id", "from_number", "message_type", "direction", "is_read")
    tests.require_equal(query, "delivery_status", "is_deleted", "is_spam")
    tests.require_text(query.body_contains, lambda message: message.body)
    tests.require_between(lambda message: message.sent_at, query.sent_after, query.sent_before)
    if query.to_number is not None:
        tests.require(True, lambda message: query.to_number in message.to_numbers)
    tests.require(query.has_attachments, lambda message: bool(message.attachments))
    return tests


def rank_by(sort_by: str) -> Rank[SmsMessageRecord] | None:
    """The function to sort by; None for the time of sending."""
    if sort_by == "from_number":
        return lambda message: message.from_number
    if sort_by == "delivery_status":
        return lambda message: message.delivery_status
    return None

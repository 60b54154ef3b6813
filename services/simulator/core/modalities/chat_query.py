"""Finding chat messages."""

from collections.abc import Collection, Iterator
from typing import Literal

from services.simulator.core.modalities.chat_records import ChatMessageRecord, ChatTextBlock, Content, Role
from services.simulator.core.modalities.chat_tables import ChatTables
from services.simulator.core.modalities.fields import AwareTime, Name
from services.simulator.core.modalities.filters import RowTests, find_keys, page_of, sort_keys
from services.simulator.core.modalities.pages import FoundPage, Order, PageQuery


class ChatQuery(PageQuery):
    """A query over chat messages. ``since`` and ``until`` are included; ``search`` finds part of a text, whatever its
    case.
    """

    conversation_id: Name | None = None
    role: Role | None = None
    since: AwareTime | None = None
    until: AwareTime | None = None
    search: str | None = None
    sort_by: Literal["timestamp", "role", "conversation_id"] = "timestamp"
    sort_order: Order = "asc"


def find_messages(tables: ChatTables, query: ChatQuery) -> FoundPage:
    keys = find_keys(tables.messages, keys_by_index(tables, query), tests_of(query))
    rank = None if query.sort_by == "timestamp" else lambda message: str(getattr(message, query.sort_by))
    return page_of(query, sort_keys(tables.messages, keys, tables.by_time, rank), query.sort_order)


def keys_by_index(tables: ChatTables, query: ChatQuery) -> Iterator[Collection[str]]:
    yield tables.by_time.find_between(query.since, query.until)
    if query.conversation_id is not None:
        yield tables.in_conversation[query.conversation_id]


def tests_of(query: ChatQuery) -> RowTests[ChatMessageRecord]:
    """The tests that a row has to pass to match the query."""
    tests = RowTests[ChatMessageRecord]()
    tests.require_equal(query, "conversation_id", "role")
    tests.require_between(lambda message: message.timestamp, query.since, query.until)
    tests.require_text(query.search, lambda message: readable_text(message.content))
    return tests


def readable_text(content: Content) -> str:
    """The text parts of a message's content, joined."""
    if isinstance(content, str):
        return content
    return "\n".join(block.text for block in content if isinstance(block, ChatTextBlock))

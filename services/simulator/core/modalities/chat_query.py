"""Finding chat messages."""

from collections.abc import Collection, Iterator
from typing import Literal

from services.simulator.core.modalities.chat_records import ChatMessageRecord, ChatTextBlock, Content, Role
from services.simulator.core.modalities.chat_tables import ChatTables
from services.simulator.core.modalities.fields import Given, Name
from services.simulator.core.modalities.filters import RowTests, find_keys, page_of, sort_keys
from services.simulator.core.modalities.pages import FoundPage, Order, PageQuery


class ChatQuery(PageQuery):
    """``since`` and ``until`` belong to the stretch; ``search`` is part of a text, whatever its case."""

    conversation_id: Name | None = None
    role: Role | None = None
    since: Given | None = None
    until: Given | None = None
    search: str | None = None
    sort_by: Literal["timestamp", "role", "conversation_id"] = "timestamp"
    sort_order: Order = "asc"


def find_messages(tables: ChatTables, asked: ChatQuery) -> FoundPage:
    keys = find_keys(tables.messages, keys_by_index(tables, asked), tests_of(asked))
    rank = None if asked.sort_by == "timestamp" else lambda message: str(getattr(message, asked.sort_by))
    return page_of(asked, sort_keys(tables.messages, keys, tables.by_time, rank), asked.sort_order)


def keys_by_index(tables: ChatTables, asked: ChatQuery) -> Iterator[Collection[str]]:
    yield tables.by_time.find_between(asked.since, asked.until)
    if asked.conversation_id is not None:
        yield tables.in_conversation[asked.conversation_id]


def tests_of(asked: ChatQuery) -> RowTests[ChatMessageRecord]:
    """One for each filter."""
    tests = RowTests[ChatMessageRecord]()
    tests.require_equal(asked, "conversation_id", "role")
    tests.require_between(lambda message: message.timestamp, asked.since, asked.until)
    tests.require_text(asked.search, lambda message: readable_text(message.content))
    return tests


def readable_text(content: Content) -> str:
    """What can be read in it."""
    if isinstance(content, str):
        return content
    return "\n".join(block.text for block in content if isinstance(block, ChatTextBlock))

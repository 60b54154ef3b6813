"""Finding chat messages."""

from collections.abc import Collection, Iterator
from typing import Literal

from services.simulator.core.modalities.chat_records import ChatMessage, Content, Role, TextBlock
from services.simulator.core.modalities.chat_room import ChatRoom
from services.simulator.core.modalities.fields import Given, Name
from services.simulator.core.modalities.filters import Tests, in_order, matching, paged
from services.simulator.core.modalities.pages import Asked, Found, Order


class ChatQuery(Asked):
    """``since`` and ``until`` belong to the stretch; ``search`` is part of a text, whatever its case."""

    conversation_id: Name | None = None
    role: Role | None = None
    since: Given | None = None
    until: Given | None = None
    search: str | None = None
    sort_by: Literal["timestamp", "role", "conversation_id"] = "timestamp"
    sort_order: Order = "asc"


def find(room: ChatRoom, asked: ChatQuery) -> Found:
    keys = matching(room.messages, indexed(room, asked), tests_of(asked))
    rank = None if asked.sort_by == "timestamp" else lambda message: str(getattr(message, asked.sort_by))
    return paged(asked, in_order(room.messages, keys, room.by_time, rank), asked.sort_order)


def indexed(room: ChatRoom, asked: ChatQuery) -> Iterator[Collection[str]]:
    yield room.by_time.between(asked.since, asked.until)
    if asked.conversation_id is not None:
        yield room.in_conversation[asked.conversation_id]


def tests_of(asked: ChatQuery) -> Tests[ChatMessage]:
    """One for each filter."""
    tests = Tests[ChatMessage]()
    tests.same(asked, "conversation_id", "role")
    tests.within(lambda message: message.timestamp, asked.since, asked.until)
    tests.containing(asked.search, lambda message: text_of(message.content))
    return tests


def text_of(content: Content) -> str:
    """What can be read in it."""
    if isinstance(content, str):
        return content
    return "\n".join(block.text for block in content if isinstance(block, TextBlock))

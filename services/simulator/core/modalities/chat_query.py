"""Finding chat messages."""

from collections.abc import Collection, Iterator
from typing import Literal

from services.simulator.core.modalities.chat_records import ChatMessage, Content, Role, TextBlock
from services.simulator.core.modalities.chat_room import ChatRoom
from services.simulator.core.modalities.fields import Given, Name
from services.simulator.core.modalities.pages import Asked, Found, Order, Test


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
    tests = list(tests_of(asked))
    keys = [key for key in candidates(room, asked) if all(test(room.messages[key]) for test in tests)]
    keys.sort(key=room.by_time.place)
    if asked.sort_by != "timestamp":
        keys.sort(key=lambda key: str(getattr(room.messages[key], asked.sort_by)))
    if asked.sort_order == "desc":
        keys.reverse()
    return Found(asked.page(keys), len(keys))


def candidates(room: ChatRoom, asked: ChatQuery) -> Collection[str]:
    sets: list[Collection[str]] = [room.by_time.between(asked.since, asked.until)]
    if asked.conversation_id is not None:
        sets.append(room.in_conversation[asked.conversation_id])
    return min(sets, key=len)


def tests_of(asked: ChatQuery) -> Iterator[Test[ChatMessage]]:
    if asked.conversation_id is not None:
        yield lambda message: message.conversation_id == asked.conversation_id
    if asked.role is not None:
        yield lambda message: message.role == asked.role
    if (since := asked.since) is not None:
        yield lambda message: message.timestamp >= since
    if (until := asked.until) is not None:
        yield lambda message: message.timestamp <= until
    if asked.search:
        wanted = asked.search.casefold()
        yield lambda message: wanted in text_of(message.content).casefold()


def text_of(content: Content) -> str:
    """What can be read in it."""
    if isinstance(content, str):
        return content
    return "\n".join(block.text for block in content if isinstance(block, TextBlock))

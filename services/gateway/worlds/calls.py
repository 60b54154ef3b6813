"""Carries out one call of a world's tool, on any simulator that speaks the interface (UES)."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from datetime import datetime
from enum import Enum
from typing import NamedTuple, Self

import httpx
from pydantic import Field, ValidationError
from typing_extensions import override

from services.gateway.features.participation.service import UserUnheard
from services.gateway.worlds.appointments import APPOINTMENTS
from services.gateway.worlds.mail import MAIL
from services.gateway.worlds.texts import TEXTS
from services.gateway.worlds.world import (
    USERS_CHAT,
    ConnectedWorld,
    Operation,
    WorldEdit,
    WorldRead,
    WorldRefused,
    created_ids,
    page,
)
from shared.contracts.base import first_fault
from shared.contracts.ues.modalities import ChatMessage
from shared.domain.exact_json import Json, JsonObject, as_object, dumps, loads, objects_in, wire
from shared.infra.guard import Guard
from shared.infra.guarded_http import GuardedTransport, RefusedConnection
from shared.infra.tls import trusted_certificates
from shared.infra.ues.client import AsyncUESClient
from shared.infra.ues.line import APIError, ProtocolError, ServerError, UESError


class ListChatMessages(WorldRead):
    """What user and assistant have said to each other in the chat, in order."""

    tool, permission = "list_chat_messages", "chat:query"

    since: datetime | None = None
    search: str | None = None
    limit: int = Field(200, ge=1, le=1000)
    offset: int = Field(0, ge=0)

    async def carry_out(self, world: ConnectedWorld) -> JsonObject:
        asked = self.model_dump(exclude_none=True)
        found = await world.ues.chat.query(conversation_id=USERS_CHAT, sort_by="timestamp", sort_order="asc", **asked)
        return page("messages", [_describe_message(one) for one in found.messages], found.total_count)


class FindChatAnswers(WorldRead):
    """What the assistant has told the user in the chat in these words."""

    tool, permission = "find_chat_answers", "chat:query"

    content: str

    async def carry_out(self, world: ConnectedWorld) -> JsonObject:
        found = await world.ues.chat.query(conversation_id=USERS_CHAT, role="assistant", limit=1000)
        rows = [_describe_message(one) for one in found.messages if one.text.strip() == self.content.strip()]
        return page("messages", rows, len(rows))


class SendChatMessage(WorldEdit):
    """Tell the user something in the chat, as the user's assistant."""

    tool, permission, read_back = "send_chat_message", "chat:send", "find_chat_answers"

    content: str = Field(min_length=1)

    async def carry_out(self, world: ConnectedWorld) -> JsonObject:
        return created_ids(await world.act(world.ues.chat.send("assistant", self.content, USERS_CHAT)), "message_id")


class GetChat(WorldRead):
    """How much was said in the chat, in all conversations."""

    tool, permission = "get_chat", "chat:state"

    async def carry_out(self, world: ConnectedWorld) -> JsonObject:
        state = await world.ues.chat.get_state()
        return {"total_message_count": state.total_message_count, "conversation_count": state.conversation_count}


class GetTime(WorldRead):
    """What time it is for the user."""

    tool, permission = "get_time", "time:read"

    async def carry_out(self, world: ConnectedWorld) -> JsonObject:
        return {"current_time": (await world.ues.time.get_state()).current_time.isoformat()}


def _describe_message(said: ChatMessage) -> JsonObject:
    """A chat message as JSON: its text alone, without pictures and sounds."""
    return {
        "message_id": said.message_id,
        "role": said.role,
        "content": said.text,
        "timestamp": said.timestamp.isoformat(),
    }


TALK = (ListChatMessages, FindChatAnswers, SendChatMessage, GetChat, GetTime)


_ALL: tuple[type[Operation], ...] = (*MAIL, *TEXTS, *APPOINTMENTS, *TALK)
OPERATIONS: Mapping[str, type[Operation]] = {kind.tool: kind for kind in sorted(_ALL, key=lambda kind: kind.tool)}
_LIMITS = httpx.Limits(max_connections=200, max_keepalive_connections=50, keepalive_expiry=2.0)
_NEVER_SENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)
CALL_SECONDS = 8.0  # an executor waits for a tool a little longer
_CLOSED = 401
_INSTEAD = "(the key)"


class CallResult(Enum):
    """Whether a call was carried out. ``NOTHING``: certainly not; ``UNKNOWN``: nobody can say."""

    DONE = "done"
    NOTHING = "nothing"
    UNKNOWN = "unknown"


class WorldReply(NamedTuple):
    result: CallResult
    content: Json


class BridgedWorld(NamedTuple):
    """The URL of a world, and the user's key to it."""

    url: str
    key: str


class WorldCalls:
    """Calls tools of worlds over one pool of connections. Use it as an async context manager."""

    def __init__(self, guard: Guard | None = None, transport: httpx.AsyncBaseTransport | None = None) -> None:
        """``guard``: limits where it connects; without one, anywhere. ``transport``: replaces its own."""
        self._line = SharedLine(transport or _open_transport(guard))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._line.close()

    async def call(self, world: BridgedWorld, tool: str, arguments: JsonObject, timeout: float) -> WorldReply:
        """Call a tool of a world. The key is removed from the reply."""
        asked = _parse_operation(tool, arguments)
        if isinstance(asked, WorldReply):
            return asked
        async with AsyncUESClient(world.url, timeout, transport=self._line, api_key=world.key) as ues:
            reply = await _run_operation(ConnectedWorld(ues), asked, timeout)
        return reply._replace(content=_redact_key(reply.content, world.key))


def _open_transport(guard: Guard | None) -> httpx.AsyncBaseTransport:
    tls = trusted_certificates()
    return GuardedTransport(guard, _LIMITS, tls) if guard else httpx.AsyncHTTPTransport(limits=_LIMITS, verify=tls)


async def _run_operation(world: ConnectedWorld, asked: Operation, timeout: float) -> WorldReply:
    """Carry out an operation, which makes at most one change, as its last step."""
    try:
        async with asyncio.timeout(timeout):
            return WorldReply(CallResult.DONE, await asked.carry_out(world))
    except WorldRefused as error:
        return WorldReply(CallResult.NOTHING, str(error))
    except APIError as error:
        return _said_no(error, world)
    except TimeoutError:
        return _report_failure(asked, world, f"no answer within {timeout:g} seconds")
    except UESError as error:
        if isinstance(error.__cause__, RefusedConnection):
            return WorldReply(CallResult.NOTHING, str(error.__cause__))
        if isinstance(error.__cause__, _NEVER_SENT) or (isinstance(error, ProtocolError) and not world.has_acted):
            return WorldReply(CallResult.NOTHING, f"{asked.tool} was not sent: {error}")
        return _report_failure(asked, world, str(error))


def _report_failure(asked: Operation, world: ConnectedWorld, why: str) -> WorldReply:
    """The reply to a failure. A change that failed before it was sent certainly did nothing."""
    if asked.is_change and not world.has_acted:
        return WorldReply(CallResult.NOTHING, f"{asked.tool} was not sent: {why}")
    return WorldReply(CallResult.UNKNOWN, f"{asked.tool}: {why}")


def _said_no(error: APIError, world: ConnectedWorld) -> WorldReply:
    """The reply to an error answer. A client error means nothing was done; after a server error it is unknown."""
    why = "; the assessment is over, or its key was revoked" if error.status_code == _CLOSED else ""
    is_open = isinstance(error, ServerError) and world.has_acted
    return WorldReply(CallResult.UNKNOWN if is_open else CallResult.NOTHING, f"HTTP {error.status_code}: {error}{why}")


def _parse_operation(tool: str, arguments: JsonObject) -> Operation | WorldReply:
    kind = OPERATIONS.get(tool)
    if kind is None:
        return WorldReply(CallResult.NOTHING, f"there is no tool {tool}")
    try:
        return kind.model_validate(wire(arguments))
    except ValidationError as error:
        return WorldReply(CallResult.NOTHING, f"{tool} was not called: {first_fault(error)}")


def _redact_key(content: Json, key: str) -> Json:
    """The content without the key, which a world may repeat: answers are journaled and archived."""
    text = dumps(content)
    return loads(text.replace(key, _INSTEAD)) if key and key in text else content


MAX_ANSWER_BYTES = 16 * 1024 * 1024  # a whole mailbox


class SharedLine(httpx.AsyncBaseTransport):
    """A transport that stays open when a client using it is closed."""

    def __init__(self, inner: httpx.AsyncBaseTransport) -> None:
        self._inner = inner

    @override
    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        response = await self._inner.handle_async_request(request)
        if isinstance(response.stream, httpx.AsyncByteStream):
            response.stream = _Counted(response.stream)
        return response

    async def close(self) -> None:
        await self._inner.aclose()


class _Counted(httpx.AsyncByteStream):
    def __init__(self, inner: httpx.AsyncByteStream) -> None:
        self._inner = inner

    @override
    async def __aiter__(self) -> AsyncIterator[bytes]:
        seen = 0
        async for part in self._inner:
            seen += len(part)
            if seen > MAX_ANSWER_BYTES:
                raise httpx.ReadError(f"the answer is larger than {MAX_ANSWER_BYTES} bytes")
            yield part

    @override
    async def aclose(self) -> None:
        await self._inner.aclose()


_TOOL = "list_chat_messages"
_MOST = 1000  # messages
_LONGEST = 20_000  # characters


async def read_words(guard: Guard, ues_url: str, key: str) -> str:
    """What the user said in the chat of a world, in order. Raises ``UserUnheard``."""
    async with WorldCalls(guard) as calls:
        reply = await calls.call(BridgedWorld(ues_url, key), _TOOL, {"limit": _MOST}, CALL_SECONDS)
    if reply.result is not CallResult.DONE:
        raise UserUnheard(f"the assessed world cannot be asked: {reply.content}")
    return users_words(reply.content)


def users_words(chat: Json) -> str:
    """What the user said in the chat, in order; only the end of a very long chat."""
    rows = objects_in(as_object(chat).get("messages"))
    said = [str(row.get("content", "")).strip() for row in rows if row.get("role") == "user"]
    return "\n\n".join(filter(None, said))[-_LONGEST:]

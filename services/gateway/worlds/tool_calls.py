"""Carries out calls of a world's tools, on any simulator with the UES interface; the tools for chat and time."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from datetime import datetime
from enum import Enum
from typing import NamedTuple, Self

import httpx
from pydantic import Field, ValidationError
from typing_extensions import override

from services.gateway.features.participation import UserMessagesUnavailable
from services.gateway.worlds.calendar_events import CALENDAR_OPERATIONS
from services.gateway.worlds.mail import MAIL_OPERATIONS
from services.gateway.worlds.text_messages import TEXT_OPERATIONS
from services.gateway.worlds.world import (
    USERS_CHAT,
    ConnectedWorld,
    Operation,
    WorldRefused,
    build_created_ids,
    build_list_page,
)
from shared.contracts.base import describe_first_error
from shared.contracts.ues.modalities import ChatMessage
from shared.domain.exact_json import Json, JsonObject, as_object, map_leaves, objects_in
from shared.infra.guard import AddressGuard
from shared.infra.guarded_http import GuardedTransport, RefusedConnection
from shared.infra.tls import load_client_tls_context
from shared.infra.ues.client import AsyncUESClient
from shared.infra.ues.connection import APIError, ProtocolError, ServerError, UESError


class ListChatMessages(Operation):
    """What user and assistant have said to each other in the chat, in order."""

    tool, permission = "list_chat_messages", "chat:query"

    since: datetime | None = None
    search: str | None = None
    limit: int = Field(200, ge=1, le=1000)
    offset: int = Field(0, ge=0)

    async def carry_out(self, world: ConnectedWorld) -> JsonObject:
        filters = self.model_dump(exclude_none=True)
        page = await world.ues.chat.query(conversation_id=USERS_CHAT, sort_by="timestamp", sort_order="asc", **filters)
        return build_list_page("messages", [_describe_message(message) for message in page.messages], page.total_count)


class FindChatAnswers(Operation):
    """What the assistant has told the user in the chat in these words."""

    tool, permission = "find_chat_answers", "chat:query"

    content: str

    async def carry_out(self, world: ConnectedWorld) -> JsonObject:
        page = await world.ues.chat.query(conversation_id=USERS_CHAT, role="assistant", limit=1000)
        rows = [_describe_message(message) for message in page.messages if message.text.strip() == self.content.strip()]
        return build_list_page("messages", rows, len(rows))


class SendChatMessage(Operation):
    """Tell the user something in the chat, as the user's assistant."""

    tool = "send_chat_message"
    permission = "chat:send"
    read_back = "find_chat_answers"

    content: str = Field(min_length=1)

    async def carry_out(self, world: ConnectedWorld) -> JsonObject:
        return build_created_ids(
            await world.carry_out_change(world.ues.chat.send("assistant", self.content, USERS_CHAT)), "message_id"
        )


class GetChatCounts(Operation):
    """How much was said in the chat, in all conversations."""

    tool, permission = "get_chat", "chat:state"

    async def carry_out(self, world: ConnectedWorld) -> JsonObject:
        state = await world.ues.chat.get_state()
        return {"total_message_count": state.total_message_count, "conversation_count": state.conversation_count}


class GetTime(Operation):
    """What time it is for the user."""

    tool, permission = "get_time", "time:read"

    async def carry_out(self, world: ConnectedWorld) -> JsonObject:
        return {"current_time": (await world.ues.time.get_state()).current_time.isoformat()}


def _describe_message(message: ChatMessage) -> JsonObject:
    """A chat message as JSON: its text alone, without pictures and sounds."""
    return {
        "message_id": message.message_id,
        "role": message.role,
        "content": message.text,
        "timestamp": message.timestamp.isoformat(),
    }


_CHAT_OPERATIONS = (ListChatMessages, FindChatAnswers, SendChatMessage, GetChatCounts, GetTime)
_OPERATION_TYPES: tuple[type[Operation], ...]
_OPERATION_TYPES = (*MAIL_OPERATIONS, *TEXT_OPERATIONS, *CALENDAR_OPERATIONS, *_CHAT_OPERATIONS)
OPERATIONS: Mapping[str, type[Operation]] = {
    kind.tool: kind for kind in sorted(_OPERATION_TYPES, key=lambda kind: kind.tool)
}
_POOL_LIMITS = httpx.Limits(max_connections=200, max_keepalive_connections=50, keepalive_expiry=2.0)
_ERRORS_BEFORE_SENDING = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)
CALL_SECONDS = 8.0  # an executor waits for a tool a little longer
_UNAUTHORIZED_STATUS = 401
_KEY_REPLACEMENT = "(the key)"


class WorldCallStatus(Enum):
    """Whether a call was carried out. ``NOT_MADE``: certainly not; ``UNKNOWN``: it may or may not have been."""

    DONE = "done"
    NOT_MADE = "not made"
    UNKNOWN = "unknown"


class WorldReply(NamedTuple):
    """What came of a call of a world's tool."""

    result: WorldCallStatus
    content: Json


class BridgedWorld(NamedTuple):
    """The URL of a world, and the user's key to it."""

    url: str
    key: str


class WorldToolCaller:
    """Calls tools of worlds over one transport. Use it as an async context manager."""

    def __init__(self, transport: httpx.AsyncBaseTransport) -> None:
        self._transport = SharedTransport(transport)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._transport.close_shared()

    async def call_tool(
        self, world: BridgedWorld, tool: str, arguments: Mapping[str, object], timeout: float
    ) -> WorldReply:
        """Call a tool of a world, within ``timeout`` seconds.

        Errors become the reply, which never has the world's key.
        """
        operation = _parse_operation(tool, arguments)
        if isinstance(operation, WorldReply):
            return operation
        async with AsyncUESClient(world.url, timeout, transport=self._transport, api_key=world.key) as ues:
            reply = await _run_operation(ConnectedWorld(ues), operation, timeout)
        return reply._replace(content=_redact_key(reply.content, world.key))


def make_guarded_transport(guard: AddressGuard) -> httpx.AsyncBaseTransport:
    """A pool of connections to addresses that the guard permits."""
    return GuardedTransport(guard, _POOL_LIMITS, load_client_tls_context())


async def _run_operation(world: ConnectedWorld, operation: Operation, timeout: float) -> WorldReply:
    """Carry out an operation, whose only change, if any, is its last step; errors become the reply."""
    try:
        async with asyncio.timeout(timeout):
            return WorldReply(WorldCallStatus.DONE, await operation.carry_out(world))
    except WorldRefused as error:
        return WorldReply(WorldCallStatus.NOT_MADE, str(error))
    except APIError as error:
        return _reply_to_error_answer(error, world)
    except TimeoutError:
        return _report_failure(operation, world, f"no answer within {timeout:g} seconds")
    except UnicodeError as error:  # of a host name, which is decoded before anything is sent
        return WorldReply(WorldCallStatus.NOT_MADE, f"{operation.tool} was not sent: the world's host name: {error}")
    except UESError as error:
        if isinstance(error.__cause__, RefusedConnection):
            return WorldReply(WorldCallStatus.NOT_MADE, str(error.__cause__))
        was_refused = isinstance(error, ProtocolError) and not world.has_acted
        if was_refused or isinstance(error.__cause__, _ERRORS_BEFORE_SENDING):
            return WorldReply(WorldCallStatus.NOT_MADE, f"{operation.tool} was not sent: {error}")
        return _report_failure(operation, world, str(error))


def _report_failure(operation: Operation, world: ConnectedWorld, reason: str) -> WorldReply:
    """The reply for a failure: ``NOT_MADE`` if a change was not sent yet, else ``UNKNOWN``."""
    if operation.read_back and not world.has_acted:
        return WorldReply(WorldCallStatus.NOT_MADE, f"{operation.tool} was not sent: {reason}")
    return WorldReply(WorldCallStatus.UNKNOWN, f"{operation.tool}: {reason}")


def _reply_to_error_answer(error: APIError, world: ConnectedWorld) -> WorldReply:
    """The reply for an HTTP error: ``UNKNOWN`` for a server error after a change was sent, else ``NOT_MADE``."""
    remark = "; the assessment is over, or its key was revoked" if error.status_code == _UNAUTHORIZED_STATUS else ""
    is_unknown = isinstance(error, ServerError) and world.has_acted
    result = WorldCallStatus.UNKNOWN if is_unknown else WorldCallStatus.NOT_MADE
    return WorldReply(result, f"HTTP {error.status_code}: {error}{remark}")


def _parse_operation(tool: str, arguments: Mapping[str, object]) -> Operation | WorldReply:
    kind = OPERATIONS.get(tool)
    if kind is None:
        return WorldReply(WorldCallStatus.NOT_MADE, f"there is no tool {tool}")
    try:
        return kind.model_validate(arguments)
    except ValidationError as error:
        return WorldReply(WorldCallStatus.NOT_MADE, f"{tool} was not called: {describe_first_error(error)}")


def _redact_key(content: Json, key: str) -> Json:
    """The content with the key removed from its texts, which a world may repeat; replies are journaled and archived."""
    return map_leaves(
        content, lambda leaf: leaf.replace(key, _KEY_REPLACEMENT) if isinstance(leaf, str) and key else leaf
    )


MAX_ANSWER_BYTES = 16 * 1024 * 1024  # a whole mailbox


class SharedTransport(httpx.AsyncBaseTransport):
    """A transport for several clients, which stays open when one of them is closed, until ``close_shared``; it limits
    the size of answers.
    """

    def __init__(self, inner: httpx.AsyncBaseTransport) -> None:
        self._inner = inner

    @override
    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        response = await self._inner.handle_async_request(request)
        if isinstance(response.stream, httpx.AsyncByteStream):
            response.stream = _SizeLimitedStream(response.stream)
        return response

    async def close_shared(self) -> None:
        await self._inner.aclose()


class _SizeLimitedStream(httpx.AsyncByteStream):
    def __init__(self, inner: httpx.AsyncByteStream) -> None:
        self._inner = inner

    @override
    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        async for part in self._inner:
            size += len(part)
            if size > MAX_ANSWER_BYTES:
                raise httpx.ReadError(f"the answer is larger than {MAX_ANSWER_BYTES} bytes")
            yield part

    @override
    async def aclose(self) -> None:
        await self._inner.aclose()


_MESSAGES_TOOL = "list_chat_messages"
_MOST_MESSAGES = 1000  # messages
_MOST_CHARACTERS = 20_000  # characters


async def read_user_messages(guard: AddressGuard, ues_url: str, key: str) -> str:
    """Read the user's chat messages in a world, in order, as one text; only the end of a very long chat.

    Raises ``UserMessagesUnavailable``.
    """
    async with WorldToolCaller(make_guarded_transport(guard)) as calls:
        reply = await calls.call_tool(
            BridgedWorld(ues_url, key), _MESSAGES_TOOL, {"limit": _MOST_MESSAGES}, CALL_SECONDS
        )
    if reply.result is not WorldCallStatus.DONE:
        raise UserMessagesUnavailable(f"the assessed world cannot be asked: {reply.content}")
    rows = objects_in(as_object(reply.content).get("messages"))
    texts = [str(row.get("content", "")).strip() for row in rows if row.get("role") == "user"]
    return "\n\n".join(filter(None, texts))[-_MOST_CHARACTERS:]

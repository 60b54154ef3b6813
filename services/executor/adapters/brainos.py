"""BrainOS's copilot over HTTP: one message out, server-sent events back (the protocol of its own client)."""

import asyncio
from collections.abc import AsyncIterator
from typing import NamedTuple

import httpx
import structlog
from httpx_sse import EventSource, SSEError, aconnect_sse

from services.executor.ports import services as ports
from shared.domain.exact_json import Json, JsonObject, dumps, loads_object
from shared.infra.tls import load_client_tls_context

log = structlog.get_logger()
_CHAT_PATH = "/api/copilot/chat"
_END_OF_STREAM = "[DONE]"
_MOST_CHARACTERS = 2_000_000  # characters of one reply


class BrainOSAccount(NamedTuple):
    """The base address of BrainOS and the account that its requests are made under."""

    url: str
    key: str
    organization: str

    def __repr__(self) -> str:
        return f"BrainOSAccount({self.url!r})"


class BrainOS(ports.Orchestrator):
    """A client of BrainOS. It never sends a message again. ``seconds`` bounds the whole reply."""

    def __init__(self, account: BrainOSAccount, seconds: float) -> None:
        self._seconds = seconds
        self._url = f"{account.url.rstrip('/')}{_CHAT_PATH}"
        headers = {"Authorization": f"Bearer {account.key}", "X-Organization-Id": account.organization}
        tls = load_client_tls_context()
        self._client = httpx.AsyncClient(headers=headers, timeout=seconds, follow_redirects=False, verify=tls)

    async def send(self, message: ports.OrchestratorMessage) -> ports.OrchestratorReply:
        try:
            async with asyncio.timeout(self._seconds):
                return await self._post_message(message)
        except (httpx.TimeoutException, TimeoutError) as error:
            raise ports.OrchestratorUnavailable(f"BrainOS did not answer within {self._seconds:g} s") from error
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise _build_logged_error(f"cannot be reached ({type(error).__name__})", str(error)) from error

    async def close(self) -> None:
        await self._client.aclose()

    async def _post_message(self, message: ports.OrchestratorMessage) -> ports.OrchestratorReply:
        headers = {"content-type": "application/json"}
        content = dumps(_build_message_body(message)).encode()
        async with aconnect_sse(self._client, "POST", self._url, content=content, headers=headers) as source:
            status = source.response.status_code
            if status != httpx.codes.OK:
                raise ports.OrchestratorUnavailable(f"BrainOS answered {status}")
            return await _read_streamed_reply(source)


def _build_message_body(message: ports.OrchestratorMessage) -> JsonObject:
    body: JsonObject = {"message": message.message, "conversationId": message.conversation_id}
    if message.context:
        body["extraParams"] = {"systemContext": message.context}
    if message.results:
        body["toolResults"] = [{"name": outcome.name, "result": outcome.result} for outcome in message.results]
    return body


async def _read_streamed_reply(source: EventSource) -> ports.OrchestratorReply:
    """Reads one streamed reply: ``answer`` events replace the text, ``text`` events append to it, an end closes it.

    Raises ``OrchestratorUnavailable`` if the reply is cut off, too long, malformed or an error.
    """
    text = ""
    calls = list[ports.ProposedToolCall]()
    size = 0
    async for data in _read_event_data(source):
        if data == _END_OF_STREAM:
            return ports.OrchestratorReply(text, tuple(calls))
        size += len(data)
        if size > _MOST_CHARACTERS:
            raise ports.OrchestratorUnavailable(f"BrainOS said more than {_MOST_CHARACTERS:,} characters")
        event = _parse_event(data)
        if "error" in event:
            raise _build_logged_error("reports an error", dumps(event["error"]))
        if "answer" in event:
            text = _require_text(event["answer"])
        text += _require_text(event.get("text", ""))
        if "tool_call" in event:
            calls.append(_parse_call(event["tool_call"]))
    raise ports.OrchestratorUnavailable("BrainOS's stream was cut off")


async def _read_event_data(source: EventSource) -> AsyncIterator[str]:
    try:
        async for event in source.aiter_sse():
            yield event.data
    except SSEError as error:
        raise _build_logged_error("answered no event stream", str(error)) from error


def _parse_event(data: str) -> JsonObject:
    try:
        return loads_object(data)
    except ValueError as error:
        raise _build_logged_error("sent an event that cannot be read", data) from error


def _require_text(value: Json) -> str:
    if isinstance(value, str):
        return value
    raise _build_logged_error("sent an answer that is no text", dumps(value))


def _parse_call(value: Json) -> ports.ProposedToolCall:
    """One tool call that BrainOS asks for. Parameters may be missing if the call has none."""
    if isinstance(value, dict):
        name, params = value.get("name"), value.get("params", {})
        if isinstance(name, str) and name and isinstance(params, dict):
            return ports.ProposedToolCall(name, params)
    raise _build_logged_error("sent a tool call that is none", dumps(value))


def _build_logged_error(complaint: str, content: str) -> ports.OrchestratorUnavailable:
    """Logs what BrainOS sent, for the operator, and returns an error whose message clients may see."""
    log.warning("brainos_reply_unreadable", problem=complaint, said=content[:300])
    return ports.OrchestratorUnavailable(f"BrainOS {complaint}")

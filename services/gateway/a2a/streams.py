"""The call and the answers of an A2A method, for all protocol versions and both bindings; streams as SSE responses.

A method opens a stream (``send_and_stream``, ``subscribe_to_task``) before the response begins, so that
a refusal is an ordinary error response.
"""

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import aclosing
from functools import cached_property, partial
from typing import NamedTuple

import structlog
from pydantic import JsonValue
from starlette.requests import Request
from starlette.responses import Response

from services.gateway.a2a.views import AnswerFormat, ClientView, JsonFields
from services.gateway.edge.errors import GatewayRefusal
from services.gateway.edge.keep_alive import JSON_HEARTBEAT, KeepAliveResponse, build_sse_response, encode_sse_frame
from services.gateway.edge.replies import AnyRefusal, build_rpc_error_of_fault, encode_json, encode_rpc_result
from services.gateway.features.identity.middleware import get_identified_caller
from services.gateway.features.streams.service import TaskStream
from services.gateway.features.streams.updates import LAST_EVENT_ID_HEADER, Snapshot, Update
from services.gateway.features.tasks.service import AcceptedMessage, TaskService
from shared.domain.exact_json import JsonObject
from shared.domain.words import TaskState
from shared.ports.store import StoreUnavailable

log = structlog.get_logger()
JSON_TYPE = "application/json"


class MethodCall:
    """One call of a method: its parameters, its authenticated caller, and the client's ``Last-Event-ID``."""

    def __init__(self, read: Callable[[], JsonObject], request: Request) -> None:
        self._read, self.authenticated_caller = read, get_identified_caller(request)
        self.last_event_id = request.headers.get(LAST_EVENT_ID_HEADER)

    @cached_property
    def params(self) -> JsonObject:
        return self._read()


class PendingAnswer:
    """The answer to a message that was accepted and whose client waits until the turn ends."""

    def __init__(
        self, tasks: TaskService, accepted: AcceptedMessage, answer_format: AnswerFormat, view: ClientView
    ) -> None:
        self._tasks = tasks
        self._accepted = accepted
        self._answer_format = answer_format
        self._view = view
        self._record, self.task_id = accepted.record, accepted.record.task_id

    async def wait_for_answer(self) -> JsonFields:
        """Wait for the end of the message's turn; returns the task, or for some completed tasks a message."""
        record = self._record = await self._tasks.wait_for_answer(self._accepted)
        is_reply = record.answers_as == "message" and record.state is TaskState.COMPLETED
        if self._answer_format.includes_file_contents:
            record = await self._tasks.files.add_contents(record)
        return self._answer_format.show_answer(record, self._view, is_reply=is_reply)

    def show_accepted(self) -> JsonFields:
        """The task as it was when the message was accepted."""
        return self._answer_format.show_answer(self._accepted.record, self._view)

    async def record_delivery(self) -> None:
        """Record that the client has received the answer."""
        record = partial(self._tasks.record_answer_received, self._accepted, self._record)
        await _record_delivery_or_log(record, self.task_id)


class StreamAnswer(NamedTuple):
    """An opened stream, and the format of its updates."""

    stream: TaskStream
    answer_format: AnswerFormat
    view: ClientView


MethodAnswer = JsonValue | PendingAnswer | StreamAnswer | bytes  # the last: already serialized as JSON
HandleMethodCall = Callable[[MethodCall, AnswerFormat], Awaitable[MethodAnswer]]


class AnswerEnvelope(NamedTuple):
    """What the JSON of an answer, or of each update of a stream, is wrapped in: a JSON-RPC response if ``is_rpc``; in
    REST nothing.

    ``includes_reason``: whether errors include their reason.
    """

    is_rpc: bool = False
    call_id: str | int | None = None
    includes_reason: bool = False

    def wrap_result(self, value: JsonValue) -> JsonValue:
        return {"jsonrpc": "2.0", "id": self.call_id, "result": value} if self.is_rpc else value

    def wrap_error(self, fault: Exception) -> JsonValue:
        head: dict[str, JsonValue] = {"jsonrpc": "2.0", "id": self.call_id} if self.is_rpc else {}
        return {**head, "error": build_rpc_error_of_fault(fault, includes_reason=self.includes_reason)}


BARE_ENVELOPE = AnswerEnvelope()


def build_response(
    answer: MethodAnswer,
    envelope: AnswerEnvelope,
    media_type: str = JSON_TYPE,
    headers: Mapping[str, str] | None = None,
) -> Response:
    """The HTTP response with an answer. ``headers``: for an answer that is there at once, not for a stream."""
    match answer:
        case StreamAnswer():
            stream = answer.stream
            record_delivery = partial(_record_delivery_or_log, stream.record_delivery, stream.record.task_id)
            return build_sse_response(_stream_sse_frames(answer, envelope), record_delivery)
        case PendingAnswer():
            body = _stream_pending_answer(answer, envelope)
            return KeepAliveResponse(body, media_type, JSON_HEARTBEAT, answer.record_delivery)
        case bytes():
            content = encode_rpc_result(envelope.call_id, answer) if envelope.is_rpc else answer
        case _:
            content = encode_json(envelope.wrap_result(answer)).encode()
    return Response(content, media_type=media_type, headers=headers)


async def _stream_pending_answer(answer: PendingAnswer, envelope: AnswerEnvelope) -> AsyncGenerator[bytes, None]:
    """Yields the body once the answer is there. The status has been sent by then.

    A failure becomes a JSON-RPC error; in REST the client gets its task as it was accepted.
    """
    try:
        content = envelope.wrap_result(await answer.wait_for_answer())
    except Exception as fault:  # the outermost edge of a request
        if not isinstance(fault, AnyRefusal):
            log.exception("request_failed", task_id=answer.task_id)
        elif not envelope.is_rpc:  # its client does not hear of it
            log.warning("answer_wait_interrupted", task_id=answer.task_id, error=str(fault))
        content = envelope.wrap_error(fault) if envelope.is_rpc else answer.show_accepted()
    yield encode_json(content).encode()


async def _record_delivery_or_log(record_delivery: Callable[[], Awaitable[None]], task_id: str) -> None:
    try:
        await record_delivery()
    except StoreUnavailable as error:  # the same words sent again will meet the old answer: not the worst
        log.warning("answer_delivery_not_recorded", task_id=task_id, error=str(error))


async def _stream_sse_frames(answer: StreamAnswer, envelope: AnswerEnvelope) -> AsyncGenerator[bytes, None]:
    stream = answer.stream
    try:
        async with aclosing(stream.stream_updates()) as updates:
            async for numbered in updates:
                shown = answer.answer_format.show_update(numbered.update, numbered.event_id, stream.record, answer.view)
                data = encode_json(envelope.wrap_result(shown))
                yield encode_sse_frame(data, event_id=numbered.event_id, comment=_build_gap_comment(numbered.update))
    except Exception as fault:  # the outermost edge of a request: the status has gone out already
        if isinstance(fault, GatewayRefusal | StoreUnavailable):
            log.warning("stream_interrupted", task_id=stream.record.task_id, error=str(fault))
        else:
            log.exception("stream_failed", task_id=stream.record.task_id)
        yield encode_sse_frame(
            encode_json(envelope.wrap_error(fault))
        )  # without an id: who goes on gets what is missing


def _build_gap_comment(update: Update) -> str:
    """The comment that names a gap before an update, for clients that ignore metadata; empty without a gap."""
    gap = update.lost_after if isinstance(update, Snapshot) else None
    return "" if gap is None else f"gap, the events after {gap} are kept no longer"

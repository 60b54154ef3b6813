"""The call and the answers of an A2A method, for all protocol versions and both bindings; streams as SSE responses.

A method opens a stream (``Streams.send``, ``Streams.subscribe``) before the response begins, so that a refusal is an
ordinary error response.
"""

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import aclosing
from functools import cached_property, partial
from typing import NamedTuple

import structlog
from pydantic import JsonValue
from starlette.requests import Request

from services.gateway.a2a.views import AnswerFormat, ClientView, JsonFields
from services.gateway.edge.errors import GatewayRefusal
from services.gateway.edge.keep_alive import KeepAliveResponse, sse_frame, sse_response
from services.gateway.edge.replies import rpc_error_of, write_json
from services.gateway.features.identity.middleware import caller_of_request
from services.gateway.features.streams.service import NumberedUpdate, TaskStream
from services.gateway.features.streams.updates import LAST_EVENT_ID, Snapshot, Update
from services.gateway.features.tasks.service import AcceptedMessage, TaskService
from shared.domain.exact_json import JsonObject
from shared.domain.words import TaskState
from shared.ports.store import StoreUnavailable

log = structlog.get_logger()


class MethodCall:
    """One call of a method: its parameters, its authenticated caller, and the client's ``Last-Event-ID``."""

    def __init__(self, read: Callable[[], JsonObject], request: Request) -> None:
        self._read, self.authenticated, self.last_event_id = (
            read,
            caller_of_request(request),
            request.headers.get(LAST_EVENT_ID),
        )

    @cached_property
    def params(self) -> JsonObject:
        return self._read()


class PendingAnswer:
    """The answer to an accepted message whose client waits for the end of the turn."""

    def __init__(
        self, tasks: TaskService, ticket: AcceptedMessage, answer_format: AnswerFormat, view: ClientView
    ) -> None:
        self._tasks, self._ticket, self._answer_format, self._view = tasks, ticket, answer_format, view
        self._record = ticket.record

    async def wait_for_answer(self) -> JsonFields:
        """Wait for the end of the message's turn; returns the task, or for some completed tasks a message."""
        record = self._record = await self._tasks.wait_for_answer(self._ticket)
        is_reply = record.answers_as == "message" and record.state is TaskState.COMPLETED
        if self._answer_format.fills_files:
            record = await self._tasks.files.add_contents(record)
        return self._answer_format.show_answer(record, self._view, is_reply=is_reply)

    def show_accepted(self) -> JsonFields:
        """The task as it was when the message was accepted."""
        return self._answer_format.show_answer(self._ticket.record, self._view)

    async def record_delivery(self) -> None:
        """Record that the client has received the answer."""
        await record_delivery_or_log(
            partial(self._tasks.record_answer_received, self._ticket, self._record), self._record.task_id
        )


class StreamAnswer(NamedTuple):
    """An opened stream, and the format of its updates."""

    stream: TaskStream
    answer_format: AnswerFormat
    view: ClientView

    def format_update(self, numbered: NumberedUpdate) -> JsonFields:
        return self.answer_format.show_update(numbered.update, numbered.event_id, self.stream.record, self.view)


Answer = JsonValue | PendingAnswer | StreamAnswer | bytes  # the last: already serialized as JSON
Act = Callable[[MethodCall, AnswerFormat], Awaitable[Answer]]


class Envelope(NamedTuple):
    """The JSON around each update of a stream: the ``head`` of a JSON-RPC response; nothing in REST.

    ``has_reason``: whether errors include their reason.
    """

    head: Mapping[str, JsonValue] = {}
    has_reason: bool = False

    def wrap_result(self, value: dict[str, JsonValue]) -> JsonValue:
        return {**self.head, "result": value} if self.head else value

    def wrap_error(self, error: dict[str, JsonValue]) -> JsonValue:
        return {**self.head, "error": error}


BARE_ENVELOPE = Envelope()


def rpc_envelope(call_id: str | int | None, *, has_reason: bool = False) -> Envelope:
    return Envelope({"jsonrpc": "2.0", "id": call_id}, has_reason)


def stream_response(answer: StreamAnswer, envelope: Envelope) -> KeepAliveResponse:
    record_delivery = partial(record_delivery_or_log, answer.stream.record_delivery, answer.stream.record.task_id)
    return sse_response(_sse_frames(answer, envelope), record_delivery)


async def record_delivery_or_log(record_delivery: Callable[[], Awaitable[None]], task_id: str) -> None:
    try:
        await record_delivery()
    except StoreUnavailable as error:  # the same words sent again will meet the old answer: not the worst
        log.warning("answer_not_noted", task_id=task_id, error=str(error))


async def _sse_frames(answer: StreamAnswer, envelope: Envelope) -> AsyncGenerator[bytes, None]:
    stream = answer.stream
    try:
        async with aclosing(stream.updates()) as updates:
            async for numbered in updates:
                data = write_json(envelope.wrap_result(answer.format_update(numbered)))
                yield sse_frame(data, event_id=numbered.event_id, comment=_describe_gap(numbered.update))
    except Exception as fault:  # the outermost edge of a request: the status has gone out already
        if isinstance(fault, GatewayRefusal | StoreUnavailable):
            log.warning("stream_broken", task_id=stream.record.task_id, error=str(fault))
        else:
            log.exception("stream_failed", task_id=stream.record.task_id)
        error = envelope.wrap_error(rpc_error_of(fault, has_reason=envelope.has_reason))
        yield sse_frame(write_json(error))  # without an id: who goes on gets what is missing


def _describe_gap(update: Update) -> str:
    """The comment that names a gap before an update, for clients that ignore metadata; empty without a gap."""
    gap = update.lost_after if isinstance(update, Snapshot) else None
    return "" if gap is None else f"gap, the events after {gap} are kept no longer"

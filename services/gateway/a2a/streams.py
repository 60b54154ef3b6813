"""Calls of methods and the kinds of answers; streams as server-sent events, in every protocol, for both bindings.

A stream is opened first (``Streams.send``, ``Streams.subscribe``), so that a refusal is an ordinary error reply. Then
``sse(StreamAnswer(stream, wording, view), rpc_envelope(call_id))`` answers with it; REST has ``BARE``.
"""

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import aclosing
from functools import cached_property, partial
from typing import NamedTuple

import structlog
from pydantic import JsonValue
from starlette.requests import Request

from services.gateway.a2a.views import ClientView, Shown, Wording
from services.gateway.edge.errors import GatewayRefusal
from services.gateway.edge.kept_alive import SSE_BEAT, KeptAlive
from services.gateway.edge.replies import fault_error, write_json
from services.gateway.features.identity.middleware import let_in
from services.gateway.features.streams.service import TaskStream, ToldUpdate
from services.gateway.features.streams.updates import LAST_EVENT_ID, Snapshot
from services.gateway.features.tasks.service import TaskService, Ticket
from shared.domain.exact_json import JsonObject
from shared.domain.words import TaskState
from shared.ports.store import StoreUnavailable

log = structlog.get_logger()


class MethodCall:
    """One call: a reader of its parameters, the authenticated caller, and the last event that the client has."""

    def __init__(self, read: Callable[[], JsonObject], request: Request) -> None:
        self._read, self.let_in, self.last_event_id = read, let_in(request), request.headers.get(LAST_EVENT_ID)

    @cached_property
    def params(self) -> JsonObject:
        return self._read()


class PendingAnswer:
    """An accepted message whose client waits for the answer, which may take a while."""

    def __init__(self, tasks: TaskService, ticket: Ticket, wording: Wording, view: ClientView) -> None:
        self._tasks, self._ticket, self._wording, self._view = tasks, ticket, wording, view
        self._record = ticket.record

    async def answer(self) -> Shown:
        """The task once the message's turn is over; for some tasks that were completed, a message."""
        record = self._record = await self._tasks.wait(self._ticket)
        is_reply = record.answers_as == "message" and record.state is TaskState.COMPLETED
        if self._wording.fills_files:
            record = await self._tasks.files.with_contents(record)
        return self._wording.answer(record, self._view, is_reply=is_reply)

    def show_accepted(self) -> Shown:
        """The task as it was accepted."""
        return self._wording.answer(self._ticket.record, self._view)

    async def note_delivery(self) -> None:
        """Note that the client has its answer."""
        await note_delivery(partial(self._tasks.note_answer, self._ticket, self._record), self._record.task_id)


class StreamAnswer(NamedTuple):
    """An opened stream, and how its updates are worded."""

    stream: TaskStream
    wording: Wording
    view: ClientView

    def shape(self, told: ToldUpdate) -> Shown:
        return self.wording.update(told.update, told.event_id, self.stream.record, self.view)


class WrittenJson(NamedTuple):
    """An answer that is JSON text already."""

    result: bytes


Answer = JsonValue | PendingAnswer | StreamAnswer | WrittenJson
Act = Callable[[MethodCall, Wording], Awaitable[Answer]]


class Envelope(NamedTuple):
    """What surrounds each update in an event's data: the response's ``head`` in JSON-RPC, nothing in REST.

    ``detailed``: errors also give their reason.
    """

    head: Mapping[str, JsonValue] = {}
    detailed: bool = False

    def result(self, value: dict[str, JsonValue]) -> JsonValue:
        return {**self.head, "result": value} if self.head else value

    def error(self, error: dict[str, JsonValue]) -> JsonValue:
        return {**self.head, "error": error}


BARE = Envelope()


def rpc_envelope(call_id: str | int | None, *, detailed: bool = False) -> Envelope:
    return Envelope({"jsonrpc": "2.0", "id": call_id}, detailed)


def sse(answer: StreamAnswer, envelope: Envelope) -> KeptAlive:
    note = partial(note_delivery, answer.stream.note_delivery, answer.stream.record.task_id)
    return KeptAlive(_write_frames(answer, envelope), "text/event-stream", SSE_BEAT, note)


async def note_delivery(note: Callable[[], Awaitable[None]], task_id: str) -> None:
    try:
        await note()
    except StoreUnavailable as error:  # the same words sent again will meet the old answer: not the worst
        log.warning("answer_not_noted", task_id=task_id, error=str(error))


async def _write_frames(answer: StreamAnswer, envelope: Envelope) -> AsyncGenerator[bytes, None]:
    stream = answer.stream
    try:
        async with aclosing(stream.updates()) as updates:
            async for told in updates:
                yield _write_frame(told, envelope.result(answer.shape(told)))
    except Exception as fault:  # the outermost edge of a request: the status has gone out already
        if isinstance(fault, GatewayRefusal | StoreUnavailable):
            log.warning("stream_broken", task_id=stream.record.task_id, error=str(fault))
        else:
            log.exception("stream_failed", task_id=stream.record.task_id)
        error = envelope.error(fault_error(fault, detailed=envelope.detailed))
        yield f"data: {write_json(error)}\n\n".encode()  # without an id: who goes on gets what is missing


def _write_frame(told: ToldUpdate, data: JsonValue) -> bytes:
    """An event's bytes. Lost events are also told in a comment, since not every client reads a task's metadata."""
    gap = told.update.lost_after if isinstance(told.update, Snapshot) else None
    comment = "" if gap is None else f": gap, the events after {gap} are kept no longer\n"
    return f"{comment}id: {told.event_id}\ndata: {write_json(data)}\n\n".encode()

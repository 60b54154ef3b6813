"""Streams of a task's updates, the same from every replica: where they begin, resume and end."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass
from typing import NamedTuple

from services.gateway.edge.errors import Unsupported
from services.gateway.features.identity.model import Caller
from services.gateway.features.streams import updates
from services.gateway.features.streams.updates import EventPosition, Resumption, SeenEvents, Snapshot, TasklessReply
from services.gateway.features.tasks.message import ClientMessage
from services.gateway.features.tasks.service import AcceptedMessage, TaskService
from services.gateway.features.tasks.views import ends_task, ends_turn
from shared.contracts.task import TaskEvent, TaskRecord
from shared.domain.words import A2aVersion, TaskState
from shared.ports.tasks import EventsLost, TaskSnapshot, parse_stream_id


class NumberedUpdate(NamedTuple):
    """An update with its SSE id, from which a client can resume the stream."""

    event_id: str
    update: updates.Update


@dataclass(frozen=True)
class StreamEnd:
    """When a stream ends: with the task at the latest.

    If ``turn_id`` is given, with that turn; else, if ``ends_at_rest``, when a turn leaves the task waiting for a person
    or for a time.
    """

    turn_id: str | None = None
    ends_at_rest: bool = True

    def is_reached_by(self, event: TaskEvent, record: TaskRecord | None) -> bool:
        if ends_task(event):
            return True
        if self.turn_id is not None:
            return ends_turn(event, self.turn_id)
        is_newest = record is not None and updates.ends_newest_ended_turn(event, record)
        return self.ends_at_rest and is_newest and updates.leaves_task_waiting(event)

    def has_passed(self, record: TaskRecord) -> bool:
        return record.state.is_terminal or (self.turn_id is not None and self.turn_id in record.turns_done)


@dataclass(frozen=True)
class StreamStart:
    """The first update of a stream, and what follows it: the events after ``seen``.

    ``last``: the last event of the stream, if it is known already.
    """

    first: NumberedUpdate | None
    seen: SeenEvents
    last: EventPosition | None = None

    @property
    def is_whole_stream(self) -> bool:
        """Whether the stream consists of the first update alone."""
        update = self.first.update if self.first else None
        return isinstance(update, TasklessReply) or (isinstance(update, Snapshot) and update.is_final)


@dataclass
class TaskStream:
    """One client's stream of one task. ``shown_id``: the task's id as the client knows it.

    ``newest``: the record as of the last turn's end that the stream has sent.
    """

    tasks: TaskService
    record: TaskRecord
    shown_id: str
    start: StreamStart
    end: StreamEnd
    accepted: AcceptedMessage | None = None
    newest: TaskRecord | None = None

    async def stream_updates(self) -> AsyncGenerator[NumberedUpdate, None]:
        """Yields every update once, in order; may raise ``StoreUnavailable``. Close it with ``contextlib.aclosing``."""
        start = self.start
        while True:
            if start.first is not None:
                yield start.first
                if start.is_whole_stream:
                    return
            try:
                async with aclosing(self._stream_later_updates(start)) as tail:
                    async for numbered in tail:
                        yield numbered
                return
            except EventsLost as lost:  # the client reads so slowly that it is told the whole task again
                task_snapshot = await self.tasks.read_snapshot(self.record)
                resumption = Resumption(None, lost.after)
                start = _find_start(resumption, task_snapshot, is_over=self.end.has_passed(task_snapshot.record))

    async def _stream_later_updates(self, start: StreamStart) -> AsyncGenerator[NumberedUpdate, None]:
        async with aclosing(self.tasks.watch(self.record, start.seen.stream_id_to_read_after)) as events:
            async for stream_id, event in events:
                record = None
                if event.kind == "turn_finished":
                    record = self.newest = await self.tasks.reread_record(self.record)
                is_final = self.end.is_reached_by(event, record)
                for number, update in updates.list_updates_of_event(event, record, is_final=is_final):
                    if not start.seen.includes_update(stream_id, number):
                        yield NumberedUpdate(updates.format_event_id(stream_id, number), update)
                if is_final or (start.last and parse_stream_id(stream_id) >= start.last):
                    return

    async def record_delivery(self) -> None:
        """Record that the client has received the whole stream, so that an equal message is a new one from now on."""
        if self.accepted is not None and self.accepted.key:
            await self.tasks.record_answer_received(
                self.accepted, self.newest or await self.tasks.reread_record(self.record)
            )


async def send_and_stream(
    tasks: TaskService, message: ClientMessage, caller: Caller, last_event_id: str | None
) -> TaskStream:
    """Accept a message; returns the stream of its turn. Raises ``GatewayRefusal`` or ``StoreUnavailable``.

    ``last_event_id``: the last event that the client has seen of a message sent before, if it repeats one.
    """
    seen_events = updates.parse_last_event_id(last_event_id)
    accepted = await tasks.submit_message(message, caller)
    if accepted.is_reply:
        start = StreamStart(NumberedUpdate("0-0", TasklessReply(accepted.record)), SeenEvents((0, 0)))
        return TaskStream(tasks, accepted.record, accepted.shown_id, start, StreamEnd(), accepted)
    task_snapshot = await tasks.read_snapshot(accepted.record)
    end = StreamEnd(accepted.turn_id)
    resumption = updates.find_resumption(seen_events, task_snapshot)
    start = _find_start_of_new_task(accepted.record, task_snapshot, resumption) or _find_start(
        resumption, task_snapshot, is_over=end.has_passed(task_snapshot.record)
    )
    return TaskStream(tasks, task_snapshot.record, accepted.shown_id, start, end, accepted)


async def subscribe_to_task(
    tasks: TaskService, task_id: str, caller: Caller, last_event_id: str | None, dialect: A2aVersion
) -> TaskStream:
    """Open a stream of an existing task.

    Raises ``NoVisibleTask``, and ``Unsupported`` if the task has ended and the client has seen all of it. In the
    early protocol the stream of an ended task is its final state.
    """
    seen_events = updates.parse_last_event_id(last_event_id)
    task_snapshot = await tasks.read_snapshot(await tasks.get_task(task_id, caller))
    is_legacy = dialect is A2aVersion.LEGACY
    resumption = updates.find_resumption(seen_events, task_snapshot)
    end = StreamEnd(ends_at_rest=dialect is not A2aVersion.A2A_1_0)
    is_over = end.has_passed(task_snapshot.record) or (is_legacy and updates.is_at_rest(task_snapshot.record))
    start = _find_start(resumption, task_snapshot, is_over=is_over)
    if is_over and not is_legacy and not resumption.lost_after and start.first is not None:
        state = task_snapshot.record.state.value
        raise Unsupported(f"task {task_id!r} has ended ({state}): there is nothing to subscribe to; read it")
    return TaskStream(tasks, task_snapshot.record, task_id, start, end)


def _find_start_of_new_task(
    record: TaskRecord, task_snapshot: TaskSnapshot, resumption: Resumption
) -> StreamStart | None:
    """The start of a stream that begins with the task as accepted; None if the task has moved on, the client resumes a
    stream, or the first events are gone.
    """
    is_new = record.state is TaskState.SUBMITTED and not record.turns_done
    resumes = resumption.seen is not None or resumption.lost_after is not None
    if resumes or not is_new or not task_snapshot.has_all_events or task_snapshot.oldest is None:
        return None
    return StreamStart(
        NumberedUpdate(task_snapshot.oldest, Snapshot(record)),
        SeenEvents(parse_stream_id(task_snapshot.oldest)),
    )


def _find_start(resumption: Resumption, task_snapshot: TaskSnapshot, *, is_over: bool) -> StreamStart:
    """The start of a stream: after the events that the client has, else a snapshot.

    ``is_over``: the stream ends with the newest event that is stored now.
    """
    newest = SeenEvents(parse_stream_id(task_snapshot.newest or "0-0"))
    if resumption.seen is not None and (resumption.seen != newest or not is_over):
        return StreamStart(None, resumption.seen, newest.position if is_over else None)
    snapshot = Snapshot(task_snapshot.record, resumption.lost_after, is_final=is_over)
    return StreamStart(NumberedUpdate(updates.format_position(newest.position), snapshot), newest)

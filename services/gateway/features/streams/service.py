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
from services.gateway.features.tasks.service import AcceptedMessage, TaskService, ends_task, is_end_of
from shared.contracts.task import TaskEvent, TaskRecord
from shared.domain.words import A2aVersion, TaskState
from shared.ports.tasks import EventsLost, TaskSnapshot


class NumberedUpdate(NamedTuple):
    """An update with its SSE id, from which a client can resume the stream."""

    event_id: str
    update: updates.Update


@dataclass(frozen=True)
class StreamEnd:
    """When a stream ends: with the task at the latest.

    If ``turn_id`` is given, with that turn; else, if ``at_rest``, when a turn leaves the task waiting for a person or
    for a time.
    """

    turn_id: str | None = None
    at_rest: bool = True

    def is_reached_by(self, event: TaskEvent, record: TaskRecord | None) -> bool:
        if ends_task(event):
            return True
        if self.turn_id is not None:
            return is_end_of(event, self.turn_id)
        is_newest = record is not None and updates.is_newest_turn(event, record)
        return self.at_rest and is_newest and updates.leaves_task_waiting(event)

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
        return isinstance(update, TasklessReply) or (isinstance(update, Snapshot) and update.final)


@dataclass
class TaskStream:
    """One client's stream of one task. ``shown_id``: the task's id as the client knows it.

    ``newest``: the record as of the last turn's end that the stream has sent.
    """

    tasks: TaskService
    record: TaskRecord
    shown_id: str
    beginning: StreamStart
    end: StreamEnd
    ticket: AcceptedMessage | None = None
    newest: TaskRecord | None = None

    async def updates(self) -> AsyncGenerator[NumberedUpdate, None]:
        """Yields every update once, in order; may raise ``StoreUnavailable``. Close it with ``contextlib.aclosing``."""
        beginning = self.beginning
        while True:
            if beginning.first is not None:
                yield beginning.first
                if beginning.is_whole_stream:
                    return
            try:
                async with aclosing(self._later_updates(beginning)) as tail:
                    async for told in tail:
                        yield told
                return
            except EventsLost as lost:  # the client reads so slowly that it is told the whole task again
                task_snapshot = await self.tasks.snapshot(self.record)
                found = Resumption(None, lost.after)
                beginning = _find_start(found, task_snapshot, over=self.end.has_passed(task_snapshot.record))

    async def _later_updates(self, beginning: StreamStart) -> AsyncGenerator[NumberedUpdate, None]:
        async with aclosing(self.tasks.watch(self.record, beginning.seen.stream_id_to_read_after)) as events:
            async for stream_id, event in events:
                record = None
                if event.kind == "turn_finished":
                    record = self.newest = await self.tasks.refresh(self.record)
                final = self.end.is_reached_by(event, record)
                for number, update in updates.updates_of_event(event, record, final=final):
                    if not beginning.seen.includes_update(stream_id, number):
                        yield NumberedUpdate(updates.event_id(stream_id, number), update)
                if final or (beginning.last and EventPosition.parse(stream_id) >= beginning.last):
                    return

    async def record_delivery(self) -> None:
        """Record that the client has received the whole stream, so that an equal message is a new one from now on."""
        if self.ticket is not None and self.ticket.key:
            await self.tasks.record_answer_received(self.ticket, self.newest or await self.tasks.refresh(self.record))


class Streams:
    """Opens streams; refusals are raised here, before a stream has begun."""

    def __init__(self, tasks: TaskService) -> None:
        self._tasks = tasks

    async def send(self, message: ClientMessage, caller: Caller, last_event_id: str | None) -> TaskStream:
        """Accept a message; returns the stream of its turn. Raises ``GatewayRefusal`` or ``StoreUnavailable``."""
        seen = updates.parse_last_event_id(last_event_id)
        ticket = await self._tasks.submit(message, caller)
        if ticket.is_reply:
            alone = StreamStart(NumberedUpdate("0-0", TasklessReply(ticket.record)), SeenEvents(EventPosition(0, 0)))
            return TaskStream(self._tasks, ticket.record, ticket.shown_id, alone, StreamEnd(), ticket)
        task_snapshot = await self._tasks.snapshot(ticket.record)
        end, found = StreamEnd(ticket.turn_id), updates.find_resumption(seen, task_snapshot)
        beginning = _start_of_new_task(ticket.record, task_snapshot, found)
        beginning = beginning or _find_start(found, task_snapshot, over=end.has_passed(task_snapshot.record))
        return TaskStream(self._tasks, task_snapshot.record, ticket.shown_id, beginning, end, ticket)

    async def subscribe(
        self, task_id: str, caller: Caller, last_event_id: str | None, dialect: A2aVersion
    ) -> TaskStream:
        """Open a stream of an existing task.

        Raises ``NoVisibleTask``, and ``Unsupported`` if the task has ended and the client has seen all of it. In the
        early protocol the stream of an ended task is its final state.
        """
        seen = updates.parse_last_event_id(last_event_id)
        task_snapshot = await self._tasks.snapshot(await self._tasks.read(task_id, caller))
        legacy, found = dialect is A2aVersion.LEGACY, updates.find_resumption(seen, task_snapshot)
        end = StreamEnd(at_rest=dialect is not A2aVersion.A2A_1_0)
        over = end.has_passed(task_snapshot.record) or (legacy and updates.is_at_rest(task_snapshot.record))
        beginning = _find_start(found, task_snapshot, over=over)
        if over and not legacy and not found.lost_after and beginning.first is not None:
            state = task_snapshot.record.state.value
            raise Unsupported(f"task {task_id!r} has ended ({state}): there is nothing to subscribe to; read it")
        return TaskStream(self._tasks, task_snapshot.record, task_id, beginning, end)


def _start_of_new_task(record: TaskRecord, task_snapshot: TaskSnapshot, found: Resumption) -> StreamStart | None:
    """The start of a new task's stream, which begins with the task as accepted; None for a task that is not new."""
    new = record.state is TaskState.SUBMITTED and not record.turns_done
    if not new or not task_snapshot.whole or task_snapshot.oldest is None or found.seen is not None or found.lost_after:
        return None
    return StreamStart(
        NumberedUpdate(task_snapshot.oldest, Snapshot(record)),
        SeenEvents(EventPosition.parse(task_snapshot.oldest)),
    )


def _find_start(found: Resumption, task_snapshot: TaskSnapshot, *, over: bool) -> StreamStart:
    """The start of a stream: after the events that the client has, else a snapshot. ``over``: the stream ends there."""
    newest = SeenEvents(EventPosition.parse(task_snapshot.newest or "0-0"))
    if found.seen is not None and (found.seen != newest or not over):
        return StreamStart(None, found.seen, newest.place if over else None)
    snapshot = Snapshot(task_snapshot.record, found.lost_after, final=over)
    return StreamStart(NumberedUpdate(str(newest.place), snapshot), newest)

"""Streams of a task's updates, the same from every replica: where one begins, how it goes on, when it ends."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass
from typing import NamedTuple

from services.gateway.edge.errors import Unsupported
from services.gateway.features.identity.model import Caller
from services.gateway.features.streams import updates
from services.gateway.features.streams.updates import EventPlace, Resumption, SeenEvents, Snapshot, TasklessReply
from services.gateway.features.tasks.message import ClientMessage
from services.gateway.features.tasks.service import TaskService, Ticket, ends_task, is_end_of
from shared.contracts.task import TaskEvent, TaskRecord
from shared.domain.words import Dialect, TaskState
from shared.ports.tasks import EventsLost, TaskSnapshot


class ToldUpdate(NamedTuple):
    """One update and its SSE id: a client that has it has all before it."""

    event_id: str
    update: updates.Update


@dataclass(frozen=True)
class End:
    """When a stream ends: with the task at the latest.

    With ``turn_id`` at that turn's end; else when a turn leaves the task to a person or a time, unless ``at_rest`` is
    False.
    """

    turn_id: str | None = None
    at_rest: bool = True

    def is_at(self, event: TaskEvent, record: TaskRecord | None) -> bool:
        if ends_task(event):
            return True
        if self.turn_id is not None:
            return is_end_of(event, self.turn_id)
        is_newest = record is not None and updates.is_newest_turn(event, record)
        return self.at_rest and is_newest and updates.leaves_waiting(event)

    def is_past(self, record: TaskRecord) -> bool:
        return record.state.is_terminal or (self.turn_id is not None and self.turn_id in record.turns_done)


@dataclass(frozen=True)
class StreamStart:
    """The first update of a stream, and where it goes on. ``seen``: what the client has.

    ``last``: the id at which it ends at the latest, if the end has come already.
    """

    first: ToldUpdate | None
    seen: SeenEvents
    last: EventPlace | None = None

    @property
    def is_all(self) -> bool:
        """Whether nothing comes after the first update."""
        update = self.first.update if self.first else None
        return isinstance(update, TasklessReply) or (isinstance(update, Snapshot) and update.final)


@dataclass
class TaskStream:
    """One client's stream of one task. ``shown_id``: the task's id as that client knows it.

    ``newest``: the record with which the end of a turn was told.
    """

    tasks: TaskService
    record: TaskRecord
    shown_id: str
    beginning: StreamStart
    end: End
    ticket: Ticket | None = None
    newest: TaskRecord | None = None

    async def updates(self) -> AsyncGenerator[ToldUpdate, None]:
        """Yields every update once, in order; may raise ``StoreUnavailable``. Close it with ``contextlib.aclosing``."""
        beginning = self.beginning
        while True:
            if beginning.first is not None:
                yield beginning.first
                if beginning.is_all:
                    return
            try:
                async with aclosing(self._later_updates(beginning)) as tail:
                    async for told in tail:
                        yield told
                return
            except EventsLost as lost:  # the client reads so slowly that it is told the whole task again
                standing = await self.tasks.snapshot(self.record)
                found = Resumption(None, lost.after)
                beginning = _find_start(found, standing, over=self.end.is_past(standing.record))

    async def _later_updates(self, beginning: StreamStart) -> AsyncGenerator[ToldUpdate, None]:
        async with aclosing(self.tasks.watch(self.record, beginning.seen.after)) as events:
            async for stream_id, event in events:
                record = None
                if event.kind == "turn_finished":
                    record = self.newest = await self.tasks.now(self.record)
                final = self.end.is_at(event, record)
                for number, update in updates.parts_of(event, record, final=final):
                    if not beginning.seen.has(stream_id, number):
                        yield ToldUpdate(updates.event_id(stream_id, number), update)
                if final or (beginning.last and EventPlace.parse(stream_id) >= beginning.last):
                    return

    async def note_delivery(self) -> None:
        """Note that the client has received all, so that the same message is a new one from now on."""
        if self.ticket is not None and self.ticket.key:
            await self.tasks.note_answer(self.ticket, self.newest or await self.tasks.now(self.record))


class Streams:
    """Opens streams. Refusals are raised here, before a stream has begun."""

    def __init__(self, tasks: TaskService) -> None:
        self._tasks = tasks

    async def send(self, message: ClientMessage, caller: Caller, last_event_id: str | None) -> TaskStream:
        """Accept a message; returns the stream of its turn. Raises ``GatewayRefusal`` or ``StoreUnavailable``."""
        seen = updates.read_seen(last_event_id)
        ticket = await self._tasks.submit(message, caller)
        if ticket.is_reply:
            alone = StreamStart(ToldUpdate("0-0", TasklessReply(ticket.record)), SeenEvents(EventPlace(0, 0)))
            return TaskStream(self._tasks, ticket.record, ticket.shown_id, alone, End(), ticket)
        standing = await self._tasks.snapshot(ticket.record)
        end, found = End(ticket.turn_id), updates.resumption(seen, standing)
        beginning = _from_acceptance(ticket.record, standing, found)
        beginning = beginning or _find_start(found, standing, over=end.is_past(standing.record))
        return TaskStream(self._tasks, standing.record, ticket.shown_id, beginning, end, ticket)

    async def subscribe(self, task_id: str, caller: Caller, last_event_id: str | None, dialect: Dialect) -> TaskStream:
        """A stream of an existing task. Raises ``NoVisibleTask``, and ``Unsupported`` if it ended with nothing new.

        In the early protocol the stream of an ended task tells how it ended.
        """
        seen = updates.read_seen(last_event_id)
        standing = await self._tasks.snapshot(await self._tasks.read(task_id, caller))
        legacy, found = dialect is Dialect.LEGACY, updates.resumption(seen, standing)
        end = End(at_rest=dialect is not Dialect.A2A_1_0)
        over = end.is_past(standing.record) or (legacy and updates.is_at_rest(standing.record))
        beginning = _find_start(found, standing, over=over)
        if over and not legacy and not found.lost_after and beginning.first is not None:
            state = standing.record.state.value
            raise Unsupported(f"task {task_id!r} has ended ({state}): there is nothing to subscribe to; read it")
        return TaskStream(self._tasks, standing.record, task_id, beginning, end)


def _from_acceptance(record: TaskRecord, standing: TaskSnapshot, found: Resumption) -> StreamStart | None:
    """The start of a new task's stream, which tells all of it, however far it has come; None for a known task."""
    new = record.state is TaskState.SUBMITTED and not record.turns_done
    if not new or not standing.whole or standing.oldest is None or found.seen is not None or found.lost_after:
        return None
    return StreamStart(
        ToldUpdate(standing.oldest, Snapshot(record)),
        SeenEvents(EventPlace.parse(standing.oldest)),
    )


def _find_start(found: Resumption, standing: TaskSnapshot, *, over: bool) -> StreamStart:
    """The start of a stream: the events that the client lacks, or the whole task. ``over``: it has ended already."""
    newest = SeenEvents(EventPlace.parse(standing.newest or "0-0"))
    if found.seen is not None and (found.seen != newest or not over):
        return StreamStart(None, found.seen, newest.place if over else None)
    snapshot = Snapshot(standing.record, found.lost_after, final=over)
    return StreamStart(ToldUpdate(str(newest.place), snapshot), newest)

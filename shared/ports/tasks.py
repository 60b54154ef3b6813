"""The port to stored tasks: accept, signal, read and watch. Every method may raise ``StoreUnavailable``."""

from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import NamedTuple, Protocol, TypeAlias

from shared.contracts.task import TaskEvent, TaskRecord, Turn


class Acceptance(NamedTuple):
    """An accepted turn, with its task's record. ``is_new``: false if the same message had been accepted before."""

    record: TaskRecord
    turn_id: str
    is_new: bool


class TaskSnapshot(NamedTuple):
    """A task's record and the ends of its event stream, at one moment.

    ``oldest`` and ``newest``: stream ids of the kept events, None if there are none; ``has_all_events``: none was
    ever dropped.
    """

    record: TaskRecord
    oldest: str | None
    newest: str | None
    has_all_events: bool


class SessionBelongsToOther(Exception):
    """The session was begun by another principal; nothing was stored."""


class EventsLost(Exception):
    """Events that a reader of a task's stream has not seen yet were dropped, because it was too far behind."""

    def __init__(self, after: str) -> None:
        super().__init__(f"the events after {after} are kept no longer")
        self.after = after


class TaskEnded(Exception):
    """The task had ended before the turn was accepted; nothing was stored."""


class TenantIsStopped(Exception):
    """An operator has stopped the tenant, which accepts no messages for now; nothing was stored."""

    def __init__(self, tenant: str, reason: str) -> None:
        super().__init__(f"tenant {tenant!r} is stopped and takes no messages for now: {reason}")
        self.reason = reason


class TooManyWaiting(Exception):
    """More sessions wait for an executor than this installation allows; nothing was stored."""

    def __init__(self, waiting: int) -> None:
        super().__init__(f"{waiting} sessions wait for an executor")
        self.waiting = waiting


class SessionIsCrowded(Exception):
    """As many messages wait in the session as this installation allows; nothing was stored."""

    def __init__(self, waiting: int) -> None:
        super().__init__(f"{waiting} messages of this session wait for their turn")


PrepareAcceptance: TypeAlias = Callable[[], Awaitable[None]]


def parse_stream_id(stream_id: str) -> tuple[int, int]:
    """The milliseconds and the number in an event's id, by which ids are compared. Raises ``ValueError``."""
    ms, _, seq = stream_id.partition("-")
    return int(ms), int(seq or 0)


class Tasks(Protocol):
    async def accept(
        self, record: TaskRecord, turn: Turn, dedupe: str | None, prepare: PrepareAcceptance | None = None
    ) -> Acceptance:
        """Stores the task (if it is new) and the turn in one atomic step; on a cluster the task's id is stored before.

        A ``dedupe`` that was seen lately in its session returns the first acceptance. Raises ``SessionBelongsToOther``,
        ``TaskEnded``, ``TenantIsStopped``, ``TooManyWaiting`` and ``SessionIsCrowded``; what was accepted before is
        never refused.
        ``prepare`` stores what the turn needs: it is awaited before that step, unless the turn would be refused then or
        was accepted before.
        """

    async def signal(self, tenant: str, session_id: str, turn: Turn) -> bool:
        """Puts a decision or a cancel ahead of the session's messages; False if the task is unknown or has ended."""

    async def get_record(self, tenant: str, task_id: str, session_id: str = "") -> TaskRecord | None:
        """The record of the task with that id, or of the newest task with that alias; None if there is none.

        ``session_id``: the task's session, which saves a round trip; ``task_id`` is then the task's own id, no alias.
        """

    async def get_snapshot(self, tenant: str, task_id: str, session_id: str = "") -> TaskSnapshot | None:
        """The task's record and the ends of its event stream, read in one step; None if there is no such task."""

    def watch(
        self, tenant: str, task_id: str, after: str = "0", session_id: str = ""
    ) -> AsyncGenerator[tuple[str, TaskEvent], None]:
        """Every event of a task after a stream id, with its own id, without gap or repeat; then new ones, without end.

        Raises ``EventsLost`` if the next events were dropped; ``after="0"`` begins with the oldest kept event.
        """

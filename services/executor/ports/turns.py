"""The port for the durable state of one turn."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import NamedTuple, Protocol

from shared.contracts.approval import Approval, NoticeEvent
from shared.contracts.dead_letter import DeadTurn
from shared.contracts.ledger import LedgerEntry
from shared.contracts.outcome import TaskOutcome
from shared.contracts.task import TaskEvent, TaskRecord, Turn
from shared.domain.words import WriteStatus
from shared.ports.daily_spend import Charge
from shared.ports.store import StoreUnavailable


class LeaseLost(Exception):
    """Another executor owns the session now, so this process must store nothing more for it."""


class HandedOver(Exception):
    """The run ends here because this process stops. Another executor continues from its stored state."""


class SessionUnavailable(StoreUnavailable):
    """The session's state is in the archive, which does not answer. The turn has to wait until it does."""


class JournalEntry(NamedTuple):
    """One finished step. ``key`` is unique within the task; ``kind`` is model, tool, verdict, checkpoint or note.

    ``shared``: texts inside the data that many tasks have in common, which a store may keep only once.
    """

    key: str
    kind: str
    data_json: str
    shared: tuple[str, ...] = ()


class JournalBatch(NamedTuple):
    """What is to be stored together with a turn's next step: finished steps, events, and the changed record."""

    entries: tuple[JournalEntry, ...] = ()
    events: tuple[TaskEvent, ...] = ()
    record: TaskRecord | None = None


EMPTY_BATCH = JournalBatch()


class Pulse(NamedTuple):
    """The store's reply to each request of a turn: its time, and whether the task or its whole tenant has to stop."""

    now: datetime
    cancel: Turn | None = None
    stopped: str | None = None  # the reason, if the tenant is stopped
    was_refused: bool = False  # an intent was not stored, because the task has to stop

    @property
    def must_stop(self) -> bool:
        """Whether the task has to stop."""
        return self.cancel is not None or self.stopped is not None


class SessionCall(NamedTuple):
    """A call that the session remembers for rules that count it. ``outcome`` is a value of ``CallOutcome``."""

    tool: str
    outcome: str
    fields_json: str
    open_task: str = ""  # the task that made it, until that has ended: its later turns tell of the call again


QUESTION_ROLE = "question"  # the role of a text that asks a person about a plan


class SessionState(NamedTuple):
    """What a session remembers between its tasks: recent turns (role, text), a summary, and schema corrections."""

    turns: tuple[tuple[str, str], ...] = ()
    summary: str = ""
    corrections: Mapping[str, str] = {}
    calls: tuple[SessionCall, ...] = ()


class Timer(NamedTuple):
    """A moment at which a task is to be woken with a ``DEADLINE`` turn."""

    due: datetime
    subject: str  # the approval's id


class ApprovalNotice(NamedTuple):
    """A notice about an approval, for the tenant's notice targets. ``step``: how many levels it has passed."""

    event: NoticeEvent
    approval_id: str
    step: int = 0


class DayCharges(NamedTuple):
    """The charges of one of the tenant's days."""

    day: str
    charges: tuple[Charge, ...]


class TurnEnd(NamedTuple):
    """Everything that one turn stores at its end, in one atomic step.

    ``approval``: the task's newest; ``settled_approval``: an earlier one that no longer waits, in its final state.
    ``session``: None to leave the stored session state as it is.
    """

    record: TaskRecord
    session: SessionState | None
    events: tuple[TaskEvent, ...] = ()
    entries: tuple[JournalEntry, ...] = ()  # the last steps of the journal
    approval: Approval | None = None
    timer: Timer | None = None
    outcome: TaskOutcome | None = None  # set exactly when the task ended
    settled_approval: Approval | None = None
    notices: tuple[ApprovalNotice, ...] = ()
    letter: DeadTurn | None = None  # of a turn that was given up
    charges: tuple[DayCharges, ...] = ()  # of the turn's calls that the tenant's days do not count yet


class TurnStore(Protocol):
    """The durable state of one turn, bound to its session's lease. Every write may raise ``LeaseLost``."""

    async def read_journal(self) -> tuple[JournalEntry, ...]:
        """All finished steps of the task, oldest first."""

    async def read_ledger(self) -> Mapping[str, LedgerEntry]:
        """The task's intended writes by key."""

    async def read_approval(self) -> Approval | None:
        """The task's latest approval."""

    async def read_session(self) -> SessionState:
        """What the session remembers; raises ``SessionUnavailable`` while it cannot be fetched from the archive."""

    async def get_pulse(self) -> Pulse:
        """The newest known pulse. The caller asks for it before every call to a model or a tool. It is updated by each
        reply of the store and by the lease's heartbeat. Writes nothing.

        Raises ``HandedOver`` after ``Sessions.stop_turns`` was called, so that the turn stops between two steps.
        """

    async def await_signal(self) -> None:
        """Returns once ``get_pulse`` may have changed: a cancel, a stop of the tenant, or a hand-over of the lease.

        The caller bounds the wait.
        """

    async def append(
        self, entries: Sequence[JournalEntry], events: Sequence[TaskEvent] = (), record: TaskRecord | None = None
    ) -> Pulse:
        """Stores finished steps, publishes events, and stores the changed record, in one step."""

    async def open_write(self, entry: LedgerEntry, call_seconds: float, batch: JournalBatch = EMPTY_BATCH) -> Pulse:
        """Stores a ``SENDING`` entry before its call, together with the batch, and extends the lease for the time of
        the call.

        Raises ``LedgerConflict`` unless the key is new or its status is one of ``SENDABLE_STATUSES``. If the task has
        to stop, nothing is stored, and the pulse says ``was_refused``.
        """

    async def settle_write(
        self, entry: LedgerEntry, status_before: WriteStatus, batch: JournalBatch = EMPTY_BATCH
    ) -> Pulse:
        """Replaces an entry whose stored status is ``status_before``; raises ``LedgerConflict`` if it is another."""

    async def finish(self, end: TurnEnd) -> None:
        """Ends the turn in one step: stores everything in ``end`` and removes the turn from its queue."""


class LedgerConflict(Exception):
    """The stored ledger differs from what the caller expected, by a bug or a second owner. Nothing was changed."""

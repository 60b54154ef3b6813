"""The durable state of one turn, and what model calls cost a tenant."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import NamedTuple, Protocol

from typing_extensions import override

from shared.contracts.approval import Approval, NoticeEvent
from shared.contracts.dead_letter import DeadTurn
from shared.contracts.ledger import LedgerEntry
from shared.contracts.outcome import TaskOutcome
from shared.contracts.task import TaskEvent, TaskRecord, Turn
from shared.domain.words import WriteStatus
from shared.ports.store import StoreUnavailable


class LeaseLost(Exception):
    """Another executor owns the session now: whatever this one does next must not count."""


class HandedOver(Exception):
    """This process stops: what is stored is safe, and another executor continues from there."""


class SessionUnavailable(StoreUnavailable):
    """The session's state is in the archive, which does not answer: the turn has to wait until it does."""


class JournalEntry(NamedTuple):
    """One finished step. ``key`` is unique within the task; ``kind``: model, tool, verdict, checkpoint or note.

    ``shared``: texts within the data that many tasks have in common; a store may keep each of them once.
    """

    key: str
    kind: str
    data_json: str
    shared: tuple[str, ...] = ()


class JournalBatch(NamedTuple):
    """What waits to be stored with a turn's next step: finished steps, events, and the record as it now is."""

    entries: tuple[JournalEntry, ...] = ()
    events: tuple[TaskEvent, ...] = ()
    record: TaskRecord | None = None


NOTHING = JournalBatch()


class Pulse(NamedTuple):
    """What the store says each time it is asked: Redis time, and whether somebody wants the task, or all, to stop."""

    now: datetime
    cancel: Turn | None = None
    stopped: str | None = None  # why the tenant is stopped, if it is
    refused: bool = False  # an intent was not stored, because one of these says so

    @property
    def stops(self) -> bool:
        """Whether the task has to stop."""
        return self.cancel is not None or self.stopped is not None


class SessionCall(NamedTuple):
    """A call that rules about tools will ask for again; ``outcome`` is a ``CallOutcome``'s word."""

    tool: str
    outcome: str
    fields_json: str
    open_task: str = ""  # the task that made it, until that has ended: its later turns tell of the call again


QUESTION = "question"  # the role of a text that asks a person about a plan


class SessionState(NamedTuple):
    """What a session remembers between its tasks: turns (role, text), a summary of older ones, schema corrections."""

    turns: tuple[tuple[str, str], ...] = ()
    summary: str = ""
    corrections: Mapping[str, str] = {}
    calls: tuple[SessionCall, ...] = ()


class Timer(NamedTuple):
    """A moment at which a task is to be woken with a ``DEADLINE`` turn."""

    due: datetime
    subject: str  # the approval's id


class Notice(NamedTuple):
    """A notice about an approval for the tenant's targets; ``step`` counts the levels it has passed."""

    event: NoticeEvent
    approval_id: str
    step: int = 0


class Charge(NamedTuple):
    """Fresh tokens and nano-dollars of one call; ``name`` is unique in the tenant. ``reserved``: the most that it may
    cost was set aside before it was made.
    """

    name: str
    tokens: int
    nanos: int
    reserved: bool = False


class DayCharges(NamedTuple):
    """The costs of calls that count in one of the tenant's days."""

    day: str
    charges: tuple[Charge, ...]


class TurnEnd(NamedTuple):
    """Everything that one turn leaves behind, stored in one atomic step.

    ``approval`` is the task's latest; ``settled`` an earlier one that is asked no more, as it ended.
    ``session`` is None where what the session remembers stays as it is, perhaps unread.
    """

    record: TaskRecord
    session: SessionState | None
    events: tuple[TaskEvent, ...] = ()
    entries: tuple[JournalEntry, ...] = ()  # the last steps of the journal
    approval: Approval | None = None
    timer: Timer | None = None
    outcome: TaskOutcome | None = None  # set exactly when the task ended
    settled: Approval | None = None
    notices: tuple[Notice, ...] = ()
    letter: DeadTurn | None = None  # of a turn that was given up
    charges: tuple[DayCharges, ...] = ()  # what the turn's calls did cost that the tenant's days have not heard of


class TurnStore(Protocol):
    """The durable side of one turn, bound to the session's lease: every write raises ``LeaseLost`` if fenced off."""

    async def journal(self) -> tuple[JournalEntry, ...]:
        """All finished steps of the task, oldest first."""

    async def ledger(self) -> Mapping[str, LedgerEntry]:
        """The task's intended writes by key."""

    async def approval(self) -> Approval | None:
        """The task's latest approval."""

    async def session(self) -> SessionState:
        """What the session remembers; raises ``SessionUnavailable`` while that cannot be fetched."""

    async def pulse(self) -> Pulse:
        """The time, and whether somebody wants the task to stop, as far as it is known here: asked before every call to
        a model or a tool. Each answer of the store tells it anew; so does the lease's heartbeat. Writes nothing.

        Raises ``HandedOver`` once ``Sessions.stop_turns`` was called: the turn stops between two steps.
        """

    async def await_signal(self) -> None:
        """Returns once ``pulse`` may have changed: a cancel, a tenant's stop or a hand-over of the lease.

        The caller bounds the wait.
        """

    async def append(
        self, entries: Sequence[JournalEntry], events: Sequence[TaskEvent] = (), record: TaskRecord | None = None
    ) -> Pulse:
        """Append finished steps, publish events, and store the record as it now is, in one step."""

    async def open_write(self, entry: LedgerEntry, hold_seconds: float, batch: JournalBatch = NOTHING) -> Pulse:
        """Store a ``SENDING`` entry before its call, with what waits to be stored, and stretch the lease over the call.

        Only if the key is new or its status one of ``SENDABLE``; raises ``LedgerConflict`` otherwise. Where somebody
        wants the task to stop, nothing is stored, and the pulse says ``refused``.
        """

    async def settle_write(self, entry: LedgerEntry, before: WriteStatus, batch: JournalBatch = NOTHING) -> Pulse:
        """Replace an entry whose status is ``before``; ``LedgerConflict`` if it is not."""

    async def finish(self, end: TurnEnd) -> None:
        """End the turn in one step: everything in ``end`` is stored, and the turn leaves its queue."""


class LedgerConflict(Exception):
    """The ledger does not have what the caller believed: a bug or a second owner; nothing was changed."""


class DayCaps(NamedTuple):
    """What a tenant may use in one day; None means no limit."""

    tokens: int | None = None
    nanos: int | None = None


class DailySpend(Protocol):
    """What each tenant spends by day, over all executors. Every method may raise ``StoreUnavailable``."""

    async def reserve(
        self, tenant: str, day: str, charge: Charge, caps: DayCaps, settled: Sequence[Charge] = ()
    ) -> bool:
        """Reserves the charge if it fits under the caps with all that is spent and reserved. May be repeated.

        ``settled`` is settled in the same step, before that.
        """

    async def settle(self, tenant: str, day: str, charges: Sequence[Charge]) -> None:
        """Counts what calls cost; a reserved one replaces its reservation, and only if that still exists."""


class UnlimitedSpend(DailySpend):
    @override
    async def reserve(
        self, tenant: str, day: str, charge: Charge, caps: DayCaps, settled: Sequence[Charge] = ()
    ) -> bool:
        return True

    @override
    async def settle(self, tenant: str, day: str, charges: Sequence[Charge]) -> None:
        return

"""The port for the durable state of one turn."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from enum import StrEnum
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
    """This process stops, so its run of the turn ends here. Another executor continues from the stored state."""


class SessionUnavailable(StoreUnavailable):
    """The session's state is in the archive, which does not answer. The turn has to wait until it does."""


class JournalEntry(NamedTuple):
    """One finished step. ``key`` is unique within the task; ``kind``: such as model, tool, verdict or checkpoint.

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


class StopState(NamedTuple):
    """Whether the task or its whole tenant has to stop, and the store's time. Each reply of the store to a turn has
    it.
    """

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
    """What a session remembers between its tasks: recent turns (role, text), a summary, calls, and corrected names."""

    turns: tuple[tuple[str, str], ...] = ()
    summary: str = ""
    corrections: Mapping[str, str] = {}
    calls: tuple[SessionCall, ...] = ()


class Timer(NamedTuple):
    """A moment at which a task is to be woken with a ``DEADLINE`` turn."""

    due: datetime
    subject: str  # what is waited for: an approval, a doubt, an agent's question, the end of quiet hours


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
        """The task's latest approval; None if it never asked for one."""

    async def read_session(self) -> SessionState:
        """What the session remembers; raises ``SessionUnavailable`` while it cannot be fetched from the archive."""

    async def get_stop_state(self) -> StopState:
        """The newest known stop state.

        The caller asks for it before every call to a model or a tool. It is updated by each reply of the store and by
        the lease's heartbeat. Writes nothing.

        Raises ``HandedOver`` after ``Sessions.stop_turns`` was called, so that the turn stops between two steps.
        """

    async def await_signal(self) -> None:
        """Returns once ``get_stop_state`` may have changed: a cancel, a stop of the tenant, or a hand-over of the
        lease. The caller bounds the wait.
        """

    async def append(
        self, entries: Sequence[JournalEntry], events: Sequence[TaskEvent] = (), record: TaskRecord | None = None
    ) -> StopState:
        """Stores finished steps, publishes events, and stores the changed record, in one step.

        Returns whether the task has to stop.
        """

    async def open_write(
        self,
        entry: LedgerEntry,
        call_seconds: float,
        batch: JournalBatch = EMPTY_BATCH,
        was_shown_before: Callable[[], bool] = lambda: False,
    ) -> StopState:
        """Stores a ``SENDING`` entry before its call, together with the batch, and extends the lease for the time of
        the call. ``was_shown_before``: whether the read before the call shows all that the call sets; asked only where
        the store may have lost an entry of an earlier sending. An intent that turns
        out to be one that must not be sent gives way to what the ledger had of the write before.

        Raises ``LedgerConflict`` unless the key is new or its status is one of ``SENDABLE_STATUSES``. If the task has
        to stop, nothing is stored, and the result says ``was_refused``.
        """

    async def settle_write(
        self, entry: LedgerEntry, status_before: WriteStatus, batch: JournalBatch = EMPTY_BATCH
    ) -> StopState:
        """Replaces an entry whose stored status is ``status_before``; raises ``LedgerConflict`` if it is another."""

    async def finish(self, end: TurnEnd) -> None:
        """Ends the turn in one step: stores everything in ``end`` and removes the turn from its queue."""


class LedgerConflict(Exception):
    """The stored ledger differs from what the caller expected, by a bug or a second owner. Nothing was changed."""


MOST_TURN_IDS = 20  # ids of done turns in a task's record


class RepairedFault(StrEnum):
    """A kind of fault that the upkeep or a session's run repairs and counts."""

    NOT_WOKEN = "accepted_not_woken"  # work waited, and stood in no queue
    OWNER_GONE = "owner_gone"  # a turn was begun, and its owner fell silent or never heard of it
    NOT_OWNED = "running_not_owned"  # a turn ran on here although its lease was gone
    OUTCOME_MISSING = "outcome_not_emitted"  # a task had ended, and the learner was not told
    TIMER_OVERDUE = "timer_overdue"  # a deadline had passed for a while, and its turn was not there yet


class SessionName(NamedTuple):
    """A session, named by its tenant and its id."""

    tenant: str
    session_id: str


class Lease(NamedTuple):
    """The exclusive ownership of one session. ``fence`` is higher for each new owner."""

    tenant: str
    session_id: str
    fence: int
    owner: str
    repaired_fault: RepairedFault | None = None  # by this claim


class TurnWork(NamedTuple):
    """The next turn of a session, and its task. ``attempts``: how often the turn was begun, this time included.

    ``waited_us``: microseconds between acceptance and this beginning, on the store's clock. ``version``: the stored
    record's version, for the store itself. ``last_error``: the error that ended an earlier attempt, if it was reported.
    """

    turn: Turn
    record: TaskRecord
    attempts: int
    waited_us: int = 0
    version: int = 0
    last_error: str = ""
    claimed: object = None  # the store's own data on the claim, opaque to the core
    lacks_outcome: bool = False  # the task has ended, and its outcome was never emitted

    @property
    def turns_done(self) -> tuple[str, ...]:
        """The ids of the task's finished turns, including this one, as its record keeps them."""
        return (*self.record.turns_done, self.turn.turn_id)[-MOST_TURN_IDS:]


class UnreadableTurn(Exception):
    """The next turn or its task's record cannot be parsed; the message says what is wrong.

    ``turn``: None if the turn itself cannot be parsed; ``task_id`` is then a guess, or empty. ``record``: the stored
    record's JSON; empty if there is none.
    """

    def __init__(
        self, problem: str, turn_id: str, task_id: str, attempts: int, now: datetime, turn: Turn | None, record: str
    ) -> None:
        super().__init__(problem)
        self.turn_id = turn_id
        self.task_id = task_id
        self.attempts = attempts
        self.now = now
        self.turn = turn
        self.record = record


class UnreadableTurnEnd(NamedTuple):
    """How an unreadable turn and its task end. ``record``: the task's, as JSON, with fields unknown to this release."""

    letter: DeadTurn
    outcome: TaskOutcome
    record: str
    events: tuple[TaskEvent, ...]


class LeaseHeartbeat(Protocol):
    """A lease and its heartbeat, as the turn store uses them."""

    released: bool  # the lease was given back with the turn's end

    def may_have_signal(self) -> bool:
        """Whether the store must be asked for the stop state: the last heartbeat reported a change, or is too old."""

    async def await_signal(self) -> None:
        """Returns at the next heartbeat that reports a cancel, a stop of the tenant, or a hand-over."""

    def allow_release(self) -> AbstractContextManager[None]:
        """A context in which the lease may be released: the heartbeat does not report it as lost."""


class HeartbeatResult(NamedTuple):
    """The result of one heartbeat: the leases that are lost, and those whose turn must ask the store for its stop
    state, because a signal waits for its session or its tenant is stopped.
    """

    lost: tuple[Lease, ...] = ()
    signaled: tuple[Lease, ...] = ()


class LeaseExtender(Protocol):
    """Extends leases, so that no other executor takes their sessions."""

    async def extend_all(self, leases: Sequence[Lease]) -> HeartbeatResult:
        """Extends all these leases in one round trip; raises ``StoreUnavailable``."""


class Sessions(LeaseExtender, Protocol):
    """The sessions in the durable store, which executors lease to run their turns."""

    async def claim(self, tenant: str, session_id: str) -> Lease | None:
        """The session's lease, with its next turn begun; None if another owner holds it or no turn waits.

        Do not claim a session that this process holds: the store would take the claim for the repetition of one whose
        reply was lost.
        """

    async def begin_next_turn(self, lease: Lease) -> TurnWork | None:
        """Begins the session's next turn: decisions and cancels first.

        Right after ``claim`` it returns the turn that the claim began. The turn stays queued until it is finished.
        Returns None, and releases the lease, if no turn waits.

        While the tenant is stopped only cancels are begun. Raises ``UnreadableTurn`` and ``LeaseLost``.
        """

    async def abandon(self, lease: Lease, retry_in: float = 0.0, *, handed_over: bool = False, error: str = "") -> None:
        """Releases the lease although work waits; raises ``LeaseLost``.

        Another executor is asked to claim the session after ``retry_in`` seconds. ``handed_over``: this process stops
        in good order, so the begun turn does not count as an attempt. ``error``: what broke the turn, kept for the
        report if it is given up later.
        """

    async def fail_unreadable_turn(self, lease: Lease, end: UnreadableTurnEnd) -> None:
        """Moves an unreadable turn to the dead letters and ends its task as ``failed``; raises ``LeaseLost``."""

    def stop_turns(self) -> None:
        """Makes every turn of this process stop at its next ``get_stop_state``, with ``HandedOver``."""

    def turn_store(self, lease: Lease, work: TurnWork, heartbeat: LeaseHeartbeat | None = None) -> TurnStore:
        """The store of one turn. With a ``heartbeat``, the turn's end releases the lease unless another turn waits."""


class FreeSlotsByTenant(NamedTuple):
    """How many more sessions a process may take now, by tenant; ``of_other_tenant``: for each tenant that ``by_tenant``
    does not list.
    """

    total: int
    of_other_tenant: int
    by_tenant: Mapping[str, int]


class SlotReply(NamedTuple):
    """What became of a request for a slot. ``to_wake``: sessions of the tenant's queue that got a slot by the same
    step, which is kept for them for a while. ``had_slot``: an executor had taken the slot for this session before.
    """

    has_slot: bool
    to_wake: Sequence[str] = ()
    had_slot: bool = False


class SlotStore(Protocol):
    """The session slots of tenants with a cap, over all executors. A slot expires ``seconds`` after its last use."""

    async def acquire(self, tenant: str, session_id: str, cap: int, seconds: float) -> SlotReply:
        """Gives the session a slot if fewer than ``cap`` are taken and nobody has waited longer.

        Otherwise the session joins the tenant's queue.
        """

    async def release(self, tenant: str, session_id: str, cap: int) -> Sequence[str]:
        """Frees the slot, and gives what is free under the cap to the heads of the queue, which are to be woken."""

    async def extend(self, slots: Sequence[tuple[str, str]], seconds: float) -> None: ...

    async def postpone_reaping(self, tenant: str, session_id: str) -> None:
        """Makes the reaper ignore the session for a while."""


class SessionWakes(Protocol):
    """A queue of sessions for executors to claim. Entries may be lost: the reaper finds such sessions."""

    async def wake_ahead(self, tenant: str, session_id: str) -> None:
        """Queues a session ahead of all others, because its work was begun before; a queued one moves to the front."""

    async def wake_unless_queued(
        self, sessions: Iterable[tuple[str, str]], *, has_begun: bool = False
    ) -> Sequence[tuple[str, str]]:
        """Queues those sessions that are neither queued nor just taken from the queue; returns them.

        ``has_begun``: their turns were begun before, so they go ahead of others, and those that are queued move to the
        front.
        """


class TurnRunner(Protocol):
    """Runs turns: the ``Worker`` of ``core/turn/worker.py``."""

    async def run(self, work: TurnWork, store: TurnStore) -> None:
        """Runs one turn; it ends with ``store.finish``."""

    async def settle_open_writes(self, work: TurnWork, store: TurnStore) -> None:  # noqa: ARG002  # who writes nothing has nothing open
        """Settles, by reading back, the open writes of a turn that is given up. May raise anything."""
        return

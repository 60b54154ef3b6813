"""Sessions and their leases: the runner's side."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from enum import StrEnum
from typing import NamedTuple, Protocol

from services.executor.ports.turns import TurnStore
from shared.contracts.dead_letter import DeadTurn
from shared.contracts.outcome import TaskOutcome
from shared.contracts.task import TaskEvent, TaskRecord, Turn

TURNS_KEPT = 20  # ids of done turns in a task's record


class Fault(StrEnum):
    """A kind of fault that upkeep finds and mends; each is counted."""

    NOT_WOKEN = "accepted_not_woken"  # work waited, and stood in no queue
    OWNER_GONE = "owner_gone"  # a turn was begun, and its owner fell silent or never heard of it
    NOT_OWNED = "running_not_owned"  # a turn ran on here although its lease was gone
    OUTCOME_MISSING = "outcome_not_emitted"  # a task had ended, and the learner was not told
    TIMER_OVERDUE = "timer_overdue"  # a deadline had passed for a while, and its turn was not there yet


class SessionName(NamedTuple):
    tenant: str
    session_id: str


class Lease(NamedTuple):
    """Ownership of one session; ``fence`` grows with every owner. ``mended``: what this claim put right."""

    tenant: str
    session_id: str
    fence: int
    owner: str
    mended: Fault | None = None


class Work(NamedTuple):
    """The next turn of a session and its task. ``attempts`` counts the times it was begun, this one included.

    ``waited_us``: microseconds of the store's clock between acceptance and this beginning.
    ``version`` is the stored record's, for the store's own use; ``last_error`` what ended an earlier attempt, if it
    could still say so.
    """

    turn: Turn
    record: TaskRecord
    attempts: int
    waited_us: int = 0
    version: int = 0
    last_error: str = ""
    claimed: object = None  # what the store read with the turn, for its own use
    lacks_outcome: bool = False  # the task has ended, and its outcome was never emitted

    @property
    def turns_done(self) -> tuple[str, ...]:
        """The ids of the task's turns that are done once this one is, as its record keeps them."""
        return (*self.record.turns_done, self.turn.turn_id)[-TURNS_KEPT:]


class UnreadableTurn(Exception):
    """The next turn, or its task's record, cannot be read; the message says what is wrong.

    ``turn`` is None if the turn itself cannot be read; ``task_id`` is then a guess, or empty. ``record``: the task's
    record as it is stored; empty if there is none.
    """

    def __init__(
        self, why: str, turn_id: str, task_id: str, attempts: int, now: datetime, turn: Turn | None, record: str
    ) -> None:
        super().__init__(why)
        self.turn_id = turn_id
        self.task_id = task_id
        self.attempts = attempts
        self.now = now
        self.turn = turn
        self.record = record


class UnreadTurnEnd(NamedTuple):
    """How a turn ends that could not be read, and with it its task: ``record`` as JSON, in which fields that this
    release does not know stay.
    """

    letter: DeadTurn
    outcome: TaskOutcome
    record: str
    events: tuple[TaskEvent, ...]


class LeaseHeartbeat(Protocol):
    """A lease and its heartbeat, as the store of its turn sees them."""

    released: bool  # the lease was given back with the turn's end

    def has_signal(self) -> bool:
        """Whether the store has to be asked what is wanted of the turn: the last heartbeat said so, or is old."""

    async def await_signal(self) -> None:
        """Returns at the next heartbeat that finds a reason to ask the store: the task was cancelled, its tenant was
        stopped, or the session is to be handed over.
        """

    def releasing(self) -> AbstractContextManager[None]:
        """A context in which the lease may be given back without its heartbeat missing it."""


class HeartbeatResult(NamedTuple):
    """What one heartbeat found: leases that are lost, and those whose turn has to ask the store what is wanted of it.

    A turn has to ask because a signal waits in its session or its tenant is stopped.
    """

    lost: tuple[Lease, ...] = ()
    called: tuple[Lease, ...] = ()


class ExtendsLeases(Protocol):
    async def extend_all(self, leases: Sequence[Lease]) -> HeartbeatResult:
        """Extends all these leases in one round trip. May raise ``StoreUnavailable``."""


class Sessions(ExtendsLeases, Protocol):
    async def claim(self, tenant: str, session_id: str) -> Lease | None:
        """The session's lease, or None if another owner holds it or nothing waits there. Its next turn is begun.

        Do not claim what this process holds: a living lease of its own is one whose claim it never heard of.
        """

    async def begin_next_turn(self, lease: Lease) -> Work | None:
        """Begin the session's next turn (decisions and cancels first), leaving it queued until it is finished; after a
        claim, the turn that it began. None where there is nothing to begin: then the lease is given back.

        While the tenant is stopped only cancels are begun. Raises ``UnreadableTurn``.
        """

    async def abandon(self, lease: Lease, retry_in: float = 0.0, *, handed_over: bool = False, error: str = "") -> None:
        """Give the lease back although work waits; another executor is asked to take it after ``retry_in`` seconds.

        ``handed_over``: this process stops in good order; the turn it had begun has not used up an attempt.
        ``error``: what broke the turn, for whoever gives it up at last.
        """

    async def bury_unreadable(self, lease: Lease, end: UnreadTurnEnd) -> None:
        """Put a turn that cannot be read to the dead letters and end its task ``failed``; raises ``LeaseLost``."""

    def stop_turns(self) -> None:
        """Has every turn of this process stopped at its next pulse, by ``HandedOver``."""

    def turn_store(self, lease: Lease, work: Work, heartbeat: LeaseHeartbeat | None = None) -> TurnStore:
        """The store of one turn. ``heartbeat``: if given, the turn's end gives the lease back in the same step, unless
        another turn waits there.
        """


class FreeSlotsByTenant(NamedTuple):
    """What a process may take now: ``of_all`` sessions, of a tenant as many as ``of`` says, else ``of_any``."""

    of_all: int
    of_any: int
    of: Mapping[str, int]


class SlotStore(Protocol):
    """The slots of tenants with a cap, over all executors; a slot ends ``seconds`` after it was last taken."""

    async def acquire(self, tenant: str, session_id: str, cap: int, seconds: float) -> bool:
        """Whether the session has a slot: one is given if fewer than ``cap`` are; else the session joins the queue."""

    async def release(self, tenant: str, session_id: str) -> str | None:
        """Frees the slot; returns the session that leaves the queue for it, or None."""

    async def extend(self, slots: Sequence[tuple[str, str]], seconds: float) -> None: ...

    async def postpone_reaping(self, tenant: str, session_id: str) -> None:
        """Has the reaper leave the session alone for a while."""


class SessionWakes(Protocol):
    """A queue of sessions for executors to claim. It may lose entries without harm: a reaper finds them."""

    async def wake_first(self, tenant: str, session_id: str) -> None:
        """Queue a session, if it is not queued, before all others: its work was begun before."""

    async def wake_unattended(
        self, sessions: Iterable[tuple[str, str]], *, begun: bool = False
    ) -> Sequence[tuple[str, str]]:
        """Queues those sessions that are neither queued nor just taken from the queue; returns these."""


class TurnRunner(Protocol):
    """What carries turns out: ``Worker`` of ``core/turn/worker.py``."""

    async def run(self, work: Work, store: TurnStore) -> None:
        """Carry one turn out; it ends with ``store.finish``."""

    async def settle_open_writes(self, work: Work, store: TurnStore) -> None:  # noqa: ARG002  # who writes nothing has nothing open
        """Settle what is open in the ledger of a turn that is given up, as far as reading can. May raise anything."""
        return

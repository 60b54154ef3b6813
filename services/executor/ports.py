"""What the executor's core needs of the world, in the core's own words."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from types import MappingProxyType
from typing import Literal, NamedTuple, Protocol

from pydantic import JsonValue

from shared.contracts.allowance import AllowanceRequest, Allowances
from shared.contracts.approval import Approval
from shared.contracts.case import CaseEntry
from shared.contracts.dead_letter import DeadTurn
from shared.contracts.ledger import LedgerEntry
from shared.contracts.outcome import TaskOutcome
from shared.contracts.policy import EvaluateRequest, Verdict
from shared.contracts.prose import ProseAnswer, ProseRequest
from shared.contracts.task import TaskEvent, TaskRecord, Turn
from shared.contracts.tenant import CatalogueEntry, Connection, TenantRecord
from shared.domain.bandit import Arms
from shared.domain.exact_json import Json, JsonObject
from shared.domain.words import ToolClass, WriteStatus

# --- models -------------------------------------------------------------------------------------------------------


class Tier(StrEnum):
    HAIKU = "haiku"
    SONNET = "sonnet"


class ToolDefinition(NamedTuple):
    """A tool as a model sees it. ``input_schema`` is a JSON Schema object."""

    name: str
    description: str
    input_schema: Mapping[str, JsonValue]


class TextBlock(NamedTuple):
    text: str


class ToolUse(NamedTuple):
    """A call that the model asks for; ``input`` is exact JSON."""

    id: str
    name: str
    input: JsonObject


class ToolResult(NamedTuple):
    """What came of a call, as the model is told it."""

    tool_use_id: str
    content: str
    is_error: bool = False


class Message(NamedTuple):
    role: Literal["user", "assistant"]
    blocks: tuple[TextBlock | ToolUse | ToolResult, ...]


class ModelRequest(NamedTuple):
    """One call. ``system`` blocks stand stable first, for prompt caching; ``schema`` asks for structured output."""

    tier: Tier
    system: tuple[str, ...]
    messages: tuple[Message, ...]
    tools: tuple[ToolDefinition, ...] = ()
    schema: Mapping[str, JsonValue] | None = None
    max_tokens: int = 1024


class Usage(NamedTuple):
    """Tokens as the API counted them."""

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0


class ModelReply(NamedTuple):
    blocks: tuple[TextBlock | ToolUse, ...]
    stop_reason: str
    usage: Usage
    model: str

    @property
    def text(self) -> str:
        return "".join(block.text for block in self.blocks if isinstance(block, TextBlock))

    @property
    def tool_uses(self) -> tuple[ToolUse, ...]:
        return tuple(block for block in self.blocks if isinstance(block, ToolUse))


class ModelUnavailable(Exception):
    """No answer that could be used: down, slow, refused, cut off or garbage. The message says which, for people."""


class Model(Protocol):
    async def complete(self, request: ModelRequest) -> ModelReply:
        """One reply; raises ``ModelUnavailable``."""
        ...


# --- tools --------------------------------------------------------------------------------------------------------


class Tool(NamedTuple):
    """A tool of one connection. ``why_class`` says in a few words what decided its class."""

    connection_id: str
    name: str
    description: str
    input_schema: JsonObject
    tool_class: ToolClass
    why_class: str
    catalogue: CatalogueEntry


class ToolAnswer(NamedTuple):
    """What a server answered. ``is_error``: the server says that the call failed (a refusal, a bad argument).

    ``not_begun``: its protocol says that such an error comes before anything is done.
    """

    content: Json
    is_error: bool = False
    not_begun: bool = False


class ToolUnreachable(Exception):
    """No connection was made: the request certainly did not reach the server."""


class ToolSilent(Exception):
    """The request may have reached the server, but no usable answer came (time-out, cut, garbage)."""


class ToolServers(Protocol):
    """``session_id`` is the task's session: servers of the REST bridge count once-only calls by it."""

    async def discover(self, connection: Connection, session_id: str = "") -> tuple[Tool, ...]:
        """The server's tools in a fixed order, classified; raises ``ToolUnreachable`` or ``ToolSilent``."""
        ...

    def may_have_unlisted(self, connection: Connection) -> bool:
        """Whether a server, once discovered, may have tools that it does not list."""
        ...

    async def call(
        self, connection: Connection, tool: str, arguments: JsonObject, timeout: float, session_id: str = ""
    ) -> ToolAnswer:
        """One call, never repeated here; raises ``ToolUnreachable`` or ``ToolSilent``. ``timeout`` in seconds."""
        ...

    async def read(
        self, connection: Connection, tool: str, arguments: JsonObject, timeout: float, session_id: str = ""
    ) -> ToolAnswer:
        """A call of a tool of class READ, and of no other: it may be repeated, all attempts within ``timeout``."""
        return await self.call(connection, tool, arguments, timeout, session_id)


# --- policy and tenants -------------------------------------------------------------------------------------------


class PolicyUnavailable(Exception):
    """No verdict: the service is down, slow or answered garbage. Without a verdict nothing is written."""


class PolicyService(Protocol):
    async def evaluate(self, request: EvaluateRequest) -> Verdict:
        """The verdict, bound to the hashes of policy, context and plan; raises ``PolicyUnavailable``."""
        ...

    async def allowances(self, request: AllowanceRequest) -> Allowances:
        """What rules about tools say of tools that are called without a plan; raises ``PolicyUnavailable``."""
        ...

    async def check_prose(self, request: ProseRequest) -> ProseAnswer:
        """Which translated rules their source bears out; raises ``PolicyUnavailable``."""
        ...


class Tenants(Protocol):
    async def get(self, tenant: str) -> TenantRecord:
        """The tenant's record; ``UnknownTenant`` if there is none."""
        ...


class UnknownTenant(LookupError):
    pass


# --- durable state of one turn ------------------------------------------------------------------------------------


class LeaseLost(Exception):
    """Another executor owns the session now: whatever this one does next must not count."""


class HandedOver(Exception):
    """This process stops: what is stored is safe, and another executor goes on from there."""


class JournalEntry(NamedTuple):
    """One finished step. ``key`` is unique within the task; ``kind``: model, tool, verdict, checkpoint or note."""

    key: str
    kind: str
    data_json: str


class Pulse(NamedTuple):
    """What the store says each time it is asked: Redis time, and whether somebody wants the task, or all, to stop."""

    now: datetime
    cancel: Turn | None = None
    stopped: str | None = None  # why the tenant is stopped, if it is


class SessionCall(NamedTuple):
    """A call that rules about tools will ask for again; ``outcome`` is a ``CallOutcome``'s word."""

    tool: str
    outcome: str
    fields_json: str
    open_task: str = ""  # the task that made it, until that has ended: its later turns tell of the call again


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


class TurnEnd(NamedTuple):
    """Everything that one turn leaves behind, stored in one atomic step."""

    record: TaskRecord
    session: SessionState
    events: tuple[TaskEvent, ...] = ()
    approval: Approval | None = None
    timer: Timer | None = None
    outcome: TaskOutcome | None = None  # set exactly when the task ended


class TurnStore(Protocol):
    """The durable side of one turn, bound to the session's lease: every write raises ``LeaseLost`` if fenced off."""

    async def journal(self) -> tuple[JournalEntry, ...]:
        """All finished steps of the task, oldest first."""
        ...

    async def ledger(self) -> Mapping[str, LedgerEntry]:
        """The task's intended writes by key."""
        ...

    async def approval(self) -> Approval | None:
        """The task's latest approval."""
        ...

    async def session(self) -> SessionState: ...

    async def pulse(self) -> Pulse:
        """Read the control key and check the lease: asked before every call to a model or a tool. Writes nothing.

        Raises ``HandedOver`` once ``Sessions.halt`` was called: the turn stops between two steps.
        """
        ...

    async def append(self, entries: Sequence[JournalEntry], events: Sequence[TaskEvent] = ()) -> Pulse:
        """Append finished steps and publish events, in one step."""
        ...

    async def append_ahead(self, entries: Sequence[JournalEntry], events: Sequence[TaskEvent] = ()) -> Pulse:
        """``append`` in place of ``pulse``: what must be stored before a call is made."""
        return await self.append(entries, events)

    async def publish(self, record: TaskRecord, events: Sequence[TaskEvent]) -> Pulse:
        """Store the record as it now is and publish events, in one step."""
        ...

    async def open_write(self, entry: LedgerEntry, hold_seconds: float) -> Pulse:
        """Store a ``SENDING`` entry before its call and stretch the lease over the call.

        Only if the key is new or its status one of ``SENDABLE``; raises ``LedgerConflict`` otherwise.
        """
        ...

    async def settle_write(self, entry: LedgerEntry, before: WriteStatus, events: Sequence[TaskEvent] = ()) -> Pulse:
        """Replace an entry whose status is ``before``; ``LedgerConflict`` if it is not."""
        ...

    async def finish(self, end: TurnEnd) -> None:
        """End the turn in one step: everything in ``end`` is stored, and the turn leaves its queue."""
        ...


class LedgerConflict(Exception):
    """The ledger does not hold what the caller believed: a bug or a second owner; nothing was changed."""


# --- what model calls cost ----------------------------------------------------------------------------------------


class Charge(NamedTuple):
    """Fresh tokens and nano-dollars of one call; ``name`` is unique in the tenant."""

    name: str
    tokens: int
    nanos: int


class DayCaps(NamedTuple):
    """What a tenant may use in one day; None is no limit."""

    tokens: int | None = None
    nanos: int | None = None


class DailySpend(Protocol):
    """What each tenant spends by day, over all executors. Both may raise ``StoreUnavailable``."""

    async def reserve(self, tenant: str, day: str, charge: Charge, caps: DayCaps) -> bool:
        """Set the charge aside if it fits under the caps, with all that is spent and set aside; repeat it freely."""
        ...

    async def settle(self, tenant: str, day: str, charge: Charge, *, reserved: bool) -> None:
        """Count what the call did cost. ``reserved``: in place of what was set aside, and only if it still is."""
        ...


# --- what was learned ---------------------------------------------------------------------------------------------


class Experience(NamedTuple):
    """What a tenant's earlier tasks taught: the arms of one process type, and the case log, newest first."""

    arms: Arms = MappingProxyType({})
    cases: tuple[CaseEntry, ...] = ()


class Learned(Protocol):
    """Both may raise ``StoreUnavailable``."""

    async def recall(self, tenant: str, process_type: str) -> Experience:
        """Everything there is, in one round trip."""
        ...

    async def note_tools(self, tenant: str, names: frozenset[str]) -> None:
        """Remember that the tenant has tools of these names."""
        ...

    async def translation(self, tenant: str, key: str) -> str | None:
        """What was kept under that key; None if nothing is."""
        ...

    async def keep_translation(self, tenant: str, key: str, text: str) -> None:
        """Keep a translated policy for the tenant's later tasks, for as long as it is asked for."""
        ...


# --- the runner's side --------------------------------------------------------------------------------------------


class Fault(StrEnum):
    """What upkeep finds and mends; each is counted."""

    NOT_WOKEN = "accepted_not_woken"  # work waited and nobody had been told, or had room; a retry whose time has come
    NOT_RUNNING = "claimed_not_running"  # a lease under which no turn was ever begun
    OWNER_GONE = "owner_gone"  # a turn was begun, and its owner fell silent
    NOT_OWNED = "running_not_owned"  # a turn ran on here although its lease was gone
    OUTCOME_MISSING = "outcome_not_emitted"  # a task had ended, and the learner was not told
    TIMER_OVERDUE = "timer_overdue"  # a deadline passed, and its turn was not there yet


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


class UnreadableTurn(Exception):
    """The next turn, or its task's record, is stored as nothing that can be read; the message says what is wrong.

    ``turn`` is None where the turn itself cannot be read; ``task_id`` is then a guess, or empty.
    """

    def __init__(self, why: str, turn_id: str, task_id: str, attempts: int, now: datetime, turn: Turn | None) -> None:
        super().__init__(why)
        self.turn_id = turn_id
        self.task_id = task_id
        self.attempts = attempts
        self.now = now
        self.turn = turn


class Sessions(Protocol):
    async def claim(self, tenant: str, session_id: str) -> Lease | None:
        """The session's lease, or None if another owner holds it or nothing waits there.

        Do not claim what this process holds: a living lease of its own is one whose claim it never heard of.
        """
        ...

    async def extend_all(self, leases: Sequence[Lease]) -> Sequence[Lease]:
        """The heartbeat of all of them in one round trip; those that are lost."""
        ...

    async def next(self, lease: Lease) -> Work | None:
        """Begin the session's next turn (decisions and cancels first), leaving it queued until it is finished.

        While the tenant is stopped only cancels are begun. Raises ``UnreadableTurn``.
        """
        ...

    async def release(self, lease: Lease) -> bool:
        """Give the lease back; False, and nothing is released, if something waits there that ``next`` would begin."""
        ...

    async def abandon(self, lease: Lease, retry_in: float = 0.0, *, handed_over: bool = False, error: str = "") -> None:
        """Give the lease back although work waits; another executor is asked to take it after ``retry_in`` seconds.

        ``handed_over``: this process stops in good order; the turn it had begun has not used up an attempt.
        ``error``: what broke the turn, for whoever gives it up at last.
        """
        ...

    async def bury(self, lease: Lease, letter: DeadTurn) -> None:
        """Put a turn that is given up to the dead letters, once; raises ``LeaseLost``."""
        ...

    async def bury_unread(self, lease: Lease, letter: DeadTurn, outcome: TaskOutcome) -> None:
        """Put a turn that cannot be read to the dead letters and end its task ``failed``; raises ``LeaseLost``."""
        ...

    async def emit_missing(self, lease: Lease, outcome: TaskOutcome) -> bool:
        """Emit the outcome of an ended task for which none was ever emitted; raises ``LeaseLost``."""
        ...

    def halt(self) -> None:
        """From now on every turn of this process is stopped at its next pulse, by ``HandedOver``."""
        ...

    def turn_store(self, lease: Lease, work: Work) -> TurnStore: ...


class Seats(Protocol):
    """Fair shares: a session is worked on only while it has a seat. May raise ``StoreUnavailable``."""

    async def take(self, tenant: str, session_id: str) -> bool:
        """A seat, if the tenant has not its full share; if it has, the session is woken when one is free."""
        ...

    async def leave(self, tenant: str, session_id: str) -> None:
        """Give a seat back that was taken here, and wake whoever waited for it."""
        ...

    async def keep(self) -> None:
        """Keep the seats that were taken here; runs until cancelled."""
        ...


class SeatStore(Protocol):
    """The seats of tenants with a cap, over all executors; a seat ends ``seconds`` after it was last taken."""

    async def take(self, tenant: str, session_id: str, cap: int, seconds: float) -> bool:
        """Seat the session if fewer than ``cap`` are seated, or it is already; else it joins the queue."""
        ...

    async def leave(self, tenant: str, session_id: str) -> str | None:
        """Free the seat; the session that leaves the queue for it, if one waits."""
        ...

    async def extend(self, seats: Sequence[tuple[str, str]], seconds: float) -> None: ...

    async def put_off(self, tenant: str, session_id: str) -> None:
        """Let the reaper leave the session alone for a while."""
        ...


class Wakes(Protocol):
    async def wake(self, tenant: str, session_id: str) -> None:
        """Ask some executor to claim the session. May be lost or doubled without harm."""
        ...


# --- ended tasks --------------------------------------------------------------------------------------------------


class EndedTask(NamedTuple):
    """A task that has ended and is not archived yet."""

    tenant: str
    session_id: str
    task_id: str


class EndedTasks(Protocol):
    """Ended tasks in the durable store. All may raise ``StoreUnavailable``."""

    async def take(self, partitions: Collection[int], most: int) -> tuple[EndedTask, ...]:
        """Tasks of these partitions to be archived now; nobody else takes them for half a minute."""
        ...

    async def read(self, task: EndedTask) -> bytes | None:
        """Everything that is known of it, as an ``ArchivedTask``; None if it is gone."""
        ...

    async def let_go(self, tasks: Sequence[EndedTask], *, archived: bool) -> None:
        """They need not be kept any longer than stated: shorter if they are archived. Repeat it freely."""
        ...


# --- upkeep -------------------------------------------------------------------------------------------------------


class Waiting(NamedTuple):
    """A session that has work and no living lease."""

    tenant: str
    session_id: str


class DueTimer(NamedTuple):
    """A timer whose moment has come."""

    tenant: str
    session_id: str
    task_id: str
    subject: str
    now: datetime

    @property
    def session(self) -> Waiting:
        return Waiting(self.tenant, self.session_id)


class Overdue(NamedTuple):
    """What one look at all partitions found; ``outcomes`` is how many have not been applied by the learner."""

    unwoken: tuple[Waiting, ...] = ()
    orphaned: tuple[Waiting, ...] = ()  # their owner's lease has run out
    timers: tuple[DueTimer, ...] = ()
    outcomes: int = 0

    @property
    def sessions(self) -> tuple[Waiting, ...]:
        return (*self.unwoken, *self.orphaned)


class Upkeep(Protocol):
    async def overdue(self) -> Overdue:
        """Sessions whose wake or owner was lost, and due timers; what another executor is looking after is left out."""
        ...

    async def fire(self, timer: DueTimer, turn: Turn) -> bool:
        """Put the turn before the session's inbox, once; False if the timer is gone or its task has ended."""
        ...

    async def count(self, mended: Mapping[Fault, int]) -> None:
        """Add to the counts of the whole installation; after a lost reply one may be counted twice."""
        ...

"""What the gateway needs from outside, in its own words."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from types import MappingProxyType
from typing import NamedTuple, Protocol

from shared.contracts.api_key import ApiKey
from shared.contracts.approval import Approval
from shared.contracts.made_tool import MadeTool
from shared.contracts.policy import Policy
from shared.contracts.task import Principal, TaskEvent, TaskRecord
from shared.contracts.tenant_document import FieldProblem
from shared.domain.bandit import Arm
from shared.domain.exact_json import JsonObject
from shared.ports.store import StoreUnavailable
from shared.ports.tasks import Accepted, SessionBelongsToOther, TaskEnded, Tasks, TenantIsStopped, Wakes

__all__ = [
    "Accepted",
    "Admitted",
    "Allowance",
    "Approvals",
    "Caller",
    "Credential",
    "DeadLetter",
    "DeadLetters",
    "Errand",
    "Identity",
    "Keyring",
    "Learning",
    "LetterKind",
    "Measure",
    "Meter",
    "Question",
    "Readiness",
    "SessionBelongsToOther",
    "SignIns",
    "Standing",
    "Statistics",
    "StoreUnavailable",
    "Stories",
    "TaskEnded",
    "Tasks",
    "TenantIsStopped",
    "Thread",
    "Threads",
    "Wakes",
    "Workshop",
]


class Caller(NamedTuple):
    tenant: str
    principal: Principal


class Identity(Protocol):
    async def at_the_door(self, headers: Mapping[str, str]) -> Caller | None:
        """Who is let in by what came in the headers; None where nobody checks.

        Raises ``Unauthenticated``, and may raise ``StoreUnavailable``.
        """
        ...

    def caller_of(self, let_in: Caller | None, metadata: JsonObject) -> Caller:
        """Who sends a request that was let in. ``metadata`` is what it says of itself; raises ``InvalidField``."""
        ...

    async def admit(self, headers: Mapping[str, str], errand: "Errand") -> "Admitted":  # noqa: ARG002  not counted here
        """Like ``at_the_door``, and what the request costs is counted, where anything is.

        Also raises ``TooManyRequests``.
        """
        return Admitted(await self.at_the_door(headers))


class Errand(StrEnum):
    """What a request costs: nothing, a request, a message, or both."""

    LOOK = "look"
    REQUEST = "request"
    MESSAGE = "message"
    REQUEST_AND_MESSAGE = "request_and_message"


class Allowance(NamedTuple):
    """How much a caller may ask for: requests and messages a minute, messages a day (UTC); 0 is without limit."""

    requests: int = 0
    messages: int = 0
    daily: int = 0


class Measure(NamedTuple):
    """A limit and how a caller stands to it: ``left`` of ``quota``, which is whole again in ``whole_in`` seconds."""

    name: str
    quota: int
    window: int
    left: int
    whole_in: float


class Standing(NamedTuple):
    """``used_up`` names the limit that refuses a request, which may be sent again in ``wait`` seconds."""

    measures: tuple[Measure, ...] = ()
    used_up: str = ""
    wait: float = 0


class Admitted(NamedTuple):
    """Who was let in, where they stand, and what counts one message of theirs (raises ``TooManyRequests``)."""

    caller: Caller | None
    standing: Standing = Standing()
    count_message: Callable[[], Awaitable[Standing]] | None = None


class Meter(Protocol):
    """What callers have asked for lately, over all replicas. Both may raise ``StoreUnavailable``."""

    async def of_key(
        self, key_id: str, digest: str, errand: Errand, usual: Allowance
    ) -> tuple[ApiKey | None, Standing]:
        """A key, and its standing once the errand is counted: by its own allowance, else by the usual one.

        Counted only where the digest is that of the key's secret, so that nobody uses up another's allowance.
        """
        ...

    async def of_bearer(self, caller: Caller, errand: Errand, usual: Allowance) -> Standing: ...


class Keyring(Protocol):
    """The API keys. All may raise ``StoreUnavailable`` and may be repeated."""

    async def find(self, key_id: str) -> ApiKey | None: ...

    async def of(self, tenant: str) -> Sequence[ApiKey]: ...

    async def add(self, key: ApiKey) -> None: ...

    async def revoke(self, key: ApiKey, at: datetime) -> None:
        """The first time counts."""
        ...


class Credential(NamedTuple):
    """What somebody signed in to the console with: a key or token, or, where nobody checks, a name alone."""

    token: str = ""
    name: str = ""


class SignIns(Protocol):
    """Who is signed in to the console, the same for every replica. All may raise ``StoreUnavailable``."""

    async def begin(self, credential: Credential) -> str:
        """A secret that stands for the credential until it is ended or too old: what the browser's cookie holds."""
        ...

    async def find(self, secret: str) -> Credential | None: ...

    async def end(self, secret: str) -> None: ...

    async def refused(self, address: str) -> None:
        """Count one sign-in that was refused."""
        ...

    async def refusals(self, address: str) -> int:
        """How many there were lately."""
        ...


class Stories(Protocol):
    async def told(self, record: TaskRecord) -> Sequence[tuple[str, TaskEvent]]:
        """The task's events so far, each with its id; none once they have left. May raise ``StoreUnavailable``."""
        ...


class Question(NamedTuple):
    """An approval, and the task that waits for it."""

    approval: Approval
    record: TaskRecord


class Approvals(Protocol):
    """Both may raise ``StoreUnavailable``."""

    async def waiting(self, tenant: str) -> Sequence[Question]:
        """Every approval of the tenant that is not decided."""
        ...

    async def find(self, tenant: str, approval_id: str) -> Question | None:
        """That approval, decided or not; None if there is none, or its deadline is over."""
        ...


class Thread(NamedTuple):
    """What is remembered of a client's own task id, and of one message (a fingerprint) under it.

    ``task_id`` is the newest task of that id, ``signalled`` the decision already handed on, and ``answered`` the last
    turn whose answer the client was given: until then, the same message again is the same turn.
    """

    task_id: str | None = None
    signalled: str = ""
    answered: str = ""


class Threads(Protocol):
    async def of(self, tenant: str, client_id: str, fingerprint: str) -> Thread: ...

    async def points_to(self, tenant: str, client_id: str, task_id: str) -> None: ...

    async def signalled(self, tenant: str, client_id: str, fingerprint: str, turn_id: str) -> None: ...

    async def answered(self, tenant: str, client_id: str, fingerprint: str, turn_id: str) -> None: ...


class LetterKind(StrEnum):
    TURN = "turn"
    OUTCOME = "outcome"


class DeadLetter(NamedTuple):
    """A turn that was given up, or an outcome that could not be learned from.

    ``tenant`` is None, and there is no ``content``, where it cannot be read; ``content`` is a ``DeadTurn`` or a
    ``TaskOutcome``.
    """

    letter_id: str
    kind: LetterKind
    at: datetime
    tenant: str | None = None
    session_id: str = ""
    task_id: str = ""
    reason: str = ""
    error: str = ""
    tries: int = 0
    content: str = ""


class DeadLetters(Protocol):
    """All may raise ``StoreUnavailable``. A letter whose tenant cannot be read belongs to every tenant's operators."""

    async def newest(self, tenant: str, limit: int) -> Sequence[DeadLetter]: ...

    async def find(self, tenant: str, letter_id: str) -> DeadLetter | None: ...

    async def drop(self, letter: DeadLetter) -> bool:
        """Take it out for good; False if it was gone."""
        ...

    async def replay(self, letter: DeadLetter) -> bool:
        """Hand an outcome to the learner once more and take the letter out, in one step; False if it was gone."""
        ...


class Readiness(Protocol):
    async def problems(self) -> tuple[str, ...]:
        """Why this replica should get no requests, one sentence each; empty when it is ready."""
        ...


class Learning(NamedTuple):
    """What was learned for one tenant: entries in the case log, counts over all ended tasks, arms by process type and
    strategy, and how many tools and synthesized processes are known.
    """

    cases: int = 0
    counts: Mapping[str, int] = MappingProxyType({})
    arms: Mapping[str, Mapping[str, Arm]] = MappingProxyType({})
    tools: int = 0
    synthesized: int = 0


class DaySpent(NamedTuple):
    """What a tenant's model calls used on one day of its calendar, and what is set aside for calls under way."""

    date: str
    tokens: int = 0
    nanos: int = 0  # billionth parts of a dollar
    calls: int = 0
    reserved_tokens: int = 0
    reserved_nanos: int = 0


class TenantState(NamedTuple):
    """``stopped``: why, if it is. ``waiting`` and ``running`` count sessions.

    ``made_tools``: whether an operator switched the making of tools on or off; None is as the tenant's record says.
    """

    stopped: str | None = None
    waiting: int = 0
    running: int = 0
    spent: tuple[DaySpent, ...] = ()
    made_tools: bool | None = None


class Workshop(Protocol):
    """The tools that were made at run time. All may raise ``StoreUnavailable`` and may be repeated."""

    async def of(self, tenant: str) -> Sequence[MadeTool]:
        """Every version there ever was, by name and version; the removed ones have no code."""
        ...

    async def remove(self, tenant: str, tool: MadeTool) -> None:
        """Put the removed tool in the place of that version."""
        ...


class Tenants(Protocol):
    """All may raise ``StoreUnavailable`` and may be repeated."""

    async def stop(self, tenant: str, reason: str) -> None:
        """Take no messages, and stop what runs before its next call, until ``resume``."""
        ...

    async def resume(self, tenant: str) -> None: ...

    async def switch_made_tools(self, tenant: str, on: bool) -> None:
        """From the next turn on."""
        ...

    async def state(self, tenant: str, now: datetime) -> TenantState:
        """As it stands; its days are those around ``now``."""
        ...


class PolicyUnchecked(Exception):
    """Nobody can say whether the rules of a record can be understood; the message says why."""


class PolicyCheck(Protocol):
    async def problems(self, policies: Sequence[Policy]) -> tuple[FieldProblem, ...]:
        """What is wrong with these policies' rules; raises ``PolicyUnchecked``."""
        ...


class Statistics(Protocol):
    async def learning(self, tenant: str) -> Learning:
        """The tenant's statistics as they stand; may raise ``StoreUnavailable``."""
        ...

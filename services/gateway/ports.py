"""What the gateway needs from outside, in its own words."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple, Protocol

from shared.contracts.task import Principal
from shared.domain.bandit import Arm
from shared.domain.exact_json import JsonObject
from shared.ports.store import StoreUnavailable
from shared.ports.tasks import Accepted, SessionBelongsToOther, TaskEnded, Tasks, Wakes

__all__ = [
    "Accepted",
    "Caller",
    "Identity",
    "Learning",
    "Readiness",
    "SessionBelongsToOther",
    "Statistics",
    "StoreUnavailable",
    "TaskEnded",
    "Tasks",
    "Thread",
    "Threads",
    "Wakes",
]


class Caller(NamedTuple):
    tenant: str
    principal: Principal


class Identity(Protocol):
    def caller_of(self, headers: Mapping[str, str], metadata: JsonObject) -> Caller:
        """Who sends this request. ``metadata`` is what the request says of itself; raises ``InvalidField``."""
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


class Statistics(Protocol):
    async def learning(self, tenant: str) -> Learning:
        """The tenant's statistics as they stand; may raise ``StoreUnavailable``."""
        ...

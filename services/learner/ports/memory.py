"""The ports that finding and keeping facts and entities needs."""

from collections.abc import Mapping, Sequence
from datetime import date, datetime
from typing import NamedTuple, Protocol, TypeAlias

from shared.contracts.base import Contract
from shared.contracts.knowledge import Accuracy, EntityLinks, KnownEntity, KnownFact
from shared.contracts.learning_files import ForgetRequest
from shared.domain.exact_json import JsonObject


class FactTodo(Contract):
    """A task whose facts are still to be found: its texts, shortened, without what the privacy guard marks."""

    tenant: str
    event_id: str
    task_id: str
    session_id: str
    process_type: str
    quality: float
    ended_at: datetime
    task: str
    answer: str
    values: dict[str, str] = {}
    entities: tuple[str, ...] = ()


Prediction: TypeAlias = tuple[str, str]  # process type and kind of threshold


class StoredKnowledge(NamedTuple):
    """What is stored of some entities (by field) and predictions of a tenant, and its version.

    ``remembered``: which of the given events are remembered already.
    """

    version: str
    remembered: frozenset[str]
    entities: Mapping[str, KnownEntity]
    links: Mapping[str, EntityLinks]
    accuracy: Mapping[Prediction, Accuracy]


class MemoryChange(NamedTuple):
    """What some events of a tenant change: rows by their fields. ``todos``: tasks whose facts are to be found."""

    tenant: str
    event_ids: tuple[str, ...]
    entities: Mapping[str, KnownEntity]
    links: Mapping[str, EntityLinks]
    accuracy: Mapping[Prediction, Accuracy]
    todos: tuple[FactTodo, ...] = ()


class MemorySpoiled(Exception):
    """What is stored of one tenant is unusable, though the store answers; a retry does not help."""


class KnowledgeRepository(Protocol):
    """Entities and predictions of tenants. Every method may raise ``StoreUnavailable``; ``read_known`` and ``keep``
    also ``MemorySpoiled``.
    """

    async def read_known(
        self, tenant: str, event_ids: Sequence[str], entities: Sequence[str], predictions: Sequence[Prediction]
    ) -> StoredKnowledge: ...

    async def keep(self, change: MemoryChange, version: str) -> bool:
        """Store what events change in one step, each once, and queue its todos.

        False, with nothing changed, if the tenant's memory has another version by now.
        """

    async def queue(self, tenant: str, event_ids: Sequence[str]) -> None:
        """Queue the events' tasks to be searched for facts; harmless for those that were or have none."""


class KnownFacts(NamedTuple):
    """A tenant's facts as they are stored, the newest first, and the version they have."""

    version: str
    rows: tuple[tuple[str, KnownFact], ...]


class FactChange(NamedTuple):
    """Stored rows to remove, and facts to add, the newest last."""

    gone: tuple[str, ...]
    come: tuple[KnownFact, ...]


NO_CHANGE = FactChange((), ())


class FactCost(NamedTuple):
    """What finding facts cost, or may cost: calls, tokens, and nano-dollars."""

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    nanos: int = 0


class FactRepository(Protocol):
    """Facts of tenants, and the tasks still to be searched for facts.

    All may raise ``StoreUnavailable``; ``find_task_to_search``, ``facts`` and ``keep`` also ``MemorySpoiled``.
    """

    async def claim(self, most: int, seconds: float) -> Sequence[tuple[str, str]]:
        """Claim, for so many seconds, events to be searched for facts; gives their tenants and ids."""

    async def find_task_to_search(self, tenant: str, event_id: str) -> FactTodo | None:
        """The task of that event; None if it was searched, or is to be forgotten."""

    async def facts(self, tenant: str) -> KnownFacts: ...

    async def keep(self, todo: FactTodo, change: FactChange, counts: Mapping[str, int], version: str = "") -> bool:
        """Store facts and remove the todo in one step; False if the tenant's memory has another version by now.

        ``NO_CHANGE`` fits any version.
        """

    async def finish(self, done: Sequence[tuple[str, str]]) -> None:
        """Remove events from those to be searched for facts."""

    async def give_up(self, tenant: str, event_id: str) -> None:
        """Search a task no more, as far as its tenant's memory can be written. It may be repeated."""

    async def postpone(self, tenant: str, event_id: str, seconds: float) -> None: ...


class FactsUnavailable(Exception):
    """The model could not be asked, or gave no usable answer. ``cost``: what that cost."""

    def __init__(self, why: str, cost: FactCost = FactCost()) -> None:  # noqa: B008  # immutable
        super().__init__(why)
        self.cost = cost


class RawFact(NamedTuple):
    """One fact as the model gave it."""

    subject: str
    attribute: str
    value: str
    text: str
    confidence: float


class BudgetDay(NamedTuple):
    """A tenant's present day, and what may be spent in it; None is no limit."""

    date: date
    tokens: int | None = None
    nanos: int | None = None


class TenantBudgets(Protocol):
    """The daily budgets of tenants. All methods may raise ``StoreUnavailable`` and may be repeated."""

    async def read_day(self, tenant: str, now: datetime) -> BudgetDay | None:
        """The tenant's day; None if its limits cannot be known: then nothing may be spent."""

    async def reserve(self, todo: FactTodo, most: FactCost, day: BudgetDay) -> bool:
        """Reserve the most that finding a task's facts may cost; False if the day's budget is too small."""

    async def settle(self, todo: FactTodo, cost: FactCost, day: BudgetDay) -> None:
        """Count the actual cost in place of what was reserved."""


class FactFinder(Protocol):
    def max_cost(self, sections: JsonObject) -> FactCost:
        """The most that finding facts in these sections may cost."""

    async def find(self, sections: JsonObject) -> tuple[Sequence[RawFact], FactCost]:
        """The facts found in a task's sections, and their cost; raises ``FactsUnavailable``."""


class Forgetting(Protocol):
    """Requests to forget, and how they are carried out. All methods may raise ``StoreUnavailable``."""

    async def claim(self, most: int, seconds: float) -> Sequence[ForgetRequest]: ...

    async def remove_stored(self, request: ForgetRequest) -> Mapping[str, int]:
        """Remove what is stored; returns how much of each kind. It may be repeated."""

    async def has_older_outcomes(self, request: ForgetRequest) -> bool:
        """Whether outcomes older than the request are still to be learned, which might bring something back."""

    async def store_state(self, request: ForgetRequest, seconds: float | None) -> bool:
        """Store the request's state; it is claimed again after so many seconds, or never (None).

        False if it is to be carried out anew instead, because the store may have lost the last that was taken away.
        """

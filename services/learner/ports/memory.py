"""The ports for finding, keeping and forgetting facts and entities."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import NamedTuple, Protocol, TypeAlias

from pydantic import BaseModel, ConfigDict, Field

from shared.contracts.base import Contract
from shared.contracts.knowledge import EntityLinks, KnownEntity, KnownFact, PredictionAccuracy
from shared.contracts.learning_files import ForgetRequest


class TaskToSearchForFacts(Contract):
    """A task that is still to be searched for facts: its texts, shortened, with protected values removed."""

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


PredictionKey: TypeAlias = tuple[str, str]  # process type and kind of threshold


class StoredKnowledge(NamedTuple):
    """What is stored of some entities (by field) and predictions of a tenant, and its version.

    ``remembered``: which of the given events are known already.
    """

    version: str
    remembered: frozenset[str]
    entities: Mapping[str, KnownEntity]
    links: Mapping[str, EntityLinks]
    accuracy: Mapping[PredictionKey, PredictionAccuracy]


class MemoryChange(NamedTuple):
    """The new rows to which some events of a tenant lead: ``entities`` and ``links`` by the entity's field,
    ``accuracy`` by prediction. ``todos``: tasks to be searched for facts.
    """

    tenant: str
    event_ids: tuple[str, ...]
    entities: Mapping[str, KnownEntity]
    links: Mapping[str, EntityLinks]
    accuracy: Mapping[PredictionKey, PredictionAccuracy]
    todos: tuple[TaskToSearchForFacts, ...] = ()


class MemorySpoiled(Exception):
    """A tenant's stored memory is unusable, although the store answers; a retry does not help."""


class KnowledgeRepository(Protocol):
    """Entities and predictions of tenants. Every method may raise ``StoreUnavailable``; ``read_known`` and
    ``store_change`` also ``MemorySpoiled``.
    """

    async def read_known(
        self, tenant: str, event_ids: Sequence[str], entities: Sequence[str], predictions: Sequence[PredictionKey]
    ) -> StoredKnowledge: ...

    async def store_change(self, change: MemoryChange, version: str) -> bool:
        """Stores in one step what the events change, each event once, and queues the todos.

        Returns False, with nothing changed, if the tenant's memory no longer has that version.
        """

    async def queue_searches(self, tenant: str, event_ids: Sequence[str]) -> None:
        """Queues the events' tasks to be searched for facts; harmless for those that were searched or have none."""


class KnownFacts(NamedTuple):
    """A tenant's stored facts, newest first, and their version."""

    version: str
    rows: tuple[tuple[str, KnownFact], ...]


class FactChange(NamedTuple):
    """A change of a tenant's facts: stored rows to remove, and facts to add, the newest last."""

    removed_rows: tuple[str, ...]
    added_facts: tuple[KnownFact, ...]


NO_FACT_CHANGE = FactChange((), ())


class FactCost(NamedTuple):
    """The actual or highest possible cost of finding facts: calls, tokens, and nano-dollars."""

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    nanos: int = 0


class FactRepository(Protocol):
    """Facts of tenants, and the tasks to be searched for facts.

    Every method may raise ``StoreUnavailable``; ``find_task_to_search``, ``read_facts`` and ``store_facts``
    also ``MemorySpoiled``.
    """

    async def claim_tasks_to_search(self, limit: int, seconds: float) -> Sequence[tuple[str, str]]:
        """Claims tasks to be searched for facts, for that many seconds; returns ``(tenant, event id)`` of each."""

    async def find_task_to_search(self, tenant: str, event_id: str) -> TaskToSearchForFacts | None:
        """The task of that event; None if it was searched, or is to be forgotten."""

    async def read_facts(self, tenant: str) -> KnownFacts: ...

    async def store_facts(
        self, todo: TaskToSearchForFacts, change: FactChange, counts: Mapping[str, int], version: str = ""
    ) -> bool:
        """Stores the change, adds ``counts`` to the tenant's counts by name, and removes the todo, in one step.

        ``version``: that of the memory from which the change was made; only ``NO_FACT_CHANGE`` may go without.
        False, with nothing stored, if the memory has another one by now.
        """

    async def finish_searches(self, searched: Sequence[tuple[str, str]]) -> None:
        """Remove events from those to be searched for facts."""

    async def give_up(self, tenant: str, event_id: str) -> None:
        """Removes a task from those to be searched, if its tenant's memory can be written. May be repeated."""

    async def postpone(self, tenant: str, event_id: str, seconds: float) -> None: ...


class FactSearchFailed(Exception):
    """A task could not be searched for facts: the model could not be asked, or gave no usable answer. ``cost``: what
    that cost.
    """

    def __init__(self, reason: str, cost: FactCost = FactCost()) -> None:  # noqa: B008  # immutable
        super().__init__(reason)
        self.cost = cost


class RawFact(BaseModel):
    """One fact as the model gives it."""

    model_config = ConfigDict(frozen=True)

    subject: str
    attribute: str
    value: str
    text: str
    confidence: float = Field(ge=0, le=1)


class Forgetting(Protocol):
    """Requests to forget, and how they are carried out. Every method may raise ``StoreUnavailable``."""

    async def claim(self, limit: int, seconds: float) -> Sequence[ForgetRequest]: ...

    async def remove_stored(self, request: ForgetRequest) -> Mapping[str, int]:
        """Removes what is stored; returns the counts by kind. May be repeated."""

    async def has_older_outcomes(self, request: ForgetRequest) -> bool:
        """Whether outcomes from before the request are still to be learned, which might bring something back."""

    async def store_state(self, request: ForgetRequest, seconds: float | None) -> bool:
        """Stores the request's state; it is claimed again after that many seconds, or never (None).

        False if it must be carried out again, because the store may have lost the last removal.
        """

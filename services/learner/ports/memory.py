"""What is read and written to find, keep and forget facts and entities."""

from collections.abc import Mapping
from datetime import datetime
from typing import NamedTuple, TypeAlias

from pydantic import BaseModel, ConfigDict, Field

from shared.contracts.base import Contract
from shared.contracts.knowledge import EntityLinks, KnownEntity, KnownFact, PredictionAccuracy


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
    """What is stored of some entities (by field) and predictions of a tenant, and the version of both.

    ``remembered``: those of the given events that were stored before.
    """

    version: str
    remembered: frozenset[str]
    entities: Mapping[str, KnownEntity]
    links: Mapping[str, EntityLinks]
    accuracy: Mapping[PredictionKey, PredictionAccuracy]


class MemoryChange(NamedTuple):
    """The new stored values to which some events of a tenant lead: ``entities`` and ``links`` by the entity's field,
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
    """What a model's search for facts cost, or may cost at most: calls, tokens, and nano-dollars."""

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    nanos: int = 0


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

"""What finding and keeping facts and entities needs of the world, in the core's own words."""

from collections.abc import Mapping, Sequence
from datetime import date, datetime
from types import MappingProxyType
from typing import NamedTuple, Protocol, TypeAlias

from shared.contracts.knowledge import Accuracy, EntityLinks, KnownEntity, KnownFact
from shared.contracts.learning_files import ForgetRequest
from shared.domain.exact_json import JsonObject


class FactTodo(NamedTuple):
    """A task of which facts are still to be found: what it says, bounded and without anything marked."""

    tenant: str
    event_id: str
    task_id: str
    session_id: str
    process_type: str
    quality: float
    ended_at: datetime
    task: str
    answer: str
    values: Mapping[str, str] = MappingProxyType({})
    entities: tuple[str, ...] = ()


Prediction: TypeAlias = tuple[str, str]  # process type and kind of threshold


class StoredKnowledge(NamedTuple):
    """What is stored of some entities (by field) and predictions of a tenant, and the version it has.

    ``remembered``: which of the events that were asked about are remembered already.
    """

    version: str
    remembered: frozenset[str]
    entities: Mapping[str, KnownEntity]
    links: Mapping[str, EntityLinks]
    accuracy: Mapping[Prediction, Accuracy]


class MemoryChange(NamedTuple):
    """What some events of a tenant change: rows by their fields. ``todos``: those whose facts are still to be found."""

    tenant: str
    event_ids: tuple[str, ...]
    entities: Mapping[str, KnownEntity]
    links: Mapping[str, EntityLinks]
    accuracy: Mapping[Prediction, Accuracy]
    todos: tuple[FactTodo, ...] = ()


class Spoiled(Exception):
    """What is stored of one tenant cannot be worked with, though the store answers; trying later does not help."""


class KnowledgeRepository(Protocol):
    """Entities and predictions of tenants. Every method may raise ``StoreUnavailable``, the first two ``Spoiled``."""

    async def read_known(
        self, tenant: str, event_ids: Sequence[str], entities: Sequence[str], predictions: Sequence[Prediction]
    ) -> StoredKnowledge: ...

    async def keep(self, change: MemoryChange, version: str) -> bool:
        """Store what events change, once, in one step, and have the facts of its todos found; False if the tenant's
        memory is another one by now.
        """

    async def queue(self, tenant: str, event_ids: Sequence[str]) -> None:
        """Have the events' facts found; harmless if they were, or if there are none to be found."""


class KnownFacts(NamedTuple):
    """A tenant's facts as they are stored, the newest first, and the version they have."""

    version: str
    rows: tuple[tuple[str, KnownFact], ...]


class FactChange(NamedTuple):
    """Rows that leave, as they were stored, and facts that come, the newest last."""

    gone: tuple[str, ...]
    come: tuple[KnownFact, ...]


NO_CHANGE = FactChange((), ())


class Cost(NamedTuple):
    """What finding facts took, or may take: calls, tokens, and billionth parts of a dollar."""

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    nanos: int = 0


class FactBook(Protocol):
    """Facts of tenants, and the tasks of which they are still to be found.

    All may raise ``StoreUnavailable``; ``find_task_to_search``, ``facts`` and ``keep`` also ``Spoiled``.
    """

    async def claim(self, most: int, seconds: float) -> Sequence[tuple[str, str]]:
        """Tenants and events whose facts are to be found now; nobody else gets them for that time."""

    async def find_task_to_search(self, tenant: str, event_id: str) -> FactTodo | None:
        """The ended task of that event, to be searched for facts; None if it was done, or is to be forgotten."""

    async def facts(self, tenant: str) -> KnownFacts: ...

    async def keep(self, todo: FactTodo, change: FactChange, counts: Mapping[str, int], version: str = "") -> bool:
        """Store facts and take the todo out, in one step; False if the tenant's memory has another version by now.

        ``NO_CHANGE`` fits any version.
        """

    async def finish(self, done: Sequence[tuple[str, str]]) -> None:
        """Take tenants' events out of those whose facts are to be found."""

    async def give_up(self, tenant: str, event_id: str) -> None:
        """Do without a task's facts, as far as its tenant's memory can be written; repeat it freely."""

    async def put_off(self, tenant: str, event_id: str, seconds: float) -> None: ...


class FactsUnavailable(Exception):
    """The model could not be asked, or gave nothing that can be used. ``cost`` is what that took."""

    def __init__(self, why: str, cost: Cost = Cost()) -> None:  # noqa: B008  # immutable
        super().__init__(why)
        self.cost = cost


class RawFact(NamedTuple):
    """One fact as it was found."""

    subject: str
    attribute: str
    value: str
    text: str
    confidence: float


class PurseDay(NamedTuple):
    """A tenant's present day, and what may be used in it; None is no limit."""

    date: date
    tokens: int | None = None
    nanos: int | None = None


class Purse(Protocol):
    """What tenants may spend a day. All may raise ``StoreUnavailable`` and may be repeated."""

    async def day(self, tenant: str, now: datetime) -> PurseDay | None:
        """None where nobody can say what the tenant may use: then nothing is to be spent."""

    async def reserve(self, todo: FactTodo, most: Cost, day: PurseDay) -> bool:
        """Set aside the most that finding a task's facts may cost; False where the tenant's day has no room for it."""

    async def settle(self, todo: FactTodo, cost: Cost, day: PurseDay) -> None:
        """Count what it did cost in place of what was set aside."""


class FactFinder(Protocol):
    def most(self, sections: JsonObject) -> Cost:
        """The most that finding facts in these may cost."""

    async def find(self, sections: JsonObject) -> tuple[Sequence[RawFact], Cost]:
        """Facts in what a task left behind; raises ``FactsUnavailable``."""


class Forgetting(Protocol):
    """Requests to forget, and what they take away. All may raise ``StoreUnavailable``."""

    async def claim(self, most: int, seconds: float) -> Sequence[ForgetRequest]: ...

    async def take_away(self, request: ForgetRequest) -> Mapping[str, int]:
        """Remove what is stored; how much, by what it was. Repeat it freely."""

    async def is_under_way(self, request: ForgetRequest) -> bool:
        """Whether outcomes of before the request are still to be learned, which might bring back what was removed."""

    async def note(self, request: ForgetRequest, seconds: float | None) -> None:
        """Store how far it is; look at it again in so many seconds, or never."""

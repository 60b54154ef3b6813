"""The port for importing files."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple, Protocol, TypeAlias

from services.learner.ports.outcomes import StoredCase
from shared.contracts.knowledge import EntityLinks, KnownEntity, KnownFact, PredictionAccuracy
from shared.domain.bandit import Arm

ArmKey: TypeAlias = tuple[str, str]  # process type and strategy


class ArmRecord(NamedTuple):
    """One arm (a strategy's results for one process) in a learning file. ``trend``: in its stored form; empty if the
    file has none.
    """

    name: ArmKey
    arm: Arm
    trend: str = ""


class EntityRecord(NamedTuple):
    """One entity in a learning file. ``field``: the field of the Redis hash under which it is stored."""

    field: str
    entity: KnownEntity
    links: EntityLinks = EntityLinks()


class TaskStatistics(NamedTuple):
    """A tenant's counts over all tasks, counts of tasks by day (``days``), and the course of the mean reward
    (``trend``), as stored.
    """

    counts: Mapping[str, int]
    days: Mapping[str, int] = MappingProxyType({})
    trend: str = ""


class StoredVersions(NamedTuple):
    """The versions of the parts that are stored of a tenant, by which a script notices changes. ``rows``: that of
    entities and predictions.

    A part whose version is empty is not compared.
    """

    cases: str = ""
    events: str = ""
    rows: str = ""
    facts: str = ""


class LearnedSnapshot(NamedTuple):
    """What was learned of a tenant, as it was before an import. ``versions``: for noticing changes since then;
    ``loaded``: the version of each object of training rows that was loaded.
    """

    versions: StoredVersions
    cases: Sequence[StoredCase]
    arms: Mapping[ArmKey, Arm]
    events: int
    facts: Sequence[tuple[str, KnownFact | None]]
    entities: Mapping[str, KnownEntity]
    accuracy: Mapping[str, PredictionAccuracy]
    loaded: Mapping[str, str] = MappingProxyType({})


class ImportChanges(NamedTuple):
    """What an import changes. ``cases`` and ``facts``: the whole list as stored rows, or None if it stays as it is;
    ``loaded``: the versions of the objects of training rows that are loaded with it.
    """

    cases: Sequence[str] | None = None
    facts: Sequence[str] | None = None
    arms: Sequence[ArmRecord] = ()
    entities: Sequence[EntityRecord] = ()
    accuracy: Mapping[str, PredictionAccuracy] = MappingProxyType({})
    totals: TaskStatistics | None = None
    loaded: Mapping[str, str] = MappingProxyType({})


class ImportRepository(Protocol):
    """The store of what is learned of tenants, as imports use it. Both methods may raise ``StoreUnavailable``."""

    async def read_snapshot(self, tenant: str) -> LearnedSnapshot: ...

    async def store_changes(self, tenant: str, changes: ImportChanges, versions: StoredVersions) -> bool:
        """Stores changes in one step; False, with nothing changed, if a part to be changed has another version
        by now.
        """

"""What importing files needs of the world, in the core's own words."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple, Protocol, TypeAlias

from services.learner.ports.outcomes import Shelved
from shared.contracts.knowledge import Accuracy, EntityLinks, KnownEntity, KnownFact
from shared.domain.bandit import Arm

ArmName: TypeAlias = tuple[str, str]  # process type and strategy


class ArmRecord(NamedTuple):
    """One arm of a file; ``trend`` as it is kept, empty where the file has none."""

    name: ArmName
    arm: Arm
    trend: str = ""


class EntityRecord(NamedTuple):
    """One entity of a file, under the field that it has in the tenant's hash."""

    field: str
    entity: KnownEntity
    links: EntityLinks = EntityLinks()


class FileTotals(NamedTuple):
    """Counts over all tasks, by day, and how their mean came to be: fields and texts as they are kept."""

    counts: Mapping[str, int]
    days: Mapping[str, int] = MappingProxyType({})
    trend: str = ""


class Versions(NamedTuple):
    """Each differs whenever the part that it is named for does; ``rows`` are entities and predictions.

    One that is empty is of a part that does not matter.
    """

    cases: str = ""
    events: str = ""
    rows: str = ""
    facts: str = ""


class StoredFile(NamedTuple):
    """What is stored of a tenant."""

    versions: Versions
    cases: Sequence[Shelved]
    arms: Mapping[ArmName, Arm]
    events: int
    facts: Sequence[tuple[str, KnownFact | None]]
    entities: Mapping[str, KnownEntity]
    accuracy: Mapping[str, Accuracy]


class FileChanges(NamedTuple):
    """What a file changes: the whole log and the whole list of facts as texts (None: as they are), and rows."""

    cases: Sequence[str] | None = None
    facts: Sequence[str] | None = None
    arms: Sequence[ArmRecord] = ()
    entities: Sequence[EntityRecord] = ()
    accuracy: Mapping[str, Accuracy] = MappingProxyType({})
    totals: FileTotals | None = None


class ImportRepository(Protocol):
    """What is learned of a tenant, for whoever brings it from a file. Both may raise ``StoreUnavailable``."""

    async def read_stored(self, tenant: str) -> StoredFile: ...

    async def keep(self, tenant: str, brought: FileChanges, versions: Versions) -> bool:
        """Store it in one step; False, and nothing is changed, if a part that is changed has another version by now."""

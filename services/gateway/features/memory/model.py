"""What a tenant's tasks have left for later ones, and the requests to forget it."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple, Protocol

from shared.contracts.accuracy import Accuracy
from shared.contracts.case import CaseEntry
from shared.contracts.knowledge import EntityLinks, KnownEntity, KnownFact
from shared.contracts.learning_files import ForgetRequest


class Thing(NamedTuple):
    """An entity with what it was named together with, and the last tasks that named it."""

    entity: KnownEntity
    links: EntityLinks = EntityLinks()


class TenantMemory(NamedTuple):
    """``facts``: the newest first, also those that hold no more. ``accuracy`` is by process type and kind.

    ``finding``: what finding facts took, by ``keys.LEARNED_KINDS``' ``memory``.
    """

    facts: tuple[KnownFact, ...] = ()
    things: tuple[Thing, ...] = ()
    accuracy: Mapping[tuple[str, str], Accuracy] = MappingProxyType({})
    finding: Mapping[str, int] = MappingProxyType({})


class Memories(Protocol):
    """Both may raise ``StoreUnavailable``. What cannot be read is left out."""

    async def cases(self, tenant: str) -> Sequence[CaseEntry]:
        """The case log, the newest first."""
        ...

    async def read_memory(self, tenant: str) -> TenantMemory: ...


class Forgets(Protocol):
    """Requests to forget; the learner carries them out. All may raise ``StoreUnavailable``."""

    async def ask(self, request: ForgetRequest) -> None:
        """Repeat it freely."""
        ...

    async def find(self, tenant: str, request_id: str) -> ForgetRequest | None: ...

    async def requests_of(self, tenant: str) -> Sequence[ForgetRequest]:
        """The newest first."""
        ...

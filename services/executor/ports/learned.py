"""The port to what the learner has stored for a tenant."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple, Protocol

from shared.contracts.knowledge import Accuracy, CaseEntry, KnownEntity, KnownFact
from shared.contracts.outcome import ThresholdKind
from shared.domain.bandit import Arms


class Experience(NamedTuple):
    """What a tenant's earlier tasks taught: the bandit arms of one process type, and cases and facts, newest first.

    ``entities`` are in no order. ``accuracy``: how often predictions for this process type came true. ``designed``: the
    names of all stored synthesized processes, in order.
    """

    arms: Arms = MappingProxyType({})
    cases: tuple[CaseEntry, ...] = ()
    knowledge: tuple[KnownFact, ...] = ()
    entities: tuple[KnownEntity, ...] = ()
    accuracy: Mapping[ThresholdKind, Accuracy] = MappingProxyType({})
    designed: tuple[str, ...] = ()


class Learned(Protocol):
    """What a tenant's tasks have taught. Every method may raise ``StoreUnavailable``."""

    async def recall(self, tenant: str, process_type: str) -> Experience:
        """All that was learned for the process type, in one round trip."""

    async def add_tool_names(self, tenant: str, names: frozenset[str]) -> None:
        """Remembers that the tenant has tools of these names."""

    async def get_translation(self, tenant: str, key: str) -> str | None:
        """The translation that is stored under the key; None if there is none."""

    async def store_translation(self, tenant: str, key: str, text: str) -> None:
        """Stores a translated policy for the tenant's later tasks; it stays as long as tasks keep asking for it."""

    async def list_process_types(self, tenant: str) -> tuple[str, ...]:
        """The names of all synthesized processes that are kept, in order."""

    async def get_process(self, tenant: str, process_type: str) -> str | None:
        """The synthesized process that is stored under the name; None if there is none."""

    async def store_process_if_new(self, tenant: str, process_type: str, text: str) -> str:
        """Stores a synthesized process unless one of that name is stored already; returns the stored one.

        If the tenant has too many, nothing is stored, and the given one is returned.
        """

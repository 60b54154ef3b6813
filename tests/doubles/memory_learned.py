"""What was learned, in memory: a tenant's cases and arms as a test sets them."""

from collections import defaultdict

from typing_extensions import override

from services.executor.ports.services import Experience, LearnedStore
from shared.contracts.knowledge import CaseEntry, KnownEntity, KnownFact, PredictionAccuracy
from shared.contracts.outcome import ThresholdKind
from shared.domain.bandit import Arms
from shared.ports.store import StoreUnavailable


class MemoryLearned(LearnedStore):
    """``broken`` makes every call fail as a dead store would. ``arms`` is by tenant and process type."""

    def __init__(self) -> None:
        self.cases: dict[str, tuple[CaseEntry, ...]] = {}
        self.knowledge: dict[str, tuple[KnownFact, ...]] = {}
        self.entities: dict[str, tuple[KnownEntity, ...]] = {}
        self.accuracy: dict[tuple[str, str], dict[ThresholdKind, PredictionAccuracy]] = {}
        self.arms: dict[tuple[str, str], Arms] = {}
        self.tools: dict[str, set[str]] = defaultdict(set)
        self.translations: dict[tuple[str, str], str] = {}
        self.processes: dict[tuple[str, str], str] = {}
        self.broken: str | None = None

    @override
    async def recall(self, tenant: str, process_type: str) -> Experience:
        self._check()
        arms, cases = self.arms.get((tenant, process_type), {}), self.cases.get(tenant, ())
        accuracy = self.accuracy.get((tenant, process_type), {})
        known = self.knowledge.get(tenant, ()), self.entities.get(tenant, ())
        designed = tuple(sorted(name for owner, name in self.processes if owner == tenant))
        return Experience(arms, cases, *known, accuracy, designed)

    @override
    async def add_tool_names(self, tenant: str, names: frozenset[str]) -> None:
        self._check()
        self.tools[tenant] |= names

    @override
    async def get_policy_translation(self, tenant: str, key: str) -> str | None:
        self._check()
        return self.translations.get((tenant, key))

    @override
    async def store_policy_translation(self, tenant: str, key: str, text: str) -> None:
        self._check()
        self.translations[tenant, key] = text

    @override
    async def list_synthesized_processes(self, tenant: str) -> tuple[str, ...]:
        self._check()
        return tuple(sorted(name for owner, name in self.processes if owner == tenant))

    @override
    async def get_synthesized_process(self, tenant: str, process_type: str) -> str | None:
        self._check()
        return self.processes.get((tenant, process_type))

    @override
    async def store_synthesized_process_if_new(self, tenant: str, process_type: str, text: str) -> str:
        self._check()
        return self.processes.setdefault((tenant, process_type), text)

    def _check(self) -> None:
        if self.broken:
            raise StoreUnavailable(self.broken)

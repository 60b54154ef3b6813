"""What was learned."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple, Protocol

from shared.domain.bandit import Arm


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

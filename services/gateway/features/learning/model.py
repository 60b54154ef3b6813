"""What is learned of a tenant: its statistics, and as files."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple, Protocol

from pydantic import JsonValue

from shared.contracts.learning_files import FileReport, LearningFile
from shared.domain.bandit import Arm
from shared.domain.estimates import Moment
from shared.domain.exact_json import Json


class Learning(NamedTuple):
    """What was learned for one tenant: entries in the case log, counts over all ended tasks, arms by process type and
    strategy, and how many tools and synthesized processes are known.
    """

    cases: int = 0
    counts: Mapping[str, int] = MappingProxyType({})
    arms: Mapping[str, Mapping[str, Arm]] = MappingProxyType({})
    tools: int = 0
    synthesized: int = 0


class LearningHistory(NamedTuple):
    """How it came to be: the quality of all tasks, each arm by process type and strategy, and counts by day (UTC).

    Days are in order; one on which no task ended is not there.
    """

    quality: tuple[Moment, ...] = ()
    arms: Mapping[str, Mapping[str, tuple[Moment, ...]]] = MappingProxyType({})
    days: Mapping[str, Mapping[str, int]] = MappingProxyType({})


class LearningStatistics(Protocol):
    async def learning(self, tenant: str) -> Learning:
        """The tenant's statistics as they stand; may raise ``StoreUnavailable``."""
        ...

    async def history(self, tenant: str) -> LearningHistory:
        """How the tenant's statistics came to be; may raise ``StoreUnavailable``."""
        ...


class LearningFiles(Protocol):
    """Both may raise ``StoreUnavailable``."""

    async def export(self, tenant: str) -> Mapping[LearningFile, JsonValue]:
        """The content of each file, as it stands."""
        ...

    async def bring(self, tenant: str, file: LearningFile, content: Json, *, dry_run: bool) -> FileReport | None:
        """Have a file imported by the service that keeps what is in it; None if it does not answer in time.

        Repeat it freely.
        """
        ...

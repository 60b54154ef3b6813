"""What was learned for a tenant: its statistics as JSON, and the parsing of files to import."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple, Protocol

from pydantic import JsonValue

from services.gateway.edge.errors import InvalidField
from services.gateway.edge.fields import choice_at
from shared.contracts.learning_files import LearningFile
from shared.domain.bandit import REWARD_UNITS, Arm, ucb1
from shared.domain.cases import CASES_KEPT, CaseOutcome
from shared.domain.estimates import TrendPoint
from shared.domain.exact_json import Json, JsonObject


class LearningTotals(NamedTuple):
    """What was learned for one tenant, in numbers.

    ``cases``: the size of the case log; ``counts``: over all ended tasks; ``arms``: by process type and strategy;
    ``tools``, ``synthesized``: how many tools and synthesized processes are known.
    """

    cases: int = 0
    counts: Mapping[str, int] = MappingProxyType({})
    arms: Mapping[str, Mapping[str, Arm]] = MappingProxyType({})
    tools: int = 0
    synthesized: int = 0


class LearningHistory(NamedTuple):
    """Learning over time: ``quality`` of all tasks, ``arms`` by process type and strategy, counts by day (UTC).

    ``days`` are in order, without those on which no task ended.
    """

    quality: tuple[TrendPoint, ...] = ()
    arms: Mapping[str, Mapping[str, tuple[TrendPoint, ...]]] = MappingProxyType({})
    days: Mapping[str, Mapping[str, int]] = MappingProxyType({})


class LearningStatistics(Protocol):
    async def totals(self, tenant: str) -> LearningTotals:
        """The tenant's statistics now; may raise ``StoreUnavailable``."""

    async def history(self, tenant: str) -> LearningHistory:
        """The tenant's statistics over time; may raise ``StoreUnavailable``."""


def learning_view(learning: LearningTotals) -> dict[str, JsonValue]:
    """The statistics as JSON. For each arm: ``n``: pulls, ``q``: mean reward, ``ucb``: UCB1 score, null if untried."""
    return {
        "case_log": _case_log_view(learning),
        "bandit": {process_type: _arms_view(arms) for process_type, arms in sorted(learning.arms.items())},
        "tool_registry": {"size": learning.tools},
        "fsm_synthesis_cache": {"size": learning.synthesized},
    }


def _case_log_view(learning: LearningTotals) -> dict[str, JsonValue]:
    """The case log's ``size`` and ``cap`` as JSON, with counts of all tasks that ever ended."""
    return {"size": learning.cases, "cap": CASES_KEPT, **_count_view(learning.counts)}


def _count_view(counts: Mapping[str, int]) -> dict[str, JsonValue]:
    """Counts of tasks as JSON. Dry runs are included in ``total``, and have no quality."""
    judged = {outcome.value: counts.get(outcome.value, 0) for outcome in CaseOutcome}
    cases = sum(judged.values())
    quality = round(counts.get("quality_units", 0) / (cases * REWARD_UNITS), 4) if cases else None
    return {"total": counts.get("events", 0), **judged, "mean_quality": quality}


def _arms_view(arms: Mapping[str, Arm]) -> dict[str, JsonValue]:
    pulls = sum(arm.n for arm in arms.values())
    return {strategy: _arm_view(arm, ucb1(arm, pulls)) for strategy, arm in sorted(arms.items())}


def _arm_view(arm: Arm, score: float | None) -> dict[str, JsonValue]:
    return {"n": arm.n, "q": round(arm.mean_reward, 4), "ucb": None if score is None else round(score, 4)}


def parse_import(body: JsonObject) -> tuple[LearningFile, Json, bool]:
    """Parse ``{"file", "content", "dry_run"}``; raises ``InvalidField``."""
    file, dry_run = choice_at(body, "file", LearningFile), body.get("dry_run", False)
    if not isinstance(dry_run, bool):
        raise InvalidField("dry_run", "must be true or false")
    if "content" not in body:
        raise InvalidField("content", "must be the content of the file")
    return file, body["content"], dry_run

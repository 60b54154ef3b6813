"""What was learned for a tenant: its statistics as JSON, and the parsing of files to import."""

from collections import defaultdict
from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple, cast

from pydantic import JsonValue, ValidationError

from services.gateway.edge.errors import InvalidField, Unavailable
from services.gateway.edge.fields import choice_at, flag_at
from services.gateway.features.identity.api_paths import ApiCall, ApiEndpoints, api_path
from shared.contracts.learning_files import LearningFile, LearningImportReport
from shared.domain.bandit import REWARD_UNITS, Arm, compute_ucb1_score
from shared.domain.cases import CASES_KEPT, CaseOutcome
from shared.domain.estimates import TrendPoint, build_trend_points, parse_trend
from shared.domain.exact_json import Json, dumps
from shared.infra import keys
from shared.infra.learned_files import parse_arms, read_learned_files
from shared.infra.lua import ScriptedStore
from shared.infra.rpc import RpcQueue
from shared.ports.store import StoreUnavailable


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


def build_learning_view(learning: LearningTotals) -> dict[str, JsonValue]:
    """The statistics as JSON. For each arm: ``n``: pulls, ``q``: mean reward, ``ucb``: UCB1 score, null if untried."""
    return {
        "case_log": {"size": learning.cases, "cap": CASES_KEPT, **_build_count_view(learning.counts)},
        "bandit": {process_type: _build_arms_view(arms) for process_type, arms in sorted(learning.arms.items())},
        "tool_registry": {"size": learning.tools},
        "fsm_synthesis_cache": {"size": learning.synthesized},
    }


def _build_count_view(counts: Mapping[str, int]) -> dict[str, JsonValue]:
    """Counts of tasks as JSON. Dry runs are included in ``total``, and have no quality."""
    judged = {outcome.value: counts.get(outcome.value, 0) for outcome in CaseOutcome}
    cases = sum(judged.values())
    quality = round(counts.get("quality_units", 0) / (cases * REWARD_UNITS), 4) if cases else None
    return {"total": counts.get("events", 0), **judged, "mean_quality": quality}


def _build_arms_view(arms: Mapping[str, Arm]) -> dict[str, JsonValue]:
    pulls = sum(arm.n for arm in arms.values())
    scored_arms = ((strategy, arm, compute_ucb1_score(arm, pulls)) for strategy, arm in sorted(arms.items()))
    return {
        strategy: {"n": arm.n, "q": round(arm.mean_reward, 4), "ucb": None if score is None else round(score, 4)}
        for strategy, arm, score in scored_arms
    }


_IMPORT_SECONDS = 20.0


class LearnedData(ScriptedStore):
    """What was learned for tenants, in Redis. All methods may raise ``StoreUnavailable``."""

    async def read_totals(self, tenant: str) -> LearningTotals:
        """The tenant's statistics now; raises ``StoreUnavailable``, also if what is stored cannot be read."""
        names = keys.learned_keys(tenant)
        answers = await self._scripts.execute_commands(
            ("LLEN", names.cases),
            ("HGETALL", names.counts),
            ("HGETALL", names.arms),
            ("SCARD", names.tools),
            ("HLEN", names.synthesized),
        )
        cases, counts, arms, tools, synthesized = cast("tuple[int, dict[str, str], dict[str, str], int, int]", answers)
        try:
            numbers = {name: int(count) for name, count in counts.items()}
            return LearningTotals(cases, numbers, parse_arms(arms), tools, synthesized)
        except ValueError as error:
            raise StoreUnavailable(f"the statistics are spoiled: {error}") from error

    async def read_history(self, tenant: str) -> LearningHistory:
        """The tenant's statistics over time; raises ``StoreUnavailable``, also if what is stored cannot be read."""
        names = keys.learned_keys(tenant)
        answers = await self._scripts.execute_commands(("HGETALL", names.trends), ("HGETALL", names.days))
        trends, days = cast("list[dict[str, str]]", answers)
        try:
            points = {name: build_trend_points(parse_trend(text)) for name, text in trends.items()}
            return LearningHistory(
                points.pop(keys.QUALITY_TREND, ()), _group_arm_trends(points), _group_day_counts(days)
            )
        except ValueError as error:
            raise StoreUnavailable(f"the statistics are spoiled: {error}") from error

    async def export_files(self, tenant: str) -> Mapping[LearningFile, JsonValue]:
        """The tenant's learning files with their present contents."""
        return await read_learned_files(self._redis, tenant)

    async def import_file(
        self, tenant: str, file: LearningFile, content: Json, *, dry_run: bool
    ) -> LearningImportReport | None:
        """Have the learner or the executor import a file; returns its report, None if it does not answer in time.

        ``dry_run``: only the report is made. Raises ``StoreUnavailable``, also if the answer cannot be read.
        """
        service = "executor" if file is LearningFile.SYNTHESIZED else "learner"
        request: Json = {"tenant": tenant, "file": file.value, "content": content, "dry_run": dry_run}
        answer = await RpcQueue(self._redis, service).request_answer(dumps(request), _IMPORT_SECONDS)
        try:
            return None if answer is None else LearningImportReport.model_validate_json(answer)
        except ValidationError as error:
            raise StoreUnavailable(f"the {service} answered something that cannot be read") from error


def _group_arm_trends(
    trends: Mapping[str, tuple[TrendPoint, ...]],
) -> Mapping[str, Mapping[str, tuple[TrendPoint, ...]]]:
    arms: dict[str, dict[str, tuple[TrendPoint, ...]]] = defaultdict(dict)
    for field in sorted(trends):
        if arm := keys.unpack_trend_field(field):
            process_type, strategy = arm
            arms[process_type][strategy] = trends[field]
    return arms


def _group_day_counts(counts: Mapping[str, str]) -> Mapping[str, Mapping[str, int]]:
    days: dict[str, dict[str, int]] = defaultdict(dict)
    for field in sorted(counts):
        day, _, count = field.partition(":")
        days[day][count] = int(counts[field])
    return days


class LearningEndpoints(ApiEndpoints[LearnedData]):
    requires_operator = True

    @api_path("POST", "/learn/export")
    async def export_files(self, call: ApiCall) -> JsonValue:
        """Export what was learned for the caller's tenant, as ``{"files": {name: content}}``."""
        files = await self._service.export_files(call.caller.tenant)
        return {"files": {file.value: content for file, content in files.items()}}

    @api_path("POST", "/learn/import")
    async def import_file(self, call: ApiCall) -> JsonValue:
        """Import one file of learned data: ``{"file", "content", "dry_run"}``.

        If the answer has ``problems``, nothing of the file was imported. 503 if no answer comes in time: then it is not
        known, and the request may be repeated. 400 without a content.
        """
        file, dry_run = choice_at(call.body, "file", LearningFile), flag_at(call.body, "dry_run")
        if "content" not in call.body:
            raise InvalidField("content", "must be the content of the file")
        report = await self._service.import_file(call.caller.tenant, file, call.body["content"], dry_run=dry_run)
        if report is None:
            problem = f"nobody has answered for {file.value} in time: whether it was imported is not known; repeat it"
            raise Unavailable(problem)
        return report.model_dump(mode="json", exclude={"v"})

    @api_path("GET", "/rl/status", requires_operator=False)
    async def show_strategy_status(self, call: ApiCall) -> JsonValue:
        """Show the strategies of each process type: uses, mean reward and UCB1 score; and counts of all tasks."""
        return build_learning_view(await self._service.read_totals(call.caller.tenant))

"""What was learned for a tenant, in Redis: its statistics, and its learning files."""

from collections import defaultdict
from collections.abc import Mapping
from typing import cast

from pydantic import JsonValue, ValidationError
from redis.asyncio import Redis

from services.gateway.features.learning.service import LearningHistory, LearningStatistics, LearningTotals
from shared.contracts.learning_files import FileReport, LearningFile
from shared.domain.estimates import TrendPoint, parse_trend, trend_points
from shared.domain.exact_json import Json, dumps
from shared.infra import keys
from shared.infra.learned_files import parse_arms, read_learned_files
from shared.infra.lua import ScriptedStore
from shared.infra.rpc import RpcQueue
from shared.ports.store import StoreUnavailable


class RedisStatistics(ScriptedStore, LearningStatistics):
    async def totals(self, tenant: str) -> LearningTotals:
        names = keys.learned_keys(tenant)
        found = await self._scripts.execute_many(
            ("LLEN", names.cases),
            ("HGETALL", names.counts),
            ("HGETALL", names.arms),
            ("SCARD", names.tools),
            ("HLEN", names.synthesized),
        )
        cases, counts, arms, tools, synthesized = cast("tuple[int, dict[str, str], dict[str, str], int, int]", found)
        try:
            numbers = {name: int(count) for name, count in counts.items()}
            return LearningTotals(cases, numbers, parse_arms(arms), tools, synthesized)
        except ValueError as error:
            raise StoreUnavailable(f"the statistics are spoiled: {error}") from error

    async def history(self, tenant: str) -> LearningHistory:
        names = keys.learned_keys(tenant)
        found = await self._scripts.execute_many(("HGETALL", names.trends), ("HGETALL", names.days))
        trends, days = cast("list[dict[str, str]]", found)
        try:
            drawn = {name: trend_points(parse_trend(text)) for name, text in trends.items()}
            return LearningHistory(drawn.pop(keys.QUALITY_TREND, ()), _arm_trends(drawn), _read_days(days))
        except ValueError as error:
            raise StoreUnavailable(f"the statistics are spoiled: {error}") from error


def _arm_trends(trends: Mapping[str, tuple[TrendPoint, ...]]) -> Mapping[str, Mapping[str, tuple[TrendPoint, ...]]]:
    arms: dict[str, dict[str, tuple[TrendPoint, ...]]] = defaultdict(dict)
    for field in sorted(trends):
        if arm := keys.unpack_trend_field(field):
            process_type, strategy = arm
            arms[process_type][strategy] = trends[field]
    return arms


def _read_days(counts: Mapping[str, str]) -> Mapping[str, Mapping[str, int]]:
    days: dict[str, dict[str, int]] = defaultdict(dict)
    for field in sorted(counts):
        day, _, count = field.partition(":")
        days[day][count] = int(counts[field])
    return days


_IMPORT_SECONDS = 20.0


class LearningFiles:
    """Exports and imports tenants' learning files. Both methods may raise ``StoreUnavailable``."""

    def __init__(self, redis: Redis) -> None:
        self._redis = redis

    async def export(self, tenant: str) -> Mapping[LearningFile, JsonValue]:
        """The tenant's learning files with their present contents."""
        return await read_learned_files(self._redis, tenant)

    async def import_file(self, tenant: str, file: LearningFile, content: Json, *, dry_run: bool) -> FileReport | None:
        """Have the learner or the executor import a file; returns its report, None if it does not answer in time."""
        doer = "executor" if file is LearningFile.SYNTHESIZED else "learner"
        request: Json = {"tenant": tenant, "file": file.value, "content": content, "dry_run": dry_run}
        answer = await RpcQueue(self._redis, doer).ask(dumps(request), _IMPORT_SECONDS)
        try:
            return None if answer is None else FileReport.model_validate_json(answer)
        except ValidationError as error:
            raise StoreUnavailable(f"the {doer} answered something that cannot be read") from error

"""How quality, arms, counts and spending came to be, from state Redis: one round trip each."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import date
from typing import cast

from redis.asyncio import Redis
from typing_extensions import override

from services.gateway.ports.courses import Course, Courses, DayCounts
from services.gateway.ports.tasks import StoreUnavailable
from services.gateway.ports.tenants import DaySpent
from shared.domain.trend import Point, read_points
from shared.infra import keys
from shared.infra.lua import answering

_SECONDS = 2.0
_SPENT = ("tokens", "nanos", "calls", "reserved_tokens", "reserved_nanos")
_FIELDS = {name: name for name in ("events", "success", "partial", "failure")} | {"quality_units": "units"}


class RedisCourses(Courses):
    def __init__(self, redis: Redis) -> None:
        self._redis = redis

    @override
    async def learned(self, tenant: str) -> Course:
        names = keys.learned_keys(tenant)
        async with answering(_SECONDS), self._redis.pipeline(transaction=False) as pipe:
            pipe.hgetall(names.trends)
            pipe.hgetall(names.days)
            trends, days = cast("tuple[dict[str, str], dict[str, str]]", await pipe.execute())
        try:
            quality = tuple(sorted(read_points(trends.get(keys.QUALITY_TREND, ""))))
            return Course(quality, _arms(trends), _days(days))
        except (ValueError, TypeError) as error:
            raise StoreUnavailable(f"the statistics are spoiled: {error}") from error

    @override
    async def spent(self, tenant: str, dates: Sequence[str]) -> Sequence[DaySpent]:
        async with answering(_SECONDS), self._redis.pipeline(transaction=False) as pipe:
            for day in dates:
                pipe.hmget(keys.spend_key(tenant, day), list(_SPENT))
            rows = cast("list[list[str | None]]", await pipe.execute())
        return [DaySpent(day, *(int(number or 0) for number in row)) for day, row in zip(dates, rows, strict=True)]


def _arms(trends: Mapping[str, str]) -> Mapping[str, Mapping[str, Sequence[Point]]]:
    arms: dict[str, dict[str, Sequence[Point]]] = defaultdict(dict)
    for field, text in trends.items():
        named = keys.unpack_arm_trend(field)
        if named is not None:
            arms[named[0]][named[1]] = tuple(sorted(read_points(text)))
    return arms


def _days(counts: Mapping[str, str]) -> Sequence[DayCounts]:
    days: dict[str, dict[str, int]] = defaultdict(dict)
    for field, count in counts.items():
        day, _, name = field.partition(":")
        if name in _FIELDS:
            days[day][_FIELDS[name]] = int(count)
    return tuple(DayCounts(str(date.fromisoformat(day)), **days[day]) for day in sorted(days))

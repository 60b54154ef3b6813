"""Gauges of the whole installation, read from Redis in one round trip at each scrape."""

from collections.abc import Callable, Mapping
from time import perf_counter, time
from typing import NamedTuple, cast

from redis.asyncio import Redis

from shared.domain import metric_names as names
from shared.infra import keys
from shared.infra.lua import Argument, Call, Reply, Scripts, bounded_redis_calls
from shared.infra.metrics import GaugeReading, Metrics
from shared.infra.signatures import keys_for
from shared.ports.store import StoreUnavailable

_TIMEOUT_SECONDS = 2.0
_OVERDUE_MS = 30_000
_MOST_SESSIONS_ASKED = 10  # sessions of each partition whose age is asked for
_LIVES_MS = 60_000
_LIMITS: tuple[Argument, ...] = (_OVERDUE_MS, _MOST_SESSIONS_ASKED)


class InstallationGauges(NamedTuple):
    """The installation's gauges, in the order in which ``gauge.lua`` returns them."""

    due: int = 0
    put_off: int = 0
    oldest_waiting_us: int = 0
    leased: int = 0
    asked: int = 0
    oldest_asked_ms: int = 0
    overdue: int = 0
    deliveries: int = 0
    unarchived: int = 0
    behind: int = 0
    dead_outcomes: int = 0
    dead_turns: int = 0
    in_doubt: int = 0


class InstallationReading(GaugeReading):
    """Sets the installation's gauges at a scrape. ``OLDEST_WAITING`` is of each partition's first 10 sessions only."""

    def __init__(self, redis: Redis) -> None:
        self._redis = redis
        self._scripts = Scripts(redis, patience=0)
        self._calls = [_build_gauge_call(one) for one in keys.all_partitions()]

    async def set_gauges(self, metrics: Metrics) -> None:
        try:
            async with bounded_redis_calls(_TIMEOUT_SECONDS):
                began = perf_counter()
                await self._redis.ping()
                metrics.set_gauge(names.STORE_ROUND_TRIP, perf_counter() - began)
                standing = await self.read_gauges()
                learners = await self._count_learners()
        except StoreUnavailable:
            metrics.set_gauge(names.STORE_UP, 0)
            for metric in (*_READ, names.STORE_ROUND_TRIP):
                metrics.clear(metric)
            return
        metrics.set_gauge(names.STORE_UP, 1)
        metrics.set_gauge(names.LEARNERS_ALIVE, learners)
        _put_gauges(metrics, standing)

    async def read_gauges(self) -> InstallationGauges:
        """The gauges over all partitions: counts summed, of ages the largest. Raises ``StoreUnavailable``."""
        rows = [_read_row(reply) for reply in await self._scripts.run_many("gauge", self._calls)]
        summed = InstallationGauges(*map(sum, zip(*rows, strict=True)))
        oldest, asked = max(row.oldest_waiting_us for row in rows), max(row.oldest_asked_ms for row in rows)
        return summed._replace(oldest_waiting_us=oldest, oldest_asked_ms=asked)

    async def _count_learners(self) -> int:
        since = int(time() * 1000) - _LIVES_MS
        return int(cast(int, await self._scripts.execute("ZCOUNT", keys.LEARNERS, since, "+inf")))


def _build_gauge_call(one: keys.PartitionKeys) -> Call:
    return keys_for("gauge", one), _LIMITS


def _read_row(reply: Reply) -> InstallationGauges:
    """One partition's gauges. The newest applied outcome stays in its stream, and does not count as unapplied."""
    row = InstallationGauges(*map(int, cast("list[str | int]", reply)))
    return row._replace(behind=max(0, row.behind - 1))


def _put_gauges(metrics: Metrics, now: InstallationGauges) -> None:
    for metric, value in _GAUGES.items():
        metrics.set_gauge(metric, value(now))
    metrics.set_gauge(names.DEAD_LETTERS, now.dead_outcomes, kind="outcome")
    metrics.set_gauge(names.DEAD_LETTERS, now.dead_turns, kind="turn")


_GAUGES: Mapping[names.Metric, Callable[[InstallationGauges], float]] = {
    names.SESSIONS_WAITING: lambda now: now.due,
    names.SESSIONS_PUT_OFF: lambda now: now.put_off,
    names.OLDEST_WAITING: lambda now: now.oldest_waiting_us / 1_000_000,
    names.SESSIONS_HELD: lambda now: now.leased,
    names.APPROVALS_WAITING: lambda now: now.asked,
    names.OLDEST_APPROVAL: lambda now: now.oldest_asked_ms / 1000,
    names.TASKS_IN_DOUBT: lambda now: now.in_doubt,
    names.DEADLINES_OVERDUE: lambda now: now.overdue,
    names.DELIVERIES_WAITING: lambda now: now.deliveries,
    names.UNARCHIVED_TASKS: lambda now: now.unarchived,
    names.OUTCOMES_BEHIND: lambda now: now.behind,
}
_READ = (*_GAUGES, names.DEAD_LETTERS, names.LEARNERS_ALIVE)

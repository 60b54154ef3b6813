"""Gauges of the whole installation, read from Redis in one round trip at each scrape."""

from collections.abc import Callable, Mapping
from time import perf_counter, time
from typing import NamedTuple, cast

from redis.asyncio import Redis

from shared.domain import metric_names as names
from shared.infra import keys
from shared.infra.lua import Argument, Reply, ScriptCall, Scripts, bounded_redis_calls
from shared.infra.metrics import GaugeReader, Metrics
from shared.infra.signatures import order_script_keys
from shared.ports.store import StoreUnavailable

_TIMEOUT_SECONDS = 2.0
_OVERDUE_MS = 30_000
_MOST_SESSIONS_ASKED = 10  # sessions of each partition whose age is asked for
_LEARNER_LIVES_MS = 60_000
_GAUGE_LIMITS: tuple[Argument, ...] = (_OVERDUE_MS, _MOST_SESSIONS_ASKED)


class InstallationGauges(NamedTuple):
    """The installation's gauges, in the order in which ``gauge.lua`` returns them."""

    sessions_due: int = 0
    sessions_put_off: int = 0
    oldest_waiting_us: int = 0
    sessions_leased: int = 0
    approvals_waiting: int = 0
    oldest_approval_ms: int = 0
    deadlines_overdue: int = 0
    deliveries_waiting: int = 0
    tasks_unarchived: int = 0
    outcomes_behind: int = 0
    dead_outcomes: int = 0
    dead_turns: int = 0
    in_doubt: int = 0


class InstallationGaugeReader(GaugeReader):
    """Sets the installation's gauges at a scrape. ``OLDEST_WAITING`` is of each partition's first 10 sessions only."""

    def __init__(self, redis: Redis) -> None:
        self._redis = redis
        self._scripts = Scripts(redis, patience=0)
        self._calls: list[ScriptCall] = [
            (order_script_keys("gauge", partition), _GAUGE_LIMITS) for partition in keys.all_partitions()
        ]

    async def set_gauges(self, metrics: Metrics) -> None:
        try:
            async with bounded_redis_calls(_TIMEOUT_SECONDS):
                began = perf_counter()
                await self._redis.ping()
                metrics.set_gauge(names.STORE_ROUND_TRIP, perf_counter() - began)
                gauges = await self.read_gauges()
                learners = await self._count_learners()
        except StoreUnavailable:
            metrics.set_gauge(names.STORE_UP, 0)
            for metric in (*_METRICS_FROM_STORE, names.STORE_ROUND_TRIP):
                metrics.clear(metric)
            return
        metrics.set_gauge(names.STORE_UP, 1)
        metrics.set_gauge(names.LEARNERS_ALIVE, learners)
        for metric, value in _GAUGES.items():
            metrics.set_gauge(metric, value(gauges))
        metrics.set_gauge(names.DEAD_LETTERS, gauges.dead_outcomes, kind="outcome")
        metrics.set_gauge(names.DEAD_LETTERS, gauges.dead_turns, kind="turn")

    async def read_gauges(self) -> InstallationGauges:
        """The gauges over all partitions: counts summed, of ages the largest. Raises ``StoreUnavailable``."""
        rows = [_parse_gauges(reply) for reply in await self._scripts.run_many("gauge", self._calls)]
        summed = InstallationGauges(*map(sum, zip(*rows, strict=True)))
        return summed._replace(
            oldest_waiting_us=max(row.oldest_waiting_us for row in rows),
            oldest_approval_ms=max(row.oldest_approval_ms for row in rows),
        )

    async def _count_learners(self) -> int:
        since = int(time() * 1000) - _LEARNER_LIVES_MS
        return int(cast(int, await self._scripts.execute("ZCOUNT", keys.LIVE_LEARNERS_KEY, since, "+inf")))


def _parse_gauges(reply: Reply) -> InstallationGauges:
    """One partition's gauges. The newest applied outcome stays in its stream, and does not count as unapplied."""
    row = InstallationGauges(*map(int, cast("list[str | int]", reply)))
    return row._replace(outcomes_behind=max(0, row.outcomes_behind - 1))


_GAUGES: Mapping[names.Metric, Callable[[InstallationGauges], float]] = {
    names.SESSIONS_WAITING: lambda gauges: gauges.sessions_due,
    names.SESSIONS_PUT_OFF: lambda gauges: gauges.sessions_put_off,
    names.OLDEST_WAITING: lambda gauges: gauges.oldest_waiting_us / 1_000_000,
    names.SESSIONS_HELD: lambda gauges: gauges.sessions_leased,
    names.APPROVALS_WAITING: lambda gauges: gauges.approvals_waiting,
    names.OLDEST_APPROVAL: lambda gauges: gauges.oldest_approval_ms / 1000,
    names.TASKS_IN_DOUBT: lambda gauges: gauges.in_doubt,
    names.DEADLINES_OVERDUE: lambda gauges: gauges.deadlines_overdue,
    names.DELIVERIES_WAITING: lambda gauges: gauges.deliveries_waiting,
    names.UNARCHIVED_TASKS: lambda gauges: gauges.tasks_unarchived,
    names.OUTCOMES_BEHIND: lambda gauges: gauges.outcomes_behind,
}
_METRICS_FROM_STORE = (*_GAUGES, names.DEAD_LETTERS, names.LEARNERS_ALIVE)

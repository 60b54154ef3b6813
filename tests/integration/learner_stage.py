"""What tests of the learner share: outcomes as executors leave them, processes, and a replay to compare with."""

import asyncio
from collections import Counter, defaultdict
from collections.abc import Awaitable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, timedelta
from typing import cast

import httpx
from redis.asyncio import Redis

from cli.stack.plan import find_free_ports
from shared.contracts.knowledge import CaseEntry
from shared.contracts.outcome import TaskOutcome
from shared.contracts.outcome_digest import make_case_entry
from shared.domain.bandit import convert_to_reward_units
from shared.domain.cases import CaseOutcome
from shared.domain.estimates import TREND_POINTS_KEPT, parse_trend
from shared.domain.partition import PARTITIONS
from shared.domain.words import Strategy, TaskState
from shared.infra import keys
from tests.doubles.redis_tasks import NOON
from tests.forked_service import ForkedService, forked_service
from tests.http_client import open_http

PATIENCE = 20.0


def an_outcome(number: int = 1, tenant: str = "acme", session: str = "s1", **known: object) -> TaskOutcome:
    facts: dict[str, object] = {
        "event_id": f"{tenant}-{number}:1",
        "tenant": tenant,
        "session_id": session,
        "task_id": f"{tenant}-{number}",
        "state": TaskState.COMPLETED,
        "process_type": "expense_approval",
        "strategy": Strategy.FSM,
        "quality": 0.9,
        "summary": f"Approve expense claim {number} of the sales department",
        "tool_calls": 3,
        "model_calls": 4,
        "writes": {"verified": 1},
        "policy_passed": True,
        "reason": None,
        "duration_ms": 10,
        "ended_at": NOON + timedelta(seconds=number),
    }
    return TaskOutcome.model_validate({**facts, **known})


async def leave(redis: Redis, outcomes: Iterable[TaskOutcome]) -> None:
    """Put outcomes on their streams, as the last step of a turn does."""
    async with redis.pipeline(transaction=False) as pipe:
        for outcome in outcomes:
            stream = keys.partition_keys_of(outcome.tenant, outcome.session_id).outcomes
            pipe.xadd(stream, {"id": outcome.event_id, "o": outcome.model_dump_json()})
        await pipe.execute()


async def case_log(redis: Redis, tenant: str) -> list[CaseEntry]:
    """Newest first."""
    rows = await cast("Awaitable[list[str]]", redis.lrange(keys.learned_keys(tenant).cases, 0, -1))
    return [CaseEntry.model_validate_json(row) for row in rows]


async def hash_of(redis: Redis, name: str) -> dict[str, int]:
    found = await cast("Awaitable[dict[str, str]]", redis.hgetall(name))
    return {field: int(value) for field, value in found.items()}


def expected_arms(outcomes: Iterable[TaskOutcome]) -> dict[str, int]:
    """The hash of arms that counting each outcome once gives."""
    arms: Counter[str] = Counter()
    for outcome in outcomes:
        fields = keys.arm_fields(outcome.process_type, outcome.strategy)
        arms[fields.n] += 1
        arms[fields.units] += convert_to_reward_units(outcome.quality)
    return dict(arms)


def expected_counts(outcomes: Sequence[TaskOutcome]) -> dict[str, int]:
    """The counts that counting each outcome once gives."""
    kinds = Counter(make_case_entry(outcome).outcome.value for outcome in outcomes)
    units = sum(convert_to_reward_units(outcome.quality) for outcome in outcomes)
    return {"events": len(outcomes), "quality_units": units, **kinds}


def expected_days(outcomes: Sequence[TaskOutcome]) -> dict[str, int]:
    """The counts by day that counting each outcome once gives."""
    by_day: dict[str, list[TaskOutcome]] = defaultdict(list)
    for outcome in outcomes:
        by_day[outcome.ended_at.astimezone(UTC).date().isoformat()].append(outcome)
    return {f"{day}:{name}": count for day, own in by_day.items() for name, count in expected_counts(own).items()}


def spacing(cases: int) -> int:
    """After how many cases a point stands, once there are so many."""
    return next(1 << power for power in range(64) if cases <= TREND_POINTS_KEPT << power)


async def assert_trends(redis: Redis, tenant: str) -> None:
    """Each has its points where they should stand, and ends with what is counted."""
    names = keys.learned_keys(tenant)
    arms, counts = await hash_of(redis, names.arms), await hash_of(redis, names.counts)
    ends = {
        keys.trend_field(kind, strategy): (arms[f"{kind}:{strategy}:n"], arms[f"{kind}:{strategy}:units"])
        for kind, strategy, _ in map(keys.unpack_arm_field, arms)
    }
    judged = sum(counts.get(kind.value, 0) for kind in CaseOutcome)
    ends[keys.QUALITY_TREND] = (judged, counts["quality_units"])
    trends = await cast("Awaitable[dict[str, str]]", redis.hgetall(names.trends))
    assert trends.keys() == ends.keys()
    for name, (cases, units) in ends.items():
        points = parse_trend(trends[name])
        wide = spacing(cases)
        assert [point.n for point in points] == list(range(wide, cases + 1, wide))
        assert [point.units for point in points] == sorted(point.units for point in points)
        assert cases % wide or points[-1].units == units


def by_session(cases: Iterable[CaseEntry]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = defaultdict(list)
    for case in cases:
        found[case.session_id].append(case.case_id)
    return found


async def learned_events(redis: Redis, tenants: Iterable[str]) -> int:
    async with redis.pipeline(transaction=False) as pipe:
        for tenant in sorted(set(tenants)):
            pipe.hget(keys.learned_keys(tenant).counts, "events")
        return sum(int(count or 0) for count in await pipe.execute())


async def unsettled(redis: Redis) -> int:
    """Events that were handed out and are not acknowledged yet, and streams that were not handed out to their end.

    How far a group lags Redis cannot always say of a stream that entries were removed from; its newest id it can.
    """
    async with redis.pipeline(transaction=False) as pipe:
        for partition in keys.all_partitions():
            pipe.xinfo_groups(partition.outcomes)
            pipe.xinfo_stream(partition.outcomes)
        found = await pipe.execute(raise_on_error=False)
    if any(isinstance(one, Exception) or one == [] for one in found):
        return -1  # some stream has no group yet
    pairs = zip(found[::2], found[1::2], strict=True)
    own = [(group, stream) for groups, stream in pairs for group in groups if group["name"] == keys.OUTCOME_GROUP]
    return sum(group["pending"] + (group["last-delivered-id"] != stream["last-generated-id"]) for group, stream in own)


async def until_settled(redis: Redis, seconds: float = PATIENCE) -> None:
    async with asyncio.timeout(seconds):
        while await unsettled(redis):
            await asyncio.sleep(0.02)


class LearnerProcess:
    def __init__(self, process: ForkedService, url: str) -> None:
        self.process = process
        self.url = url

    async def ready(self) -> None:
        async with asyncio.timeout(PATIENCE), open_http(trust_env=False) as http:
            while not await self._answers(http):
                await asyncio.sleep(0.01)

    async def unready(self) -> None:
        async with asyncio.timeout(PATIENCE), open_http(trust_env=False) as http:
            while await self._answers(http):
                await asyncio.sleep(0.01)

    def kill(self) -> None:
        self.process.kill()

    async def _answers(self, http: httpx.AsyncClient) -> bool:
        assert self.process.exit_code is None, "the learner ended"
        try:
            return (await http.get(f"{self.url}/ready")).is_success
        except httpx.TransportError:
            return False


@contextmanager
def learner_process(redis_url: str, **settings: str) -> Iterator[LearnerProcess]:
    """A learner in a process of its own; killed in the end, if it still runs."""
    (port,) = find_free_ports(1)
    told = {"REDIS_URL": redis_url, "PORT": str(port), "LEASE_SECONDS": "0.3", **settings}
    with forked_service("services.learner", **told) as process:
        yield LearnerProcess(process, f"http://127.0.0.1:{port}")


def a_session(partition: int, tenant: str = "acme") -> str:
    """A session that lies in that partition."""
    names = (f"s{number}" for number in range(100 * PARTITIONS))
    return next(name for name in names if keys.partition_keys_of(tenant, name) == keys.partition_keys(partition))

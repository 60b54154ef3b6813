"""Learners that die: what they had in hand is counted once all the same, in order."""

import asyncio
import signal
import tempfile
from collections.abc import Sequence
from pathlib import Path

import pytest
from redis.asyncio import Redis

from shared.contracts.outcome import TaskOutcome
from shared.domain.cases import CASES_KEPT
from shared.domain.words import Strategy, TaskState
from shared.infra import keys
from shared.infra.embedded_redis import EmbeddedRedis
from shared.infra.redis import connect
from tests.integration.learner_stage import (
    PATIENCE,
    an_outcome,
    assert_trends,
    by_session,
    case_log,
    expected_arms,
    expected_counts,
    expected_days,
    hash_of,
    learned_events,
    learner_process,
    leave,
    until_settled,
)

EVENTS = 400
KILLS, MANY_KILLS = 2, 10
MANY = 10_000
LARGE = "large"
TENANTS = (LARGE, LARGE, LARGE, LARGE, "a", "b:{c}", "d", "e", "f", "g")


def _outcomes() -> list[TaskOutcome]:
    return [_outcome(number) for number in range(EVENTS)]


def _outcome(number: int) -> TaskOutcome:
    """One of many: every kind of end, several strategies and process types, seven sessions a tenant."""
    return an_outcome(
        number,
        tenant=TENANTS[number % len(TENANTS)],
        session=f"s{number // len(TENANTS) % 7}",
        state=(TaskState.COMPLETED, TaskState.COMPLETED, TaskState.FAILED, TaskState.REJECTED)[number % 4],
        process_type=("payroll", "general", "expense_approval")[number % 3],
        strategy=tuple(Strategy)[number % 3],
        quality=number % 101 / 100,
    )


async def _assert_counted_once(redis: Redis, outcomes: Sequence[TaskOutcome]) -> None:
    for tenant in set(TENANTS):
        own = [outcome for outcome in outcomes if outcome.tenant == tenant]
        names = keys.learned_keys(tenant)
        assert await hash_of(redis, names.arms) == expected_arms(own)
        assert await hash_of(redis, names.counts) == expected_counts(own)
        assert await hash_of(redis, names.days) == expected_days(own)
        await assert_trends(redis, tenant)
        _assert_log([case.case_id for case in await case_log(redis, tenant)], own)
        for session, cases in by_session(await case_log(redis, tenant)).items():
            newest_first = [outcome.event_id for outcome in own if outcome.session_id == session][::-1]
            assert cases == newest_first[: len(cases)]


def _assert_log(log: Sequence[str], own: Sequence[TaskOutcome]) -> None:
    """The log has no case twice, and lacks only what came first if there were too many."""
    assert len(log) == len(set(log)) == min(CASES_KEPT, len(own))
    assert set(log) <= {outcome.event_id for outcome in own}


async def _learns_more(redis: Redis, before: int) -> None:
    async with asyncio.timeout(PATIENCE):
        while await learned_events(redis, TENANTS) == before:
            await asyncio.sleep(0)


@pytest.mark.promise("learner.counted_once")
async def test_events_are_counted_once_though_the_learner_is_killed_time_and_again(
    redis: Redis, redis_url: str
) -> None:
    """Each learner is killed after it is ready, as soon as it is seen to learn: mostly with events in hand."""
    outcomes = _outcomes()
    batch = EVENTS // (2 * KILLS)
    for kill in range(KILLS):
        first = 2 * kill * batch
        await leave(redis, outcomes[first : first + batch])
        with learner_process(redis_url) as learner:
            await learner.ready()
            before = await learned_events(redis, TENANTS)
            await leave(redis, outcomes[first + batch : first + 2 * batch])
            await _learns_more(redis, before)
            learner.kill()
    with learner_process(redis_url) as learner:
        await learner.ready()
        await until_settled(redis)
    assert await learned_events(redis, TENANTS) == EVENTS
    await _assert_counted_once(redis, outcomes)


@pytest.mark.long
@pytest.mark.timeout(600)
@pytest.mark.promise("learner.counted_once", "learner.poison")
async def test_ten_thousand_events_are_counted_once_by_two_learners_one_of_which_is_always_being_killed(
    redis: Redis, redis_url: str
) -> None:
    """One lives throughout; the other is killed as soon as it is ready, and started again, until all is learned."""
    outcomes = [_outcome(number) for number in range(MANY)]
    half = MANY // (2 * MANY_KILLS)
    with learner_process(redis_url) as steady:
        await steady.ready()
        for kill in range(MANY_KILLS):
            await leave(redis, outcomes[2 * kill * half : (2 * kill + 1) * half])
            with learner_process(redis_url) as doomed:
                if kill == MANY_KILLS // 2:
                    stream = keys.partition_keys_of(LARGE, "s1").outcomes
                    await redis.xadd(stream, {"id": "bad:1", "o": '{"event_id": "bad:1"}'})
                await doomed.ready()
                await leave(redis, outcomes[(2 * kill + 1) * half : (2 * kill + 2) * half])
                doomed.kill()
        await until_settled(redis)
    assert await learned_events(redis, TENANTS) == MANY
    await _assert_counted_once(redis, outcomes)
    (letter,) = [row for partition in keys.all_partitions() for _, row in await redis.xrange(partition.dead)]
    assert (letter["id"], "tenant: Field required" in letter["error"]) == ("bad:1", True)


async def test_a_learner_outlives_an_absence_of_redis() -> None:
    """It says that it is not ready, and goes on by itself when Redis is back."""
    with tempfile.TemporaryDirectory(prefix="pa-") as folder, EmbeddedRedis(Path(folder)) as server:
        redis = connect(server.url)
        with learner_process(server.url) as learner:
            await learner.ready()
            await leave(redis, _outcomes()[:20])
            await until_settled(redis)
            await asyncio.to_thread(server.stop)
            await learner.unready()
            server.start()
            await leave(redis, _outcomes()[20:40])
            await until_settled(redis)
            await learner.ready()
        assert await learned_events(redis, TENANTS) == 40
        await redis.aclose()


@pytest.mark.promise("learner.shared_work")
async def test_a_learner_that_is_asked_to_stop_leaves_its_share_to_the_others(redis: Redis, redis_url: str) -> None:
    """Two learners share the partitions; one ends cleanly under load, and nothing is lost, doubled or out of order."""
    outcomes = _outcomes()
    with learner_process(redis_url) as one, learner_process(redis_url) as two:
        await one.ready()
        await two.ready()
        await leave(redis, outcomes[: EVENTS // 2])
        two.process.signal(signal.SIGTERM)
        await leave(redis, outcomes[EVENTS // 2 :])
        assert two.process.wait(PATIENCE) == 0
        await until_settled(redis)
    await _assert_counted_once(redis, outcomes)

"""Learners on real streams: once each, in order, nothing dropped, whoever dies and in one tenant's keys."""

import asyncio
import signal
from collections.abc import Awaitable, Collection, Sequence
from datetime import timedelta
from typing import cast

import pytest
from redis.asyncio import Redis
from typing_extensions import override

from services.learner.adapters.redis_lessons import RedisLessons
from services.learner.adapters.redis_outcomes import REMEMBERING_GROUP, RedisOutcomes
from services.learner.core.memory.lesson import make_lesson
from services.learner.ports.outcomes import AbandonedOutcome, ClaimedOutcomes, Delivery
from services.learner.workers.follower import OutcomeFollower
from services.learner.workers.learner import MAX_TRIES, Learner
from services.learner.workers.loops import NewOutcomeWatcher
from shared.contracts.outcome import TaskOutcome
from shared.domain.cases import CASES_KEPT
from shared.domain.estimates import TREND_DAYS_KEPT
from shared.domain.words import Strategy, TaskState
from shared.infra import keys
from shared.infra.embedded_redis import EmbeddedRedis
from shared.ports.store import StoreUnavailable
from tests.doubles.redis_tasks import NOON
from tests.integration.learner_stage import (
    PATIENCE,
    a_session,
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
    unsettled,
    until_settled,
)
from tests.integration.test_state_bad_rows import kind_of

LEASE = 5.0


class DiesBeforeSettling(RedisOutcomes):
    """A learner's streams, whose learner is gone after it has learned and before it says so."""

    @override
    async def settle_outcomes(
        self, done: Sequence[Delivery], dead: Sequence[AbandonedOutcome] = (), left: Sequence[Delivery] = ()
    ) -> Collection[int]:
        raise StoreUnavailable("killed")


class FailsInTwoLanes(RedisOutcomes):
    """The streams of a learner of which one lane meets an outage, and a later one a bug."""

    @override
    async def claim_outcomes(self, partitions: Collection[int]) -> ClaimedOutcomes:
        if 0 in partitions:
            raise StoreUnavailable("away")
        if 1 in partitions:
            raise ZeroDivisionError
        return await super().claim_outcomes(partitions)


def _learner(redis: Redis, name: str = "one") -> Learner:
    return Learner(RedisOutcomes(redis, name, LEASE), RedisLessons(redis))


async def _rounds(learner: Learner) -> int:
    """Learn until nothing is left in hand; how many rounds it took."""
    rounds = 1
    await learner.update_share()
    learner.expect_outcomes_in(learner.partitions)
    while await learner.run_once():
        rounds += 1
        assert rounds < 100
    return rounds


async def _dead(redis: Redis) -> list[dict[str, str]]:
    found: list[dict[str, str]] = []
    for partition in keys.all_partitions():
        found += [fields for _, fields in await redis.xrange(partition.dead)]
    return found


async def _free(redis: Redis, partitions: Collection[int] = range(64)) -> None:
    """As if the leases of a dead learner had run out."""
    await redis.delete(keys.LIVE_LEARNERS_KEY, *(keys.partition_keys(number).reader for number in partitions))


@pytest.mark.promise("learner.counted_once")
async def test_what_a_dead_learner_had_learned_and_not_settled_is_not_learned_again(redis: Redis) -> None:
    """The worst moment to die: everything is applied, nothing acknowledged."""
    outcomes = [an_outcome(number, session=f"s{number % 9}") for number in range(50)]
    await leave(redis, outcomes)
    dying = Learner(DiesBeforeSettling(redis, "dying", LEASE), RedisLessons(redis))
    await dying.update_share()
    with pytest.raises(StoreUnavailable):
        await dying.run_once()
    await _free(redis)
    await leave(redis, [an_outcome(50)])
    successor = _learner(redis, "successor")
    await _rounds(successor)
    assert (successor.counts.learned, successor.counts.known) == (1, 50)
    assert await hash_of(redis, keys.learned_keys("acme").arms) == expected_arms([*outcomes, an_outcome(50)])
    assert await unsettled(redis) == 0


async def test_a_bug_in_one_lane_is_not_hidden_by_an_outage_in_another(redis: Redis) -> None:
    learner = Learner(FailsInTwoLanes(redis, "one", LEASE), RedisLessons(redis))
    await learner.update_share()
    with pytest.raises(ZeroDivisionError):
        await learner.run_once()


@pytest.mark.promise("learner.poison")
@pytest.mark.parametrize("reads_on", [False, True])
async def test_poison_goes_to_the_dead_letters_and_what_is_behind_is_learned(redis: Redis, reads_on: bool) -> None:
    """Every field of the event is kept, with the error and the tries; its neighbours lose nothing.

    So it is for whoever has just become the partition's reader, and for one that has been it.
    """
    stream, learner = keys.partition_keys_of("acme", "s1").outcomes, _learner(redis)
    if reads_on:
        await leave(redis, [an_outcome(0)])
        await _rounds(learner)
    await leave(redis, [an_outcome(1)])
    await redis.xadd(stream, {"id": "bad:1", "o": '{"event_id": "bad:1"}'})
    await redis.xadd(stream, {"odd": "1"})
    await leave(redis, [an_outcome(2)])
    await _rounds(learner)
    assert [case.case_id for case in await case_log(redis, "acme")][:2] == ["acme-2:1", "acme-1:1"]
    first, second = await _dead(redis)
    assert (first["id"], first["o"], first["tries"]) == ("bad:1", '{"event_id": "bad:1"}', str(MAX_TRIES))
    assert "tenant: Field required" in first["error"]
    assert second["odd"] == "1"
    assert learner.counts.dead == 2
    assert await unsettled(redis) == 0


@pytest.mark.promise("learner.poison")
@pytest.mark.parametrize("spoiled", ["applied", "arms", "cases", "counts", "trends", "days", "a count"])
async def test_a_tenant_whose_statistics_are_spoiled_holds_up_nobody_else(redis: Redis, spoiled: str) -> None:
    """Redis answers and refuses: nothing is half learned, at last it is a dead letter, and other tenants are served."""
    names = keys.learned_keys("acme")
    if spoiled == "a count":
        await cast("Awaitable[int]", redis.hset(names.counts, "quality_units", "many"))
    else:
        await redis.set({kind: getattr(names, kind) for kind in names.__slots__}[spoiled], "spoiled")
    before = await redis.keys("pa:{t:acme}*")
    mine, others = an_outcome(1, session=a_session(3)), an_outcome(2, "other", a_session(3, "other"))
    await leave(redis, [mine, others])
    await _rounds(_learner(redis))
    assert [case.case_id for case in await case_log(redis, "other")] == ["other-2:1"]
    (dead,) = await _dead(redis)
    assert ("WRONGTYPE" if spoiled != "a count" else "not an integer") in dead["error"]
    assert await redis.keys("pa:{t:acme}*") == before


async def test_while_redis_refuses_to_write_nothing_is_given_up(redis: Redis) -> None:
    """A full server is no fault of an event, however often it is tried."""
    await leave(redis, [an_outcome(1)])
    learner = _learner(redis)
    await learner.update_share()
    await redis.config_set("maxmemory", "1")
    try:
        for _ in range(2 * MAX_TRIES):
            with pytest.raises(StoreUnavailable):
                await learner.run_once()
    finally:
        await redis.config_set("maxmemory", "0")
    await _rounds(learner)
    assert (learner.counts.learned, learner.counts.dead) == (1, 0)


async def test_what_one_reader_takes_and_settles_again_and_again_is_never_logged_as_in_hand(redis: Redis) -> None:
    """Only what it takes first, when it becomes the reader, is handed out in the group's name."""
    learner = _learner(redis)
    await _rounds(learner)
    acknowledged = []
    for number in range(5):
        await leave(redis, [an_outcome(number)])
        await _rounds(learner)
        assert await unsettled(redis) == 0
        statistics = cast("dict[str, dict[str, int]]", await redis.info("commandstats"))
        acknowledged.append(statistics.get("cmdstat_xack", {"calls": 0})["calls"])
    assert (learner.counts.learned, learner.counts.known) == (5, 0)
    assert len(set(acknowledged)) == 1


async def test_streams_keep_at_most_one_settled_event_each(redis: Redis) -> None:
    await leave(redis, [an_outcome(number, session=f"s{number % 40}") for number in range(400)])
    await _rounds(_learner(redis))
    beside = RedisOutcomes(redis, "beside", LEASE, REMEMBERING_GROUP)
    await beside.settle_outcomes((await beside.claim_outcomes(range(64))).deliveries)
    for partition in keys.all_partitions():
        assert await redis.xlen(partition.outcomes) <= 1


async def test_what_is_not_settled_is_never_trimmed(redis: Redis) -> None:
    """An event that holds up its partition keeps everything behind it on the stream."""
    stream = keys.partition_keys_of("acme", "s1").outcomes
    await redis.xadd(stream, {"o": "poison"})
    await leave(redis, [an_outcome(number) for number in range(5)])
    learner = _learner(redis)
    await learner.update_share()
    await learner.run_once()
    assert await redis.xlen(stream) == 6


@pytest.mark.promise("cases.capped")
async def test_the_case_log_keeps_the_last_200(redis: Redis) -> None:
    await leave(redis, [an_outcome(number) for number in range(CASES_KEPT + 50)])
    await _rounds(_learner(redis))
    log = await case_log(redis, "acme")
    assert [case.case_id for case in log] == [f"acme-{number}:1" for number in range(CASES_KEPT + 49, 49, -1)]
    assert (await hash_of(redis, keys.learned_keys("acme").counts))["events"] == CASES_KEPT + 50


@pytest.mark.promise("learner.days")
async def test_counts_are_kept_by_day_and_leave_when_a_day_is_too_old(redis: Redis) -> None:
    """The last 400 days; an event that comes late finds its own day."""
    days = {
        "old": NOON - timedelta(days=TREND_DAYS_KEPT + 1),
        "kept": NOON - timedelta(days=TREND_DAYS_KEPT),
        "new": NOON,
    }
    outcomes = [an_outcome(number, ended_at=at) for number, at in enumerate(days.values())]
    memory, fields = RedisLessons(redis), keys.learned_keys("acme").days
    await memory.store_lessons([make_lesson(outcomes[0]), make_lesson(outcomes[1])])
    assert await hash_of(redis, fields) == expected_days(outcomes[:2])
    await memory.store_lessons([make_lesson(outcomes[2])])
    assert await hash_of(redis, fields) == expected_days(outcomes[1:])


@pytest.mark.promise("learner.trends")
async def test_a_trend_gets_thinner_as_it_gets_longer_one_by_one_or_many_at_once(redis: Redis) -> None:
    """Never more than 64 points, at every multiple of a spacing that doubles."""
    lessons = [make_lesson(an_outcome(number)) for number in range(300)]
    memory = RedisLessons(redis)
    for lesson in lessons[:140]:
        await memory.store_lessons([lesson])
    await assert_trends(redis, "acme")
    await memory.store_lessons(lessons[140:])
    await assert_trends(redis, "acme")


@pytest.mark.promise("I10.learned_by_tenant")
async def test_each_tenant_has_its_own_keys_and_all_of_them_one_tag(redis: Redis) -> None:
    """Whatever a tenant is called: what is learned of it is in its own keys, in one slot, and in the table of keys."""
    await leave(redis, [an_outcome(1, "acme"), an_outcome(2, "ac:{me}"), an_outcome(3, "acme:arms")])
    learner = _learner(redis)
    await _rounds(learner)
    for tenant, number in (("acme", 1), ("ac:{me}", 2), ("acme:arms", 3)):
        assert [case.case_id for case in await case_log(redis, tenant)] == [f"{tenant}-{number}:1"]
    async for name in redis.scan_iter():
        assert (kind_of(name).lifetime == "short") == (await redis.ttl(name) > 0), name
    slots = [
        await cast("Awaitable[int]", redis.execute_command("CLUSTER KEYSLOT", name))  # type: ignore[no-untyped-call]
        for name in (keys.learned_keys("ac:{me}").arms, keys.learned_keys("ac:{me}").applied)
    ]
    assert len(set(slots)) == 1


@pytest.mark.promise("learner.shared_work")
async def test_a_second_learner_gets_half_and_takes_over_all_when_the_first_leaves(redis: Redis) -> None:
    one_streams = RedisOutcomes(redis, "one", LEASE)
    one, two = Learner(one_streams, RedisLessons(redis)), _learner(redis, "two")
    await one.update_share()
    await one.run_once()
    await two.update_share()
    await two.run_once()
    assert (len(one.partitions), len(two.partitions)) == (64, 0)
    await one.update_share()
    await two.update_share()
    await two.run_once()
    assert (len(one.partitions), len(two.partitions)) == (32, 32)
    await one.release_partitions()
    await one_streams.remove_from_learners()
    await two.update_share()
    await two.run_once()
    assert (len(one.partitions), len(two.partitions)) == (0, 64)


@pytest.mark.promise("learner.shared_work")
async def test_a_partition_has_one_reader_whatever_others_believe(redis: Redis) -> None:
    """A learner that thinks it still reads a partition is told that it does not, and gets nothing of it."""
    late, other = RedisOutcomes(redis, "late", LEASE), RedisOutcomes(redis, "other", LEASE)
    await late.claim_outcomes([3])
    await _free(redis)
    await other.claim_outcomes([3])
    await leave(redis, [an_outcome(1, session=a_session(3))])
    taken = await late.claim_outcomes([3])
    assert (list(taken.deliveries), set(taken.partitions_lost)) == ([], {3})
    assert len((await other.claim_outcomes([3])).deliveries) == 1


async def test_news_comes_at_once_and_its_absence_in_time(redis: Redis) -> None:
    streams = RedisOutcomes(redis, "one", LEASE)
    await streams.claim_outcomes([3])
    assert not await streams.await_new_outcomes([3], 0.01)
    await leave(redis, [an_outcome(1, session=a_session(3))])
    async with asyncio.timeout(10):
        assert set(await streams.await_new_outcomes([2, 3], 60.0)) == {3}


async def test_who_reads_beside_the_learner_hears_of_news_and_looks_only_there(redis: Redis) -> None:
    heard = list[int]()

    async def apply(deliveries: Sequence[Delivery]) -> None:
        heard.extend(delivery.partition for delivery in deliveries)

    streams = RedisOutcomes(redis, "beside", LEASE, REMEMBERING_GROUP)
    follower = OutcomeFollower(streams, apply, lambda: range(64))
    watch = NewOutcomeWatcher(follower, streams, 60.0)
    assert await follower.run_once() == 0
    await leave(redis, [an_outcome(1, session=a_session(3))])
    await watch.wait_and_tell_reader()
    before = await _commands(redis)
    assert await follower.run_once() == 1
    assert heard == [3]
    assert await _commands(redis) < before + 64  # not one for each partition


async def test_a_round_looks_only_where_something_is_expected(redis: Redis) -> None:
    """What was just taken over, and where news was told of; nothing is asked of any other stream."""
    learner = _learner(redis)
    await _rounds(learner)
    before = await _commands(redis)
    assert await learner.run_once() == 0
    assert await _commands(redis) == before + 1
    await leave(redis, [an_outcome(1, session=a_session(3)), an_outcome(2, session=a_session(4))])
    learner.expect_outcomes_in([3])
    assert (await learner.run_once(), await learner.run_once()) == (1, 0)
    learner.expect_outcomes_in(range(64))
    assert await learner.run_once() == 1


async def test_what_another_still_reads_is_looked_at_again_once_it_is_free(redis: Redis) -> None:
    """A dead learner's partitions rest for a lease: its successor asks again with each look at who lives."""
    await RedisOutcomes(redis, "dead", LEASE).claim_outcomes(range(64))
    await leave(redis, [an_outcome(1)])
    learner = _learner(redis)
    await learner.update_share()
    assert (await learner.run_once(), len(learner.partitions)) == (0, 0)
    await _free(redis)
    await learner.update_share()
    assert (await learner.run_once(), len(learner.partitions)) == (1, 64)


async def _commands(redis: Redis) -> int:
    return int((await redis.info("stats"))["total_commands_processed"])


async def test_a_flushed_server_is_read_again_from_the_beginning(redis: Redis) -> None:
    learner = _learner(redis)
    await _rounds(learner)
    await redis.flushall()
    await leave(redis, [an_outcome(1)])
    await _rounds(learner)
    assert learner.counts.learned == 1


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
async def test_events_are_counted_once_though_the_learner_is_killed_again(redis: Redis, redis_url: str) -> None:
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
async def test_ten_thousand_events_are_counted_once_though_one_of_two_is_killed(redis: Redis, redis_url: str) -> None:
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


async def test_a_learner_outlives_an_absence_of_redis(own_server: EmbeddedRedis, own_redis: Redis) -> None:
    """It says that it is not ready, and goes on by itself when Redis is back."""
    with learner_process(own_server.url) as learner:
        await learner.ready()
        await leave(own_redis, _outcomes()[:20])
        await until_settled(own_redis)
        await asyncio.to_thread(own_server.stop)
        await learner.unready()
        own_server.start()
        await leave(own_redis, _outcomes()[20:40])
        await until_settled(own_redis)
        await learner.ready()
    assert await learned_events(own_redis, TENANTS) == 40


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

"""Stopping a tenant on a real store: what is accepted, claimed and run meanwhile, and how it goes on."""

import asyncio

import pytest
from redis.asyncio import Redis

from services.executor.core.states.machine import TenantStopped
from services.executor.core.turn.runner import RunnerLimits
from services.executor.ports.sessions import RunsTurns, Work
from services.executor.ports.turns import TurnStore
from shared.contracts.task import TurnKind
from shared.domain.words import TaskState
from shared.infra import keys
from shared.infra.lua import Argument, Scripts
from shared.infra.task_store import TaskStore
from shared.infra.tenant_records import TenantStops
from shared.ports.tasks import TenantIsStopped
from tests.doubles.heard_wakes import HeardWakes
from tests.doubles.redis_tasks import a_record, a_turn
from tests.doubles.runners import a_runner
from tests.integration.state_stage import accepted, an_end, begin, sessions_of

pytestmark = pytest.mark.promise("tenant.stop")


class StoppedThrice(RunsTurns):
    """Its tenant is stopped as it begins, three times; it hears of it as it stores something."""

    def __init__(self, stops: TenantStops) -> None:
        self._stops = stops
        self.attempts: list[int] = []

    async def run(self, work: Work, store: TurnStore) -> None:
        self.attempts.append(work.attempts)
        if len(self.attempts) <= 3:
            await self._stops.stop("acme", "repairs")
        pulse = await store.append([])
        if pulse.stopped is not None:
            raise TenantStopped(pulse.stopped)
        await store.finish(an_end(work))


async def test_a_stopped_tenant_takes_no_message_and_says_why(redis: Redis, task_store: TaskStore) -> None:
    """Nothing is stored of a refused message; another tenant is not touched."""
    await TenantStops(redis).stop("acme", "repairs")
    record = a_record("s1")
    with pytest.raises(TenantIsStopped, match="repairs"):
        await task_store.accept(record, a_turn(record), dedupe=None)
    assert await task_store.record("acme", record.task_id) is None
    other = a_record("s1").model_copy(update={"tenant": "globex"})
    assert (await task_store.accept(other, a_turn(other), dedupe=None)).fresh


async def test_a_message_accepted_before_the_stop_is_found_again_when_it_is_resent(
    redis: Redis, task_store: TaskStore
) -> None:
    """Whoever resends after a time-out is not told that the message was refused."""
    record = a_record("s1")
    turn = a_turn(record)
    await task_store.accept(record, turn, "m1")
    await TenantStops(redis).stop("acme", "repairs")
    assert not (await task_store.accept(record, turn, "m1")).fresh


async def test_a_running_turn_hears_of_the_stop_and_of_its_end(redis: Redis, task_store: TaskStore) -> None:
    """Every answer of the store tells."""
    await accepted(task_store)
    stops, begun = TenantStops(redis), await begin(sessions_of(redis, "one"))
    await stops.stop("acme", "repairs")
    heard = [(await begun.store.pulse()).stopped, (await begun.store.append([])).stopped]
    await stops.resume("acme")
    assert [*heard, (await begun.store.pulse()).stopped] == ["repairs", "repairs", None]


async def test_a_stopped_tenants_session_is_not_claimed_and_looked_at_at_once_after_the_stop(
    redis: Redis, task_store: TaskStore
) -> None:
    """The accepted turn waits; nobody polls it meanwhile."""
    await accepted(task_store)
    stops, one = TenantStops(redis), sessions_of(redis, "one")
    await stops.stop("acme", "repairs")
    waiting, member = keys.partition_keys_of("acme", "s1").waiting, keys.pack(keys.Member("acme", "s1"))
    refused = await one.claim("acme", "s1")
    put_off = await redis.zscore(waiting, member)
    await stops.resume("acme")
    again = await redis.zscore(waiting, member)
    assert refused is None
    assert put_off is not None
    assert again is not None
    assert put_off - again > 30_000
    assert await one.claim("acme", "s1") is not None


async def test_a_cancel_reaches_a_task_of_a_stopped_tenant(redis: Redis, task_store: TaskStore) -> None:
    """A session with a signal is claimed all the same."""
    record = await accepted(task_store)
    await TenantStops(redis).stop("acme", "repairs")
    await task_store.signal("acme", "s1", a_turn(record, TurnKind.CANCEL))
    assert (await begin(sessions_of(redis, "one"))).work.turn.kind is TurnKind.CANCEL


@pytest.mark.parametrize("kind", [TurnKind.DECISION, TurnKind.RESOLUTION])
async def test_a_word_for_a_stopped_tenants_task_waits_without_work(
    redis: Redis, task_store: TaskStore, kind: TurnKind
) -> None:
    """Nobody begins a turn for it, however often its session is looked at; when the tenant goes on it comes first."""
    record = await accepted(task_store)
    stops, one = TenantStops(redis), sessions_of(redis, "one")
    await stops.stop("acme", "repairs")
    await task_store.signal("acme", "s1", a_turn(record, kind))
    told = await redis.xlen(keys.task_keys("acme", "s1", record.task_id).events)
    refused = [await one.claim("acme", "s1") for _ in range(3)]
    assert refused == [None, None, None]
    assert await redis.xlen(keys.task_keys("acme", "s1", record.task_id).events) == told
    await stops.resume("acme")
    assert (await begin(one)).work.turn.kind is kind


async def test_a_cancel_passes_what_waits_for_its_stopped_tenant(redis: Redis, task_store: TaskStore) -> None:
    """It is begun although a decision came before it; then the session is put down again, with what waits in it."""
    record = await accepted(task_store)
    stops, one = TenantStops(redis), sessions_of(redis, "one")
    await stops.stop("acme", "repairs")
    await task_store.signal("acme", "s1", a_turn(record, TurnKind.DECISION))
    assert await one.claim("acme", "s1") is None
    await task_store.signal("acme", "s1", a_turn(record, TurnKind.CANCEL))
    begun = await begin(one)
    assert begun.work.turn.kind is TurnKind.CANCEL
    await begun.store.finish(an_end(begun.work, TaskState.WORKING))
    assert await one.next(begun.lease) is None
    assert await one.claim("acme", "s1") is None
    await stops.resume("acme")
    assert (await begin(one)).work.turn.kind is TurnKind.DECISION


async def test_a_turn_that_a_stop_interrupts_is_not_begun_again_until_the_stop_ends(
    redis: Redis, task_store: TaskStore
) -> None:
    """A decision's turn that ran as the stop came: it goes back once, and stays there."""
    record = await accepted(task_store)
    stops, one = TenantStops(redis), sessions_of(redis, "one")
    await task_store.signal("acme", "s1", a_turn(record, TurnKind.DECISION))
    begun = await begin(one)
    await stops.stop("acme", "repairs")
    await one.abandon(begun.lease, handed_over=True)
    assert await one.claim("acme", "s1") is None
    waiting, member = keys.partition_keys_of("acme", "s1").waiting, keys.pack(keys.Member("acme", "s1"))
    put_off = await redis.zscore(waiting, member)
    assert put_off is not None
    assert put_off > (await redis.time())[0] * 1000 + 30_000


async def test_a_stop_that_was_spread_half_way_is_spread_by_whoever_looks_next(redis: Redis) -> None:
    """The row counts, whatever became of the process that wrote it; an older row told late changes nothing."""
    stops = TenantStops(redis)
    await stops.stop("acme", "repairs")
    copies = [keys.stopped_key_in(number, "acme") for number in range(64)]
    old = await redis.get(copies[0])
    await redis.delete(*copies[32:])
    told = await TenantStops(redis).spread_anew()
    assert (told, await redis.exists(*copies)) == (1, 64)
    await stops.resume("acme")
    arguments: list[Argument] = [str(old), keys.members_of("acme"), keys.LIFTED_SECONDS]
    late = await Scripts(redis).run("spread_stop", [copies[0], keys.partition_keys(0).waiting], arguments)
    assert late == 0
    assert await stops.reason("acme") is None


async def test_a_turn_that_a_stop_sends_back_uses_up_no_attempt(redis: Redis, task_store: TaskStore) -> None:
    """However often its tenant is stopped."""
    await accepted(task_store)
    stops = TenantStops(redis)
    worker = StoppedThrice(stops)
    runner = a_runner(sessions_of(redis, "one"), HeardWakes(), worker, RunnerLimits(attempts=1))
    async with asyncio.timeout(20), asyncio.TaskGroup() as group:
        group.create_task(runner.serve())
        await asyncio.sleep(0)
        for _ in range(4):
            assert await runner.offer("acme", "s1")
            await runner.idle.wait()
            await stops.resume("acme")
        await runner.stop(0.0)
    assert worker.attempts == [1, 1, 1, 1]

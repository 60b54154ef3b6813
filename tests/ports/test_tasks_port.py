"""The durable tasks, as every client of them relies on it: the double and the real store alike."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing

import pytest
from redis.asyncio import Redis

from shared.contracts.task import Principal, TurnKind
from shared.domain.partition import partition_of
from shared.infra.channel_listener import ChannelListener
from shared.infra.task_store import TaskStore
from shared.ports.tasks import SessionBelongsToOther, Tasks
from tests.doubles.gateway_doubles import MemoryTasks
from tests.doubles.redis_tasks import a_record, a_turn

PATIENCE = 10


@pytest.fixture(params=["memory", "redis"])
async def tasks(request: pytest.FixtureRequest, redis: Redis) -> AsyncIterator[Tasks]:
    if request.param == "memory":
        yield MemoryTasks()
        return
    async with ChannelListener(redis) as live:
        yield TaskStore(redis, live)


async def test_a_turn_of_a_new_task_is_accepted_and_found(tasks: Tasks) -> None:
    record = a_record()
    turn = a_turn(record)
    accepted = await tasks.accept(record, turn, "m1")
    assert (accepted.record, accepted.turn_id, accepted.is_new) == (record, turn.turn_id, True)
    assert await tasks.get_record(record.tenant, record.task_id) == record


async def test_no_task_is_found_in_another_tenant(tasks: Tasks) -> None:
    record = a_record()
    await tasks.accept(record, a_turn(record), "m1")
    assert await tasks.get_record("globex", record.task_id) is None


async def test_the_same_message_gives_the_first_acceptance_again(tasks: Tasks) -> None:
    record = a_record()
    first = await tasks.accept(record, a_turn(record), "m1")
    again_record = a_record()
    again = await tasks.accept(again_record, a_turn(again_record), "m1")
    assert (again.record.task_id, again.turn_id, again.is_new) == (record.task_id, first.turn_id, False)


async def test_a_message_id_of_another_session_is_another_message(tasks: Tasks) -> None:
    """Clients number the messages of each conversation anew; these two sessions lie in one partition."""
    record, elsewhere = a_record("s1"), a_record("s20")
    assert partition_of("acme", "s1") == partition_of("acme", "s20")
    for one in (record, elsewhere):
        accepted = await tasks.accept(one, a_turn(one), "m1")
        assert (accepted.record.task_id, accepted.is_new) == (one.task_id, True)


@pytest.mark.promise("state.session_owner")
async def test_a_session_belongs_to_who_began_it(tasks: Tasks) -> None:
    record = a_record()
    await tasks.accept(record, a_turn(record), "m1")
    bobs = a_record(principal=Principal(id="bob"))
    with pytest.raises(SessionBelongsToOther):
        await tasks.accept(bobs, a_turn(bobs), "m2")
    assert await tasks.get_record(bobs.tenant, bobs.task_id) is None


async def test_what_a_turn_needs_is_stored_before_it_once_and_for_no_turn_that_is_refused(tasks: Tasks) -> None:
    record, bobs = a_record(), a_record(principal=Principal(id="bob"))
    known: list[bool] = []

    async def prepare() -> None:
        known.append(await tasks.get_record(record.tenant, record.task_id) is not None)

    for _ in range(2):
        await tasks.accept(record, a_turn(record), "m1", prepare)
    with pytest.raises(SessionBelongsToOther):
        await tasks.accept(bobs, a_turn(bobs), "m2", prepare)
    assert known == [False]


async def test_an_approver_signals_into_anothers_task(tasks: Tasks) -> None:
    record = a_record()
    await tasks.accept(record, a_turn(record), "m1")
    turn = a_turn(record, TurnKind.DECISION, by=Principal(id="boss"))
    assert await tasks.signal(record.tenant, record.session_id, turn)


async def test_a_signal_to_a_task_that_nobody_knows_is_not_taken(tasks: Tasks) -> None:
    record = a_record()
    assert not await tasks.signal(record.tenant, record.session_id, a_turn(record, TurnKind.CANCEL))


async def test_a_watch_begins_with_what_has_happened_and_goes_on_after_an_id(tasks: Tasks) -> None:
    record = a_record()
    first, second = a_turn(record), a_turn(record)
    await tasks.accept(record, first, "m1")
    await tasks.accept(record, second, "m2")
    async with asyncio.timeout(PATIENCE), aclosing(tasks.watch(record.tenant, record.task_id)) as events:
        start = await anext(events)
        later = await anext(events)
    async with asyncio.timeout(PATIENCE), aclosing(tasks.watch(record.tenant, record.task_id, start[0])) as events:
        resumed = await anext(events)
    assert start[1].data == {"turn_id": first.turn_id}
    assert resumed == later

"""What is spoiled in one tenant's memory costs that tenant some of it, and nobody else anything."""

from datetime import UTC, datetime, timedelta
from typing import cast

import pytest
from redis.asyncio import Redis

from services.learner.adapters.redis_forgetting import REQUESTS_KEPT
from services.learner.adapters.redis_knowledge import RedisFactBook, RedisKnowledge
from services.learner.adapters.redis_purse import RedisPurse
from services.learner.core.memory.fact_worker import FactWorker
from services.learner.ports.memory import KnownFacts
from shared.contracts.knowledge import KnownEntity
from shared.contracts.learning_files import ForgetRequest, ForgetScope, ForgetState
from shared.infra import keys
from shared.infra.tenant_records import RedisTenantRecords
from tests.integration.learner_stage import leave
from tests.integration.memory_stage import MemoryStage, an_outcome_of

_TEXT = "Pay invoice INV-7 of Initech Ltd"
_WITHOUT_ZONE = datetime(2026, 1, 1)  # as a row that another system wrote may have it


@pytest.mark.promise("knowledge.paid_once")
async def test_no_model_is_asked_again_and_again_for_facts_that_cannot_be_kept(redis: Redis) -> None:
    """The list that facts go to is none any more: the task is read once, and done without."""
    stage = MemoryStage(redis)
    names = keys.learned_keys("acme")
    await redis.set(names.knowledge, "spoiled")
    await leave(redis, [an_outcome_of(_TEXT)])
    await stage.remembers()
    await stage.finds_facts()
    assert len(stage.facts.asked) == 1
    assert not await redis.exists(names.fact_todos, keys.FACT_FINDING)
    assert (await redis.hmget(names.memory, ["facts_given_up"])) == ["1"]  # type: ignore[misc]  # redis-py


@pytest.mark.promise("knowledge.paid_once")
async def test_whatever_breaks_over_a_tasks_facts_breaks_once(redis: Redis) -> None:
    class Breaks(RedisFactBook):
        async def facts(self, tenant: str) -> KnownFacts:
            raise TypeError(tenant)

    stage = MemoryStage(redis)
    worker = FactWorker(Breaks(redis), stage.facts, RedisPurse(redis, RedisTenantRecords(redis)))
    await leave(redis, [an_outcome_of(_TEXT)])
    await stage.remembers()
    while await worker.round(datetime.now(UTC)):
        pass
    assert (len(stage.facts.asked), worker.counts.failed) == (1, 1)
    assert not await redis.exists(keys.FACT_FINDING)


@pytest.mark.promise("memory.beside")
async def test_a_row_that_cannot_be_reckoned_with_holds_up_nobody_else(redis: Redis) -> None:
    """An entity whose first time has no zone compares with no other time."""
    stage = MemoryStage(redis)
    spoiled = KnownEntity(
        kind="vendor", value="Initech Ltd", seen=1, first_seen=_WITHOUT_ZONE, last_seen=datetime.now(UTC)
    )
    entities = keys.learned_keys("acme").entities
    await cast("object", redis.hset(entities, "vendor:initech", spoiled.model_dump_json()))  # type: ignore[misc]
    await leave(redis, [an_outcome_of(_TEXT, 1), an_outcome_of(_TEXT, 2, "other")])
    await stage.remembers()
    assert (await stage.entities("other"))["Initech Ltd"] == 1
    assert stage.rememberer.counts.passed == 1


@pytest.mark.promise("knowledge.fair")
async def test_facts_are_found_in_the_order_in_which_tasks_ended(redis: Redis) -> None:
    """Not in that of tenants' names: the first in the alphabet would be the only one whose facts are found."""
    lore, book = RedisKnowledge(redis), RedisFactBook(redis)
    await lore.queue("zeta", ["1"])
    await redis.zincrby(keys.FACT_FINDING, -10, keys.pack(keys.FactMember("zeta", "1")))  # ten milliseconds before
    await lore.queue("acme", ["1"])
    await lore.queue("zeta", ["1"])
    assert await book.claim(2, 60.0) == [("zeta", "1"), ("acme", "1")]


@pytest.mark.promise("forget.late")
async def test_what_came_before_a_request_is_told_by_one_clock(redis: Redis) -> None:
    """The gateway's clock is behind: an outcome that waits to be learned is of before the request all the same."""
    stage = MemoryStage(redis)
    await leave(redis, [an_outcome_of(_TEXT)])
    asked = ForgetRequest(
        request_id="r-late",
        tenant="acme",
        scope=ForgetScope.ENTITY,
        subject="Initech",
        asked_by="olga",
        asked_at=datetime(2026, 1, 1, tzinfo=UTC),
    )
    await stage.forgets.ask(asked)
    assert (await stage.goes_on(asked)).state is ForgetState.WORKING


@pytest.mark.promise("forget.bounded")
async def test_of_requests_that_are_done_the_newest_are_kept(redis: Redis) -> None:
    stage = MemoryStage(redis)
    name = keys.learned_keys("acme").forgets
    begun = datetime(2026, 1, 1, tzinfo=UTC)
    for number in range(REQUESTS_KEPT + 5):
        request = ForgetRequest(
            request_id=f"r-{number:03}",
            tenant="acme",
            scope=ForgetScope.ENTITY,
            subject="",
            asked_by="olga",
            asked_at=begun + timedelta(minutes=number),
            state=ForgetState.DONE if number != 1 else ForgetState.WORKING,
        )
        await cast("object", redis.hset(name, request.request_id, request.model_dump_json()))  # type: ignore[misc]
    await stage.forget(ForgetScope.ENTITY, "Initech")
    kept = sorted(await redis.hkeys(name))  # type: ignore[misc]
    assert len(kept) == REQUESTS_KEPT + 1
    assert kept[:2] == ["r-001", "r-006"]
    assert "r-entity" in kept

"""What outcomes leave in memory beside their cases: entities, predictions and facts, on Redis."""

import asyncio
from collections import Counter
from collections.abc import Collection, Sequence
from datetime import UTC, datetime, timedelta
from typing import cast

import pytest
from redis.asyncio import Redis
from typing_extensions import override

from services.learner.adapters.redis_knowledge import RedisFactRepository, RedisKnowledge
from services.learner.adapters.redis_outcomes import REMEMBERING_GROUP, RedisOutcomes
from services.learner.ports.memory import MemoryChange
from services.learner.workers.fact_worker import FactWorker, TenantBudgets
from services.learner.workers.follower import OutcomeFollower
from services.learner.workers.rememberer import Rememberer
from shared.contracts.outcome import PredictionOutcome, ThresholdKind
from shared.contracts.relevance import ENTITIES_KEPT, ENTITY_LIFETIME
from shared.contracts.tenant_document import TenantVersion
from shared.domain.partition import PARTITIONS
from shared.infra import keys
from shared.infra.daily_spend import RedisSpend
from shared.infra.lua import Scripts
from shared.infra.tenant_records import RedisTenantRecords
from shared.ports.store import StoreUnavailable
from tests.integration.learner_stage import a_session, an_outcome, hash_of, leave
from tests.integration.memory_stage import LEASE, TERMS, MemoryStage, an_outcome_of
from tests.integration.test_state_bad_rows import kind_of

_TEXT = "Pay invoice INV-7 of Initech Ltd for EUR 1,200.00"


class Forgetful(RedisKnowledge):
    """A store whose learner dies right after each step that it takes."""

    @override
    async def store_memory_change(self, change: MemoryChange, version: str) -> bool:
        await super().store_memory_change(change, version)
        raise StoreUnavailable("killed")


class BreaksOn(RedisKnowledge):
    """A store that has a bug which one event meets."""

    def __init__(self, redis: Redis, event_id: str) -> None:
        super().__init__(redis)
        self._event_id = event_id

    @override
    async def store_memory_change(self, change: MemoryChange, version: str) -> bool:
        if self._event_id in change.event_ids:
            raise KeyError(self._event_id)
        return await super().store_memory_change(change, version)


class DiesAfterKeeping(RedisFactRepository):
    """A book whose learner has stored a task's facts, and dies before it says so."""

    @override
    async def finish_searches(self, done: Sequence[tuple[str, str]]) -> None:
        raise StoreUnavailable("killed")


def _limit(held: bool | None) -> PredictionOutcome:
    return PredictionOutcome(kind=ThresholdKind.POLICY_LIMIT, name="amount", sign=">", predicted="500", held=held)


def _everywhere() -> Collection[int]:
    return range(PARTITIONS)


async def _rounds(follower: OutcomeFollower) -> None:
    while await follower.run_once():
        pass


@pytest.mark.promise("entities.counted")
async def test_an_entity_is_counted_once_a_task_with_what_it_stood_with(redis: Redis) -> None:
    stage = MemoryStage(redis)
    await leave(redis, [an_outcome_of(f"{_TEXT}. Initech Ltd wrote.", 1), an_outcome_of("the bill from Initech", 2)])
    await stage.remembers()
    things = {thing.entity.value: thing for thing in (await stage.memories.read_memory("acme")).linked_entities}
    vendor = things["Initech Ltd"]
    assert (vendor.entity.seen, things["INV-7"].entity.seen) == (2, 1)
    assert set(vendor.links.together) == {"reference:inv-7", "amount:1200 eur"}
    assert [task.task_id for task in vendor.links.tasks] == ["acme-2", "acme-1"]


@pytest.mark.promise("memory.once")
async def test_each_outcome_is_remembered_once_whoever_dies_when(redis: Redis) -> None:
    """One dies after each step that it takes; the next one gets the same outcomes again."""
    stage = MemoryStage(redis)
    outcomes = [an_outcome_of(_TEXT, number, session=f"s{number % 3}") for number in range(6)]
    streams = RedisOutcomes(redis, "dying", LEASE, REMEMBERING_GROUP)
    dying = OutcomeFollower(streams, Rememberer(Forgetful(redis), wants_facts=True).apply_outcomes, _everywhere)
    for some in (outcomes[:3], outcomes[3:]):
        await leave(redis, some)
        with pytest.raises(StoreUnavailable):
            await _rounds(dying)
    await streams.release_partitions(range(PARTITIONS))
    await stage.remembers()
    assert (await stage.entities())["Initech Ltd"] == 6
    await stage.finds_facts()
    (fact,) = (await stage.memories.read_memory("acme")).facts
    assert fact.seen == len(stage.facts.asked) == 6


@pytest.mark.promise("memory.once")
async def test_two_that_write_one_tenants_memory_at_once_lose_nothing(redis: Redis) -> None:
    stage = MemoryStage(redis)
    outcomes = [an_outcome_of(_TEXT, number, session=f"s{number}") for number in range(40)]
    await leave(redis, outcomes)
    one, other = stage.a_follower("one", range(0, PARTITIONS, 2)), stage.a_follower("two", range(1, PARTITIONS, 2))
    await asyncio.gather(one.run_once(), other.run_once())
    assert (await stage.entities())["Initech Ltd"] == len(outcomes)


@pytest.mark.promise("memory.beside")
async def test_what_learning_has_settled_is_still_remembered_and_leaves_once_it_is(redis: Redis) -> None:
    stage = MemoryStage(redis)
    stream = keys.partition_keys_of("acme", "s1").outcomes
    await leave(redis, [an_outcome_of(_TEXT, number) for number in range(5)])
    await stage.learns()
    assert await redis.xlen(stream) == 5
    await stage.remembers()
    assert await redis.xlen(stream) == 1
    assert (await stage.entities())["Initech Ltd"] == 5


@pytest.mark.promise("memory.once")
async def test_an_outcome_that_is_requeued_for_the_learner_is_not_remembered_a_second_time(redis: Redis) -> None:
    """Also after its event id is forgotten, as ids are kept for some days and dead letters for good."""
    stage = MemoryStage(redis)
    partition, outcome = keys.partition_keys_of("acme", "s1"), an_outcome_of(_TEXT)
    await leave(redis, [outcome])
    await stage.remembers()
    dead_id = await redis.xadd(partition.dead, {"id": outcome.event_id, "o": outcome.model_dump_json(), "error": "x"})
    await redis.delete(keys.learned_keys("acme").remembered)
    await Scripts(redis).run("requeue_outcome", [partition.dead, partition.outcomes], [dead_id, keys.OUTCOME_GROUP])
    await stage.remembers()
    assert (await stage.entities())["Initech Ltd"] == 1
    await stage.learns()
    assert (await hash_of(redis, keys.learned_keys("acme").counts))["events"] == 1


@pytest.mark.promise("memory.beside")
async def test_an_outcome_that_meets_a_bug_does_not_take_those_beside_it_along(redis: Redis) -> None:
    outcomes = [an_outcome_of(_TEXT, number) for number in range(5)]
    await leave(redis, outcomes)
    rememberer = Rememberer(BreaksOn(redis, outcomes[2].event_id), wants_facts=True)
    streams = RedisOutcomes(redis, "one", LEASE, REMEMBERING_GROUP)
    follower = OutcomeFollower(streams, rememberer.apply_outcomes, _everywhere)
    follower.expect_outcomes_in(range(PARTITIONS))
    await _rounds(follower)
    assert (rememberer.counts.remembered, rememberer.counts.passed) == (4, 1)


@pytest.mark.promise("memory.beside")
async def test_what_cannot_be_read_is_left_to_the_dead_letters(redis: Redis) -> None:
    stage = MemoryStage(redis)
    await redis.xadd(keys.partition_keys_of("acme", "s1").outcomes, {"o": "poison"})
    await leave(redis, [an_outcome_of(_TEXT)])
    await stage.remembers()
    assert (stage.rememberer.counts.passed, stage.rememberer.counts.remembered) == (1, 1)


@pytest.mark.promise("memory.beside")
@pytest.mark.parametrize("spoiled", ["entities", "entity_ages", "accuracy", "remembered", "fact_todos", "memory"])
async def test_a_tenant_whose_memory_is_spoiled_holds_up_nobody_else(redis: Redis, spoiled: str) -> None:
    stage = MemoryStage(redis)
    names = keys.learned_keys("acme")
    await redis.set({kind: getattr(names, kind) for kind in names.__slots__}[spoiled], "spoiled")
    before = await redis.keys("pa:{t:acme}*")
    mine, others = (
        an_outcome_of(_TEXT, 1, session=a_session(3)),
        an_outcome_of(_TEXT, 2, "other", a_session(3, "other")),
    )
    await stage.takes_in(mine, others)
    assert await stage.texts("other") == [TERMS.text]
    assert await redis.keys("pa:{t:acme}*") == before


@pytest.mark.promise("entities.expire")
async def test_what_nobody_named_for_long_or_is_too_much_is_forgotten(redis: Redis) -> None:
    stage = MemoryStage(redis)
    names = keys.learned_keys("acme")
    old = {f"reference:old-{number}": number for number in range(3)}
    for field in old:
        await cast("asyncio.Future[int]", redis.hset(names.entities, field, "{}"))
    await redis.zadd(names.entity_ages, old)
    ids = " ".join(f"REF-{number}" for number in range(30))
    await leave(
        redis, [an_outcome_of(ids.replace("REF", f"REF{'ABCDEFGHIJ'[part % 10]}{part}"), part) for part in range(40)]
    )
    await stage.remembers()
    fields = await cast("asyncio.Future[list[str]]", redis.hkeys(names.entities))
    assert len(fields) == await redis.zcard(names.entity_ages) == ENTITIES_KEPT
    assert not set(old) & set(fields)
    assert timedelta(days=7) == ENTITY_LIFETIME


@pytest.mark.promise("accuracy.counted")
async def test_predictions_are_counted_once_a_task_by_process_and_kind(redis: Redis) -> None:
    """A task with several limits is one sample; one that nothing verified tells of is none."""
    stage = MemoryStage(redis)
    held = ([_limit(True), _limit(False)], [_limit(True), _limit(True)], [_limit(None)])
    await leave(redis, [an_outcome_of(_TEXT, number, thresholds=some) for number, some in enumerate(held)])
    await stage.remembers()
    accuracy = (await stage.memories.read_memory("acme")).accuracy
    (known,) = accuracy.values()
    assert list(accuracy) == [("expense_approval", "policy_limit")]
    assert (known.attempts, known.matches, known.window) == (2, 1, (False, True))


@pytest.mark.promise("knowledge.good_tasks")
async def test_only_tasks_of_quality_are_asked_about(redis: Redis) -> None:
    stage = MemoryStage(redis)
    await leave(redis, [an_outcome_of(_TEXT, 1, quality=0.49), an_outcome_of(_TEXT, 2, quality=0.5)])
    await leave(redis, [an_outcome_of(_TEXT, 3, dry_run=True), an_outcome(4, ended_at=an_outcome_of(_TEXT).ended_at)])
    await stage.remembers()
    await stage.finds_facts()
    assert len(stage.facts.asked) == 1
    assert await stage.texts() == [TERMS.text]


@pytest.mark.promise("knowledge.no_model")
async def test_without_a_model_facts_wait_and_the_rest_is_known(redis: Redis) -> None:
    stage = MemoryStage(redis)
    stage.facts.broken = "the model is away"
    await stage.takes_in(an_outcome_of(_TEXT))
    assert (await stage.entities())["Initech Ltd"] == 1
    assert await stage.texts() == []
    stage.facts.broken = ""
    await redis.zadd(keys.OPEN_FACT_SEARCHES, {keys.pack_member(keys.FactSearchMember("acme", "acme-1:1")): 0})
    await stage.finds_facts()
    assert await stage.texts() == [TERMS.text]
    finding = (await stage.memories.read_memory("acme")).fact_costs
    assert (finding["fact_calls"], finding["fact_input_tokens"], finding["fact_output_tokens"]) == (1, 100, 20)


async def _day(redis: Redis) -> dict[str, str]:
    name = keys.spend_key("acme", datetime.now(UTC).date().isoformat())
    return await cast("asyncio.Future[dict[str, str]]", redis.hgetall(name))


@pytest.mark.promise("knowledge.paid")
async def test_what_finding_facts_cost_counts_in_the_tenants_day(redis: Redis) -> None:
    stage = MemoryStage(redis)
    await stage.takes_in(an_outcome_of(_TEXT))
    assert await _day(redis) == {"tokens": "120", "nanos": "500", "calls": "1"}  # nothing limits it: none is set aside
    assert (await stage.memories.read_memory("acme")).fact_costs["fact_nanos"] == 500


@pytest.mark.promise("knowledge.paid")
@pytest.mark.parametrize("told", ['{"id": "acme", "tokens_per_day": 10}', '{"no": "record"}'])
async def test_nobody_is_asked_where_the_tenants_day_has_no_room_or_nobody_knows(redis: Redis, told: str) -> None:
    stage = MemoryStage(redis)
    record = TenantVersion(version=1, at=datetime.now(UTC), by="olga", document_json=told)
    await RedisTenantRecords(redis).add_version("acme", record)
    await stage.takes_in(an_outcome_of(_TEXT))
    assert (stage.facts.asked, await _day(redis)) == ([], {})


@pytest.mark.promise("knowledge.crash")
async def test_a_task_whose_finder_died_is_found_again_and_not_twice(redis: Redis) -> None:
    """The claim of the dead one ends; whoever comes then finds that there is nothing left to do."""
    stage = MemoryStage(redis)
    await leave(redis, [an_outcome_of(_TEXT)])
    await stage.remembers()
    dying = FactWorker(
        DiesAfterKeeping(redis), stage.facts, TenantBudgets(RedisSpend(redis), RedisTenantRecords(redis))
    )
    with pytest.raises(StoreUnavailable):
        await dying.search_next_tasks(datetime.now(UTC))
    await redis.zadd(keys.OPEN_FACT_SEARCHES, {keys.pack_member(keys.FactSearchMember("acme", "acme-1:1")): 0})
    await stage.finds_facts()
    (fact,) = (await stage.memories.read_memory("acme")).facts
    assert fact.seen == 1
    assert await redis.zcard(keys.OPEN_FACT_SEARCHES) == 0


@pytest.mark.promise("knowledge.unmarked")
async def test_nothing_marked_is_asked_about_or_kept(redis: Redis) -> None:
    stage = MemoryStage(redis)
    await leave(
        redis, [an_outcome_of("Charge card 4111 1111 1111 1111 for Initech Ltd", answer="password: hunter22x!")]
    )
    await stage.remembers()
    await stage.finds_facts()
    kept = [str(await redis.dump(name)) for name in await redis.keys("pa:{t:*")]
    assert "4111" not in str(stage.facts.asked) + "".join(kept)
    assert "hunter22x" not in str(stage.facts.asked) + "".join(kept)


@pytest.mark.promise("memory.walls")
async def test_what_is_remembered_of_one_tenant_is_in_no_others_keys(redis: Redis) -> None:
    stage = MemoryStage(redis)
    await stage.takes_in(
        an_outcome_of(_TEXT, 1, thresholds=[_limit(True)]), an_outcome_of("Ask Globex Ltd", 2, "other")
    )
    owners = Counter(name.split("}")[0] for name in await redis.keys("pa:{t:*"))
    assert owners.keys() == {"pa:{t:acme", "pa:{t:other"}
    assert list(await stage.entities("other")) == ["Globex Ltd"]
    assert (await stage.memories.read_memory("other")).accuracy == {}
    for name in await redis.keys("*"):
        assert kind_of(name)

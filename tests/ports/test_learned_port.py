"""What every ``LearnedStore`` promises, on the double and on Redis."""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime
from typing import cast

import pytest
from redis.asyncio import Redis
from redis.asyncio.client import Monitor
from typing_extensions import override

from services.executor.adapters.redis_learned import RedisLearnedStore
from services.executor.ports.services import Experience, LearnedStore
from services.gateway.features.learning import LearnedData
from services.learner.adapters.redis_forgetting import RedisForgetting
from services.learner.adapters.redis_knowledge import RedisFactRepository, RedisKnowledge
from services.learner.adapters.redis_learned_files import change_learned_data
from services.learner.adapters.redis_lessons import RedisLessons
from services.learner.core.memory.lesson import make_lesson
from services.learner.ports.files import StoredVersions
from services.learner.ports.memory import FactChange, MemoryChange, TaskToSearchForFacts
from shared.contracts.knowledge import EntityLinks, KnownEntity, KnownFact
from shared.contracts.learning_files import ForgetRequest, ForgetScope
from shared.contracts.outcome import TaskOutcome
from shared.contracts.outcome_digest import make_case_entry
from shared.domain.bandit import Arm, convert_to_reward_units
from shared.domain.cases import CASES_KEPT
from shared.domain.words import Strategy
from shared.infra import keys
from shared.infra.lua import Scripts
from shared.infra.redis import connect
from shared.ports.store import StoreUnavailable
from tests.doubles.memory_learned import MemoryLearned
from tests.integration.learner_stage import an_outcome

FACT = KnownFact(text="Initech pays within 30 days", domain="ar_collections", quality=0.9, at=datetime.now(UTC))
ENTITY = KnownEntity(kind="vendor", value="Initech", seen=3, last_seen=datetime.now(UTC))


class Stage(ABC):
    """What was learned, and the ways in which the world meddles with it."""

    learned: LearnedStore

    @abstractmethod
    async def learns(self, outcomes: Sequence[TaskOutcome]) -> None: ...

    @abstractmethod
    async def breaks(self) -> None: ...

    @abstractmethod
    async def tools(self, tenant: str) -> set[str]: ...


class MemoryStage(Stage):
    def __init__(self) -> None:
        self.learned = self._memory = MemoryLearned()

    @override
    async def learns(self, outcomes: Sequence[TaskOutcome]) -> None:
        for outcome in outcomes:
            kind = (outcome.tenant, outcome.process_type)
            arms = dict(self._memory.arms.get(kind, {}))
            arm = arms.get(outcome.strategy, Arm())
            arms[outcome.strategy] = Arm(arm.n + 1, arm.units + convert_to_reward_units(outcome.quality))
            self._memory.arms[kind] = arms
            cases = (make_case_entry(outcome), *self._memory.cases.get(outcome.tenant, ()))
            self._memory.cases[outcome.tenant] = cases[:CASES_KEPT]

    @override
    async def breaks(self) -> None:
        self._memory.broken = "down"

    @override
    async def tools(self, tenant: str) -> set[str]:
        return self._memory.tools[tenant]


class RedisStage(Stage):
    def __init__(self, redis: Redis) -> None:
        self._redis = redis
        self.learned = RedisLearnedStore(redis)

    @override
    async def learns(self, outcomes: Sequence[TaskOutcome]) -> None:
        await RedisLessons(self._redis).store_lessons([make_lesson(outcome) for outcome in outcomes])

    @override
    async def breaks(self) -> None:
        self.learned = RedisLearnedStore(connect("unix:///nowhere.sock"))

    @override
    async def tools(self, tenant: str) -> set[str]:
        return await cast("Awaitable[set[str]]", self._redis.smembers(keys.learned_keys(tenant).tools))


@pytest.fixture(params=["memory", "redis"])
def stage(request: pytest.FixtureRequest, redis: Redis) -> Stage:
    return MemoryStage() if request.param == "memory" else RedisStage(redis)


async def test_of_a_tenant_that_did_nothing_nothing_is_known(stage: Stage) -> None:
    assert await stage.learned.recall("acme", "payroll") == Experience({}, ())


async def test_arms_are_those_of_the_process_type_and_cases_all_newest_first(stage: Stage) -> None:
    outcomes = [
        an_outcome(1, quality=0.5),
        an_outcome(2, quality=1.0),
        an_outcome(3, strategy=Strategy.MOA, quality=0.25),
        an_outcome(4, process_type="payroll", quality=0.75),
    ]
    await stage.learns(outcomes)
    found = await stage.learned.recall("acme", "expense_approval")
    assert found.arms == {Strategy.FSM: Arm(2, 15_000), Strategy.MOA: Arm(1, 2_500)}
    assert found.cases == tuple(make_case_entry(outcome) for outcome in reversed(outcomes))


@pytest.mark.promise("I10.learned_by_tenant")
async def test_nothing_of_another_tenant_is_seen(stage: Stage) -> None:
    await stage.learns([an_outcome(1, tenant="other")])
    await stage.learned.add_tool_names("other", frozenset({"get_expense"}))
    assert await stage.learned.recall("acme", "expense_approval") == Experience({}, ())
    assert await stage.tools("acme") == set()


async def test_tools_are_noted_once_each(stage: Stage) -> None:
    await stage.learned.add_tool_names("acme", frozenset({"a", "b"}))
    await stage.learned.add_tool_names("acme", frozenset({"b", "c"}))
    assert await stage.tools("acme") == {"a", "b", "c"}


@pytest.mark.promise("synthesis.once")
async def test_a_synthesized_process_is_kept_for_good_and_the_first_one_stays(stage: Stage) -> None:
    """Whoever keeps another one is given the first; a tenant has its own."""
    assert await stage.learned.get_synthesized_process("acme", "badge_renewal") is None
    assert await stage.learned.store_synthesized_process_if_new("acme", "badge_renewal", "one") == "one"
    assert await stage.learned.store_synthesized_process_if_new("acme", "badge_renewal", "two") == "one"
    assert await stage.learned.get_synthesized_process("acme", "badge_renewal") == "one"
    assert await stage.learned.store_synthesized_process_if_new("other", "badge_renewal", "three") == "three"
    await stage.learned.store_synthesized_process_if_new("acme", "audit_of_badges", "four")
    assert await stage.learned.list_synthesized_processes("acme") == ("audit_of_badges", "badge_renewal")
    assert await stage.learned.list_synthesized_processes("nobody") == ()


@pytest.mark.promise("synthesis.once")
async def test_of_many_executors_that_keep_a_process_at_once_one_decides(redis: Redis) -> None:
    """It has no end of life, and is counted where clients see what was learned."""
    executors = [RedisLearnedStore(redis) for _ in range(20)]
    kept = [
        one.store_synthesized_process_if_new("acme", "badge_renewal", str(number))
        for number, one in enumerate(executors)
    ]
    assert len(set(await asyncio.gather(*kept))) == 1
    assert await redis.ttl(keys.learned_keys("acme").synthesized) == -1
    assert (await LearnedData(redis).read_totals("acme")).synthesized == 1


async def test_a_tenant_with_very_many_processes_keeps_no_more(redis: Redis) -> None:
    """The one given is used, and the next task asks again."""
    key = keys.learned_keys("acme").synthesized
    await cast("Awaitable[int]", redis.hset(key, mapping={f"kind_{number}": "{}" for number in range(500)}))
    learned = RedisLearnedStore(redis)
    assert await learned.store_synthesized_process_if_new("acme", "badge_renewal", "one") == "one"
    assert await learned.get_synthesized_process("acme", "badge_renewal") is None


async def test_a_store_that_is_down_is_named(stage: Stage) -> None:
    await stage.breaks()
    with pytest.raises(StoreUnavailable):
        await stage.learned.recall("acme", "payroll")
    with pytest.raises(StoreUnavailable):
        await stage.learned.add_tool_names("acme", frozenset({"a"}))
    with pytest.raises(StoreUnavailable):
        await stage.learned.get_synthesized_process("acme", "payroll")
    with pytest.raises(StoreUnavailable):
        await stage.learned.list_synthesized_processes("acme")
    with pytest.raises(StoreUnavailable):
        await stage.learned.store_synthesized_process_if_new("acme", "payroll", "one")


async def test_a_case_that_cannot_be_read_is_left_out(redis: Redis) -> None:
    await RedisStage(redis).learns([an_outcome(1)])
    await cast("Awaitable[int]", redis.lpush(keys.learned_keys("acme").cases, '{"v": 9}'))
    assert len((await RedisLearnedStore(redis).recall("acme", "payroll")).cases) == 1


@pytest.mark.promise("prime.knowledge")
async def test_facts_and_entities_are_read_as_the_learner_keeps_them(redis: Redis) -> None:
    """By tenant; one that cannot be read is left out."""
    names = keys.learned_keys("acme")
    await cast("Awaitable[int]", redis.rpush(names.knowledge, FACT.model_dump_json(), '{"v": 9}'))
    await cast("Awaitable[int]", redis.hset(names.entities, "vendor:Initech", ENTITY.model_dump_json()))
    learned = RedisLearnedStore(redis)
    found, other = await learned.recall("acme", "payroll"), await learned.recall("other", "payroll")
    assert (found.knowledge, found.entities) == ((FACT,), (ENTITY,))
    assert (other.knowledge, other.entities) == ((), ())


@pytest.mark.promise("prime.primer_optional")
async def test_spoiled_statistics_are_no_worse_than_none(redis: Redis) -> None:
    """Whoever asks is told as of a store that is down, and goes on."""
    field = keys.arm_fields("payroll", Strategy.FSM).n
    await cast("Awaitable[int]", redis.hset(keys.learned_keys("acme").arms, field, "many"))
    with pytest.raises(StoreUnavailable, match="spoiled"):
        await RedisLearnedStore(redis).recall("acme", "payroll")


@pytest.mark.promise("prime.one_round_trip")
async def test_what_was_learned_is_read_in_one_step_and_what_did_not_change_comes_once(redis: Redis) -> None:
    """Tools that are known are not written again."""
    stage = RedisStage(redis)
    await stage.learns([an_outcome(number) for number in range(CASES_KEPT)])
    await stage.learned.add_tool_names("acme", frozenset({"a"}))
    expected = await RedisLearnedStore(redis).recall("acme", "expense_approval")
    async with redis.monitor() as monitor:
        await redis.echo("begin")
        await _commands(monitor)  # a new connection's greeting
        for read in (["EVALSHA", "LRANGE", "LRANGE", "HVALS"], ["EVALSHA"]):
            assert await stage.learned.recall("acme", "expense_approval") == expected
            await stage.learned.add_tool_names("acme", frozenset({"a"}))
            await redis.echo("end")
            assert [word for word in await _commands(monitor) if word not in _SHORT] == read


_SHORT = {"INFO", "HGET", "HMGET", "HKEYS"}


@pytest.mark.promise("prime.knowledge")
async def test_whoever_has_read_before_sees_each_change_of_what_was_learned(redis: Redis) -> None:
    """A task that is counted, entities and facts that come, an import, a request to forget."""
    learned, now = RedisLearnedStore(redis), datetime.now(UTC)
    todo = TaskToSearchForFacts.model_validate(
        {"tenant": "acme", "event_id": "t1:1", "task_id": "t1", "session_id": "s", "process_type": "payroll"}
        | {"quality": 1.0, "ended_at": now, "task": "", "answer": ""}
    )
    named = MemoryChange("acme", ("t1:1",), {"vendor:Initech": ENTITY}, {"vendor:Initech": EntityLinks()}, {}, (todo,))
    emptied = [("DEL", keys.learned_keys("acme").cases, ())]
    asked = ForgetRequest(request_id="r", tenant="acme", scope=ForgetScope.TENANT, asked_by="amy", asked_at=now)
    changes: Sequence[Callable[[], Awaitable[object]]] = (
        lambda: RedisLessons(redis).store_lessons([make_lesson(an_outcome(1))]),
        lambda: RedisKnowledge(redis).store_memory_change(named, "0"),
        lambda: RedisFactRepository(redis).store_facts(todo, FactChange((), (FACT,)), {}, "1"),
        lambda: change_learned_data(Scripts(redis), "acme", emptied, StoredVersions()),
        lambda: RedisForgetting(redis, None).remove_requested_data(asked),
    )
    seen = await learned.recall("acme", "payroll")
    for change in changes:
        await change()
        before, seen = seen, await learned.recall("acme", "payroll")
        assert seen == await RedisLearnedStore(redis).recall("acme", "payroll") != before


async def _commands(monitor: Monitor) -> list[str]:
    """The commands seen until something is echoed."""
    seen: list[str] = []
    async for command in monitor.listen():
        word = str(command["command"]).split(" ")[0].upper()
        if word == "ECHO":
            break
        seen.append(word)
    return seen


@pytest.mark.promise("dry_run.not_learned_from")
async def test_a_dry_run_is_counted_and_teaches_nothing(redis: Redis) -> None:
    """Alone and beside a real run; a second time it is known."""
    dry = make_lesson(an_outcome(1, dry_run=True, strategy_applied=False))
    memory = RedisLessons(redis)
    assert await memory.store_lessons([dry]) == [True]
    assert await memory.store_lessons([dry, make_lesson(an_outcome(2))]) == [False, True]
    names = keys.learned_keys("acme")
    counts = await cast("Awaitable[dict[str, str]]", redis.hgetall(names.counts))
    assert (counts["events"], await cast("Awaitable[int]", redis.llen(names.cases))) == ("2", 1)
    assert sum(int(counts.get(word, 0)) for word in ("success", "partial", "failure")) == 1

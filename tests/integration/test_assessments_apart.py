"""Turns of an assessment leave what a business has learned as it was."""

import pytest
from redis.asyncio import Redis

from shared.contracts.digest import NO_DIGEST, digest_of
from shared.contracts.outcome import PredictionOutcome, TaskOutcome, ThresholdKind
from shared.domain.words import Strategy, TaskState
from tests.integration.learner_stage import leave, unsettled
from tests.integration.memory_stage import MemoryStage, an_outcome_of

pytestmark = pytest.mark.promise("learner.assessments_apart")
_BILL = "Pay invoice INV-7 of Initech Ltd for EUR 1,200.00"


async def test_an_assessed_outcome_has_no_digest_by_which_it_would_be_counted() -> None:
    assert digest_of(_turn(1, "acme")) == NO_DIGEST


async def test_an_assessment_changes_nothing_that_was_learned(redis: Redis) -> None:
    """Of a tenant that has learned something, and of one that has not; what comes after it is learned as before."""
    stage = MemoryStage(redis)
    await _end(stage, [an_outcome_of(_BILL, 1)])
    before = await _learned(redis)

    await _end(stage, [_turn(number, tenant) for number in range(2, 8) for tenant in ("acme", "globex")])
    after = await _learned(redis)
    await _end(stage, [an_outcome_of(_BILL, 9)])

    assert after == before
    assert stage.learner.counts.learned == 2
    assert stage.learner.counts.dead == 0
    assert await unsettled(redis) == 0


def _turn(number: int, tenant: str) -> TaskOutcome:
    """One that would be counted, rewarded, kept and remembered if it were the business's."""
    limit = PredictionOutcome(kind=ThresholdKind.POLICY_LIMIT, name="amount", sign=">", predicted="500", held=False)
    outcome = an_outcome_of("Mail Ann Lee of Umbrella Corp about EUR 300.00", number, tenant, thresholds=(limit,))
    state = TaskState.FAILED if number % 2 else TaskState.COMPLETED
    return outcome.model_copy(update={"practice": True, "strategy": Strategy.MOA, "state": state})


async def _end(stage: MemoryStage, outcomes: list[TaskOutcome]) -> None:
    await leave(stage.redis, outcomes)
    await stage.learns()
    await stage.remembers()
    await stage.finds_facts()


async def _learned(redis: Redis) -> dict[str, str]:
    """What every key of every tenant holds; the events themselves lie elsewhere."""
    names = sorted([name async for name in redis.scan_iter("pa:{t:*")])
    dumped: dict[str, str] = {}
    for name in names:
        kind = await redis.type(name)
        dumped[name] = repr(await _content(redis, name, str(kind)))
    return dumped


async def _content(redis: Redis, name: str, kind: str) -> object:
    match kind:
        case "hash":
            return sorted((await redis.hgetall(name)).items())  # type: ignore[misc]  # sync or async
        case "list":
            return await redis.lrange(name, 0, -1)  # type: ignore[misc]  # sync or async
        case "set":
            return sorted(await redis.smembers(name))  # type: ignore[misc]  # sync or async
        case "zset":
            return await redis.zrange(name, 0, -1, withscores=True)
        case "stream":
            return await redis.xrange(name)
        case _:
            return await redis.get(name)

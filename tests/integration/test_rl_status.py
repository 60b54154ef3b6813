"""``GET /rl/status``: the four parts, for the caller's tenant, from any replica."""

from collections.abc import Awaitable
from typing import cast

import httpx
import pytest
from redis.asyncio import Redis

from services.executor.adapters.redis_learned import RedisLearned
from services.gateway.features.identity.model import DEFAULT_TENANT
from services.learner.adapters.redis_memory import RedisMemory
from services.learner.core.memory.lesson import lesson_of
from shared.domain.words import Strategy, TaskState
from shared.infra import keys
from tests.http_client import open_http
from tests.integration.gateway_stage import gateway
from tests.integration.learner_stage import an_outcome


async def _status(url: str, path: str = "/rl/status") -> httpx.Response:
    async with open_http(base_url=url, trust_env=False) as client:
        return await client.get(path)


@pytest.mark.promise("rl.status")
async def test_before_anything_was_learned_every_part_is_there_and_empty(redis: Redis, redis_url: str) -> None:
    async with gateway(redis_url) as url:
        answer = await _status(url)
    empty = {"size": 0, "cap": 200, "total": 0, "success": 0, "partial": 0, "failure": 0, "mean_quality": None}
    assert answer.json() == {
        "case_log": empty,
        "bandit": {},
        "tool_registry": {"size": 0},
        "fsm_synthesis_cache": {"size": 0},
    }


@pytest.mark.promise("rl.status")
async def test_what_was_learned_is_shown_with_the_score_of_each_arm(redis: Redis, redis_url: str) -> None:
    """Two pulls of fsm and one of moa: Q + sqrt(2) * sqrt(ln 3 / n). Another tenant's do not count."""
    outcomes = [
        an_outcome(1, DEFAULT_TENANT, quality=0.9),
        an_outcome(2, DEFAULT_TENANT, quality=0.5, state=TaskState.FAILED),
        an_outcome(3, DEFAULT_TENANT, quality=0.4, strategy=Strategy.MOA),
        an_outcome(4, "other"),
    ]
    await RedisMemory(redis).learn([lesson_of(outcome) for outcome in outcomes])
    await RedisLearned(redis).note_tools(DEFAULT_TENANT, frozenset({"get_expense", "approve_expense"}))
    async with gateway(redis_url) as one, gateway(redis_url) as other:
        answer = (await _status(one)).json()
        assert (await _status(other)).json() == answer
    assert answer["bandit"] == {
        "expense_approval": {
            "fsm": {"n": 2, "q": 0.7, "ucb": 1.7481},
            "moa": {"n": 1, "q": 0.4, "ucb": 1.8823},
        }
    }
    log = answer["case_log"]
    assert (log["size"], log["total"], log["success"], log["partial"], log["failure"]) == (3, 3, 1, 1, 1)
    assert log["mean_quality"] == 0.6
    assert answer["tool_registry"] == {"size": 2}


@pytest.mark.promise("rl.history")
async def test_before_anything_was_learned_there_is_no_history(redis: Redis, redis_url: str) -> None:
    async with gateway(redis_url) as url:
        assert (await _status(url, "/rl/history")).json() == {"quality": [], "bandit": {}, "days": []}


@pytest.mark.promise("rl.history")
async def test_the_history_shows_how_quality_and_arms_came_to_be(redis: Redis, redis_url: str) -> None:
    """One point a task while they are few; each day with its counts, of which a dry run has no quality."""
    outcomes = [
        an_outcome(1, DEFAULT_TENANT, quality=0.9),
        an_outcome(2, DEFAULT_TENANT, quality=0.5, strategy=Strategy.MOA),
        an_outcome(86_400, DEFAULT_TENANT, dry_run=True, strategy_applied=False),
        an_outcome(4, "other"),
    ]
    await RedisMemory(redis).learn([lesson_of(outcome) for outcome in outcomes])
    async with gateway(redis_url) as url:
        found = (await _status(url, "/rl/history")).json()
    first = {"n": 1, "at": outcomes[0].ended_at.isoformat(timespec="milliseconds"), "mean": 0.9, "recent": 0.9}
    second = {"n": 2, "at": outcomes[1].ended_at.isoformat(timespec="milliseconds"), "mean": 0.7, "recent": 0.5}
    assert found["quality"] == [first, second]
    assert found["bandit"] == {"expense_approval": {"fsm": [first], "moa": [{**second, "n": 1, "mean": 0.5}]}}
    day, next_day = found["days"]
    judged = {"success": 1, "partial": 1, "failure": 0, "mean_quality": 0.7}
    assert day == {"day": outcomes[0].ended_at.date().isoformat(), "total": 2, **judged}
    assert (next_day["total"], next_day["mean_quality"]) == (1, None)


@pytest.mark.parametrize(("spoiled", "cause"), [("arms", "WRONGTYPE"), ("a count", "spoiled")])
async def test_statistics_that_cannot_be_had_are_a_503_with_the_cause(
    redis: Redis, redis_url: str, spoiled: str, cause: str
) -> None:
    names = keys.learned_keys(DEFAULT_TENANT)
    if spoiled == "arms":
        await redis.set(names.arms, "no hash")
    else:
        await cast("Awaitable[int]", redis.hset(names.counts, "events", "many"))
    async with gateway(redis_url) as url:
        answer = await _status(url)
    assert answer.status_code == 503
    assert cause in answer.json()["error"]

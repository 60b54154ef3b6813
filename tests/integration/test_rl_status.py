"""``GET /rl/status``: four parts, for the caller's tenant, from any replica, as docs/statistics.md says."""

import re
import shlex
from collections.abc import Awaitable
from pathlib import Path
from typing import cast

import httpx
import pytest
from redis.asyncio import Redis

from services.executor.adapters.redis_learned import RedisLearnedStore
from services.gateway.features.learning import LearnedData, build_learning_view
from services.learner.adapters.redis_lessons import RedisLessons
from services.learner.core.memory.lesson import make_lesson
from shared.contracts.knowledge import CaseEntry
from shared.contracts.tenant import DEFAULT_TENANT
from shared.domain.estimates import TrendPoint
from shared.domain.exact_json import loads_object
from shared.domain.words import Strategy, TaskState
from shared.infra import keys
from tests.http_client import open_http
from tests.integration.gateway_stage import gateway
from tests.integration.learner_stage import an_outcome
from tests.key_table import words_of


async def _status(url: str, path: str = "/rl/status") -> httpx.Response:
    async with open_http(base_url=url, trust_env=False) as client:
        return await client.get(path)


@pytest.mark.promise("rl.status")
async def test_before_anything_was_learned_every_part_is_there_and_empty(url: str) -> None:
    answer = await _status(url)
    empty = {"size": 0, "cap": 200, "total": 0, "success": 0, "partial": 0, "failure": 0, "mean_quality": None}
    assert answer.json() == {
        "case_log": empty,
        "bandit": {},
        "tool_registry": {"size": 0},
        "fsm_synthesis_cache": {"size": 0},
    }


@pytest.mark.parametrize("path", ["/rl/status", "/health"])
async def test_a_path_that_is_read_is_asked_by_head_too(url: str, path: str) -> None:
    async with open_http(base_url=url, trust_env=False) as client:
        answer, read = await client.head(path), await client.get(path)
    assert (answer.status_code, answer.content) == (200, b"")
    assert answer.headers["content-length"] == read.headers["content-length"]


@pytest.mark.promise("rl.status")
async def test_what_was_learned_is_shown_with_the_score_of_each_arm(redis: Redis, redis_url: str) -> None:
    """Two pulls of fsm and one of moa: Q + sqrt(2) * sqrt(ln 3 / n). Another tenant's do not count."""
    outcomes = [
        an_outcome(1, DEFAULT_TENANT, quality=0.9),
        an_outcome(2, DEFAULT_TENANT, quality=0.5, state=TaskState.FAILED),
        an_outcome(3, DEFAULT_TENANT, quality=0.4, strategy=Strategy.MOA),
        an_outcome(4, "other"),
    ]
    await RedisLessons(redis).store_lessons([make_lesson(outcome) for outcome in outcomes])
    await RedisLearnedStore(redis).add_tool_names(DEFAULT_TENANT, frozenset({"get_expense", "approve_expense"}))
    async with gateway(redis_url) as one, gateway(redis_url) as other:
        answer = (await _status(one)).json()
        assert (await _status(other)).json() == answer
    assert answer["bandit"] == {
        "expense_approval": {"fsm": {"n": 2, "q": 0.7, "ucb": 1.7481}, "moa": {"n": 1, "q": 0.4, "ucb": 1.8823}}
    }
    log = answer["case_log"]
    assert (log["size"], log["total"], log["success"], log["partial"], log["failure"]) == (3, 3, 1, 1, 1)
    assert log["mean_quality"] == 0.6
    assert answer["tool_registry"] == {"size": 2}


@pytest.mark.promise("console.learning")
async def test_the_history_shows_how_quality_and_arms_came_to_be(redis: Redis) -> None:
    """One point a task while they are few; each day with its counts, of which a dry run has no quality."""
    outcomes = [
        an_outcome(1, DEFAULT_TENANT, quality=0.9),
        an_outcome(2, DEFAULT_TENANT, quality=0.5, strategy=Strategy.MOA),
        an_outcome(86_400, DEFAULT_TENANT, dry_run=True, strategy_applied=False),
        an_outcome(4, "other"),
    ]
    await RedisLessons(redis).store_lessons([make_lesson(outcome) for outcome in outcomes])
    found = await LearnedData(redis).read_history(DEFAULT_TENANT)
    first, second = [round(1000 * outcome.ended_at.timestamp()) for outcome in outcomes[:2]]
    assert found.quality == (TrendPoint(1, first, 0.9, 0.9), TrendPoint(2, second, 0.7, 0.5))
    assert found.arms == {
        "expense_approval": {"fsm": (TrendPoint(1, first, 0.9, 0.9),), "moa": (TrendPoint(1, second, 0.5, 0.5),)}
    }
    day, dry_day = found.days.values()
    assert [*found.days] == sorted({outcome.ended_at.date().isoformat() for outcome in outcomes})
    assert day == {"events": 2, "success": 1, "partial": 1, "quality_units": 14_000}
    assert dry_day == {"events": 1}


@pytest.mark.parametrize(("spoiled", "cause"), [("arms", "WRONGTYPE"), ("a count", "spoiled")])
async def test_statistics_that_cannot_be_had_are_a_503(url: str, redis: Redis, spoiled: str, cause: str) -> None:
    names = keys.learned_keys(DEFAULT_TENANT)
    if spoiled == "arms":
        await redis.set(names.arms, "no hash")
    else:
        await cast("Awaitable[int]", redis.hset(names.counts, "events", "many"))
    answer = await _status(url)
    assert answer.status_code == 503
    assert cause in answer.json()["error"]


DOCUMENT = (Path(__file__).parents[2] / "docs" / "statistics.md").read_text()
COMMANDS = [line for line in DOCUMENT.splitlines() if line.startswith("redis-cli ")]
KEYS = set(re.findall(r"^\| `pa:\{t:TENANT\}:(\w+)`", DOCUMENT, re.M))
ENDED = [
    an_outcome(1, quality=0.9),
    an_outcome(2, quality=0.3, state=TaskState.FAILED),
    an_outcome(3, quality=0.5, dry_run=True, strategy_applied=False),
]


async def _learn(redis: Redis) -> None:
    await RedisLessons(redis).store_lessons([make_lesson(outcome) for outcome in ENDED])
    await RedisLearnedStore(redis).add_tool_names("acme", frozenset({"get_expense"}))


async def _fields(redis: Redis, key: str) -> dict[str, str]:
    return await cast("Awaitable[dict[str, str]]", redis.hgetall(f"pa:{{t:acme}}:{key}"))


def test_the_page_names_keys_of_the_table_that_a_dashboard_needs() -> None:
    assert {"counts", "arms", "cases", "tools", "synthesized", "days", "trends"} <= KEYS
    assert words_of("What is learned of a tenant") >= KEYS


@pytest.mark.promise("learner.documented")
@pytest.mark.parametrize("command", COMMANDS)
async def test_every_command_of_the_page_finds_something(redis: Redis, command: str) -> None:
    await _learn(redis)
    found = await redis.execute_command(*shlex.split(command)[1:])  # type: ignore[no-untyped-call]  # redis-py
    assert found
    assert found != [None]


@pytest.mark.promise("learner.documented")
async def test_means_and_arms_worked_out_as_the_page_says_are_those_of_the_gateway(redis: Redis) -> None:
    await _learn(redis)
    counts, arms = await _fields(redis, "counts"), await _fields(redis, "arms")
    judged = sum(int(counts.get(kind, 0)) for kind in ("success", "partial", "failure"))
    mean = int(counts["quality_units"]) / 10_000 / judged
    value = int(arms["expense_approval:fsm:units"]) / 10_000 / int(arms["expense_approval:fsm:n"])
    shown = build_learning_view(await LearnedData(redis).read_totals("acme"))
    log, bandit = cast("dict[str, object]", shown["case_log"]), cast("dict[str, dict[str, object]]", shown["bandit"])
    assert log["mean_quality"] == pytest.approx(mean) == pytest.approx(0.6)
    assert log["total"] == int(counts["events"]) == 3
    assert cast("dict[str, object]", bandit["expense_approval"]["fsm"])["q"] == pytest.approx(value)


@pytest.mark.promise("learner.documented")
async def test_trends_and_days_read_as_the_page_says_are_those_of_the_gateway(redis: Redis) -> None:
    await _learn(redis)
    points = [tuple(map(int, point.split(":"))) for point in (await _fields(redis, "trends"))["quality"].split()]
    shown = await LearnedData(redis).read_history("acme")
    assert [point.mean for point in shown.quality] == [units / 10_000 / n for n, units, _ in points] == [0.9, 0.6]
    (_, recent), spread = [point.recent for point in shown.quality], points[1][0] - points[0][0]
    assert recent == pytest.approx((points[1][1] - points[0][1]) / 10_000 / spread)
    ((day, counts),) = shown.days.items()
    days = await _fields(redis, "days")
    assert int(days[f"{day}:failure"]) == counts["failure"] == 1


@pytest.mark.promise("learner.documented")
async def test_an_entry_of_the_case_log_has_the_fields_of_the_page(redis: Redis) -> None:
    await _learn(redis)
    (row,) = [line for line in DOCUMENT.splitlines() if line.startswith("| `pa:{t:TENANT}:cases`")]
    (entry,) = await cast("Awaitable[list[str]]", redis.lrange("pa:{t:acme}:cases", 0, 0))
    assert loads_object(entry).keys() <= {*re.findall(r"`(\w+)`", row), "v"}
    assert CaseEntry.model_validate_json(entry).task_id == "acme-2"

"""Whoever reads the statistics as docs/statistics.md says finds what /rl/status shows."""

import re
import shlex
from collections.abc import Awaitable
from pathlib import Path
from typing import cast

import pytest
from redis.asyncio import Redis

from services.executor.adapters.redis_learned import RedisLearned
from services.gateway.features.learning.service import history_view, learning_view
from services.gateway.features.learning.store import RedisStatistics
from services.learner.adapters.redis_memory import RedisMemory
from services.learner.core.memory.lesson import lesson_of
from shared.contracts.knowledge import CaseEntry
from shared.domain.exact_json import loads_object
from shared.domain.words import TaskState
from tests.integration.learner_stage import an_outcome
from tests.key_table import words_of

DOCUMENT = (Path(__file__).parents[2] / "docs" / "statistics.md").read_text()
COMMANDS = [line for line in DOCUMENT.splitlines() if line.startswith("redis-cli ")]
KEYS = set(re.findall(r"^\| `pa:\{t:TENANT\}:(\w+)`", DOCUMENT, re.M))
ENDED = [
    an_outcome(1, quality=0.9),
    an_outcome(2, quality=0.3, state=TaskState.FAILED),
    an_outcome(3, quality=0.5, dry_run=True, strategy_applied=False),
]


async def _learn(redis: Redis) -> None:
    await RedisMemory(redis).learn([lesson_of(outcome) for outcome in ENDED])
    await RedisLearned(redis).note_tools("acme", frozenset({"get_expense"}))


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
    shown = learning_view(await RedisStatistics(redis).learning("acme"))
    log, bandit = cast("dict[str, object]", shown["case_log"]), cast("dict[str, dict[str, object]]", shown["bandit"])
    assert log["mean_quality"] == pytest.approx(mean) == pytest.approx(0.6)
    assert log["total"] == int(counts["events"]) == 3
    assert cast("dict[str, object]", bandit["expense_approval"]["fsm"])["q"] == pytest.approx(value)


@pytest.mark.promise("learner.documented")
async def test_trends_and_days_read_as_the_page_says_are_those_of_the_gateway(redis: Redis) -> None:
    await _learn(redis)
    points = [tuple(map(int, point.split(":"))) for point in (await _fields(redis, "trends"))["quality"].split()]
    shown = history_view(await RedisStatistics(redis).history("acme"))
    line = cast("list[dict[str, float]]", shown["quality"])
    assert [point["mean"] for point in line] == [units / 10_000 / n for n, units, _ in points] == [0.9, 0.6]
    assert line[1]["recent"] == pytest.approx((points[1][1] - points[0][1]) / 10_000 / (points[1][0] - points[0][0]))
    (day,) = cast("list[dict[str, object]]", shown["days"])
    days = await _fields(redis, "days")
    assert int(days[f"{day['day']}:failure"]) == day["failure"] == 1


@pytest.mark.promise("learner.documented")
async def test_an_entry_of_the_case_log_has_the_fields_of_the_page(redis: Redis) -> None:
    await _learn(redis)
    (row,) = [line for line in DOCUMENT.splitlines() if line.startswith("| `pa:{t:TENANT}:cases`")]
    (entry,) = await cast("Awaitable[list[str]]", redis.lrange("pa:{t:acme}:cases", 0, 0))
    assert loads_object(entry).keys() <= {*re.findall(r"`(\w+)`", row), "v"}
    assert CaseEntry.model_validate_json(entry).task_id == "acme-2"

"""An operator reads what tasks have left, and has it forgotten: over the gateway and by command."""

import asyncio
import json
from datetime import UTC, datetime

import pytest
from redis.asyncio import Redis
from typer.testing import CliRunner

from cli.main import app
from services.gateway.features.identity.model import DEFAULT_TENANT
from shared.contracts.outcome import PredictionOutcome, ThresholdKind
from tests.integration.gateway_stage import Stage, stage
from tests.integration.learner_stage import leave
from tests.integration.memory_stage import TERMS, MemoryStage, an_outcome_of

_OPERATOR = {"metadata": {"principal": {"id": "olga", "roles": ["operator"]}}}
_PARTS = ("cases", "facts", "entities", "accuracy")


async def _filled(redis: Redis, tenant: str = DEFAULT_TENANT) -> MemoryStage:
    memory = MemoryStage(redis)
    limit = PredictionOutcome(kind=ThresholdKind.POLICY_LIMIT, name="amount", sign=">", predicted="5", held=True)
    await leave(redis, [an_outcome_of("Pay Initech Ltd for INV-7", 1, tenant, thresholds=(limit,))])
    await memory.learns()
    await memory.remembers()
    await memory.finds_facts()
    return memory


async def _command(play: Stage, *words: str, said: str | None = None) -> tuple[int, str]:
    """The command's exit code and words, from a thread: it has a loop of its own."""
    command = ["learn", "forget", *words, "--as", "olga", "--url", play.url]
    done = await asyncio.to_thread(CliRunner().invoke, app, command, said)
    return done.exit_code, done.output


@pytest.mark.promise("memory.read")
async def test_an_operator_reads_what_tasks_have_left(redis: Redis, redis_url: str) -> None:
    await _filled(redis)
    await _filled(redis, "other")
    async with stage(redis, redis_url) as play:
        told = {part: (await play.client.post(f"/memory/{part}", json=_OPERATOR)).json()[part] for part in _PARTS}
        finding = (await play.client.post("/memory/facts", json=_OPERATOR)).json()["finding"]
    (case,), (fact,), entities, (accuracy,) = (told[part] for part in _PARTS)
    assert case["task_id"] == fact["task_id"] == f"{DEFAULT_TENANT}-1"
    assert (fact["text"], fact["holds"], fact["superseded_at"]) == (TERMS.text, True, None)
    assert {(one["kind"], one["value"], one["seen"]) for one in entities} == {
        ("vendor", "Initech Ltd", 1),
        ("reference", "INV-7", 1),
    }
    assert (accuracy["process_type"], accuracy["kind"], accuracy["attempts"]) == ("expense_approval", "policy_limit", 1)
    assert finding["fact_input_tokens"] == 100


@pytest.mark.promise("memory.read")
async def test_nobody_else_does(redis: Redis, redis_url: str) -> None:
    body = {"metadata": {"principal": {"id": "casey", "roles": ["client", "approver"]}}, "scope": "tenant"}
    async with stage(redis, redis_url) as play:
        paths = (*_PARTS, "forget", "forget/list", "forget/r1/show")
        codes = {path: (await play.client.post(f"/memory/{path}", json=body)).status_code for path in paths}
    assert set(codes.values()) == {403}


async def test_what_is_to_be_forgotten_must_be_said(redis: Redis, redis_url: str) -> None:
    async with stage(redis, redis_url) as play:
        for field, body in (
            ("scope", {}),
            ("scope", {"scope": "all"}),
            ("subject", {"scope": "entity"}),
            ("subject", {"scope": "tenant", "subject": "Initech"}),
            ("subject", {"scope": "session", "subject": 7}),
        ):
            answer = await play.client.post("/memory/forget", json={**_OPERATOR, **body})
            assert (answer.status_code, answer.json()["error"].split(":")[0]) == (400, field)
        unknown = await play.client.post("/memory/forget/none/show", json=_OPERATOR)
    assert unknown.status_code == 404


@pytest.mark.promise("forget.command")
async def test_the_command_waits_for_a_learner_and_says_what_was_removed_and_what_stays(
    redis: Redis, redis_url: str
) -> None:
    memory = await _filled(redis)
    async with stage(redis, redis_url) as play, asyncio.TaskGroup() as group:
        running = group.create_task(_command(play, "--entity", "Initech", "--yes", "--json"))
        while not memory.forgetter.done:
            await memory.forgetter.round(datetime.now(UTC))
            await asyncio.sleep(0.01)
        code, said = await running
        again = group.create_task(_command(play, "--entity", "Initech", "--yes"))
        while memory.forgetter.done < 2:
            await memory.forgetter.round(datetime.now(UTC))
            await asyncio.sleep(0.01)
        table = await again
    told = json.loads(said.splitlines()[-1])
    assert (code, told["state"]) == (0, "done")
    assert told["removed"] == {"cases": 1, "facts": 1, "entities": 1}
    assert "audit trail" in told["left"]["tasks"]
    assert (table[0], "Nothing of it was remembered" in table[1], "stays" in table[1]) == (0, True, True)


@pytest.mark.promise("forget.command")
async def test_nothing_is_forgotten_before_somebody_says_yes_to_one_thing(redis: Redis, redis_url: str) -> None:
    memory, one_of = await _filled(redis), "Say one of --entity, --session and --tenant"
    async with stage(redis, redis_url) as play:
        for sentence, *words in (
            ("Say --yes", "--entity", "Initech"),
            (one_of,),
            (one_of, "--entity", "Initech", "--tenant", "--yes"),
        ):
            code, said = await _command(play, *words)
            assert (code, sentence in said) == (1, True)
    assert await memory.forgets.requests_of(DEFAULT_TENANT) == []

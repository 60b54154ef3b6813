"""A gateway that asks for keys is measured; turns of an assessment leave what a business has learned as it was."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NamedTuple

import httpx
import pytest
from cryptography.fernet import Fernet
from redis.asyncio import Redis
from structlog.testing import capture_logs

from cli.assess.assessor import RunParameters, run_assessment
from cli.console import CommandError
from services.assessor.bootstrap import build
from services.assessor.settings import AssessorSettings
from shared.contracts.assessment.messages import Update
from shared.contracts.assessment.results import AGENT_KEY_HEADER
from shared.contracts.outcome import PredictionOutcome, TaskOutcome, ThresholdKind
from shared.contracts.outcome_digest import NO_DIGEST, make_outcome_digest
from shared.domain.words import Strategy, TaskState
from tests.assessor.scenes import SCENE, written
from tests.assessor.stage import ADMIN, simulator
from tests.http_client import open_http, rpc_body
from tests.integration.gateway_stage import Stage, locked_stage
from tests.integration.learner_stage import unsettled
from tests.integration.memory_stage import MemoryStage, an_outcome_of
from tests.serving import serving

ASSESSED = {"assessment_key": Fernet.generate_key().decode(), "tools_allowed_hosts": "127.0.0.1"}


class Scene(NamedTuple):
    """``key``: of a client of the gateway in ``play``."""

    play: Stage
    key: str
    assessor: str


@pytest.fixture
async def scene(redis: Redis, redis_url: str, tmp_path: Path) -> AsyncIterator[Scene]:
    written(tmp_path)
    async with locked_stage(redis, redis_url, **ASSESSED) as locked, _assessor(tmp_path) as assessor:
        yield Scene(locked.play, await locked.key("the-assessor", roles=["client"]), assessor)


@asynccontextmanager
async def _assessor(scenarios: Path) -> AsyncIterator[str]:
    async with simulator() as ues:
        given = {"scenarios_dir": scenarios, "anthropic_api_key": "", "anthropic_base_url": ""}
        world = {"simulator_url": ues, "simulator_admin_key": ADMIN}
        async with serving(build(AssessorSettings.model_validate({**given, **world}))) as url:
            yield url


@pytest.mark.promise("assessor.agent_key")
async def test_an_agent_behind_keys_is_measured_and_its_key_stands_nowhere(scene: Scene) -> None:
    followed: list[Update] = []
    wanted = RunParameters(SCENE, scene.play.url, max_turns=2, turn_timeout=20)
    with capture_logs() as logs:
        async with open_http(trust_env=False, headers={AGENT_KEY_HEADER: scene.key}) as http:
            results = await run_assessment(scene.assessor, http, wanted, followed.append)
            shown = await _kept_tasks(http, scene.assessor)

    assert (results.status, results.turns_taken, results.failed_turns) == ("completed", 2, ())
    assert {work.record.requester.id for work in scene.play.worker.works} == {"the-assessor"}
    assert "assessment_results" in shown
    assert scene.key not in f"{results.model_dump_json()}{followed!r}{logs!r}{shown}"


async def _kept_tasks(http: httpx.AsyncClient, assessor: str) -> str:
    """All that the assessor still knows."""
    body = rpc_body("ListTasks", {"includeArtifacts": True, "historyLength": 99})
    return (await http.post(assessor, json=body, headers={"A2A-Version": "1.0"})).text


@pytest.mark.promise("assessor.agent_key")
@pytest.mark.parametrize(
    ("key", "said"),
    [
        ("", "401: it wants a key, and none was given"),
        pytest.param("pa_wrong_one", "401: it does not take the key", marks=pytest.mark.long),
    ],
)
async def test_an_agent_that_is_shown_no_good_key_is_not_measured(key: str, said: str, scene: Scene) -> None:
    async with open_http(trust_env=False, headers={AGENT_KEY_HEADER: key} if key else {}) as http:
        with pytest.raises(CommandError, match=said):
            await run_assessment(scene.assessor, http, RunParameters(SCENE, scene.play.url), lambda _: None)

    assert scene.play.worker.works == []


_BILL = "Pay invoice INV-7 of Initech Ltd for EUR 1,200.00"


@pytest.mark.promise("learner.assessments_apart")
async def test_an_assessed_outcome_has_no_digest_by_which_it_would_be_counted() -> None:
    assert make_outcome_digest(_turn(1, "acme")) == NO_DIGEST


@pytest.mark.promise("learner.assessments_apart")
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
    await stage.takes_in(*outcomes)
    await stage.learns()


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

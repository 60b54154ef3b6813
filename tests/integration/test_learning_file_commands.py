"""`purple learn export` and `import` through a gateway, with the learner's and the executor's doors behind it."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import pytest
from redis.asyncio import Redis

from services.executor.adapters.redis_learned import RedisLearned
from services.executor.core.process.synthesis import import_processes
from services.learner.adapters.redis_learned_files import RedisImportRepository
from services.learner.adapters.redis_memory import RedisMemory
from services.learner.core.files.importer import Importer
from services.learner.core.memory.lesson import lesson_of
from shared.contracts.learning_files import LearningFile
from shared.domain.exact_json import JsonObject, loads_object
from shared.infra.learned_files import learned_files
from shared.infra.rpc import RpcQueue, keep_importing
from tests.e2e.commands import call_purple
from tests.http_client import open_http
from tests.integration.gateway_stage import PATIENCE, gateway
from tests.integration.learner_stage import an_outcome
from tests.unit.executor.test_definitions import A_PROCESS

OPERATOR: JsonObject = {"principal": {"id": "olga", "roles": ["operator"]}}


@asynccontextmanager
async def _stack(redis: Redis, redis_url: str) -> AsyncIterator[str]:
    importer = Importer(RedisImportRepository(redis), lambda: datetime.now(UTC))
    async with gateway(redis_url) as url:
        doing = [
            asyncio.create_task(keep_importing(RpcQueue(redis, "learner"), LearningFile.CASE_LOG, importer.carry_out)),
            asyncio.create_task(
                keep_importing(
                    RpcQueue(redis, "executor"),
                    LearningFile.SYNTHESIZED,
                    partial(import_processes, RedisLearned(redis)),
                )
            ),
        ]
        try:
            yield url
        finally:
            for task in doing:
                task.cancel()
            await asyncio.gather(*doing, return_exceptions=True)


async def _post(url: str, path: str, **body: object) -> tuple[int, JsonObject]:
    async with open_http(base_url=url, timeout=PATIENCE, trust_env=False) as client:
        response = await client.post(path, json=body)
    return response.status_code, loads_object(response.text)


async def _learn(redis: Redis, tenant: str = "default") -> None:
    outcomes = [an_outcome(number, tenant=tenant, quality=number / 20) for number in range(20)]
    await RedisMemory(redis).learn([lesson_of(outcome) for outcome in outcomes])


@pytest.mark.promise("files.round_trip")
@pytest.mark.promise("files.processes")
async def test_an_export_is_imported_by_another_installation(redis: Redis, redis_url: str, tmp_path: Path) -> None:
    """Also the processes, which the executor checks and keeps."""
    await _learn(redis)
    async with _stack(redis, redis_url) as url:
        processes = {"file": "synthesized_definitions.json", "content": {"grant_award": A_PROCESS}}
        kept = await _post(url, "/learn/import", **processes, metadata=OPERATOR)
        before = await learned_files(redis, "default")
        out = await call_purple("learn", "export", str(tmp_path), "--url", url, "--json")
        await redis.flushall()
        done = await call_purple("learn", "import", str(tmp_path), "--url", url, "--json")
        after = await learned_files(redis, "default")
    assert (kept[0], kept[1]["taken"], out.code, done.code) == (200, 1, 0, 0)
    assert after == before
    assert before[LearningFile.SYNTHESIZED] != {}


@pytest.mark.long
@pytest.mark.promise("files.validated_whole")
async def test_nothing_is_imported_if_one_file_is_wrong(redis: Redis, redis_url: str, tmp_path: Path) -> None:
    """Neither the right ones; the wrong entry is named."""
    await _learn(redis, "other")
    files = await learned_files(redis, "other")
    (tmp_path / "case_log.json").write_text(json.dumps(files[LearningFile.CASE_LOG]))
    (tmp_path / "strategy_bandit.json").write_text('{"payroll": {"fsm": {"n": -5, "q": 0.5}}}')
    async with _stack(redis, redis_url) as url:
        refused = await call_purple("learn", "import", str(tmp_path), "--url", url)
        after = await learned_files(redis, "default")
    assert (refused.code, "payroll fsm: n" in refused.out) == (1, True)
    assert after[LearningFile.CASE_LOG] == []


async def test_operators_alone_and_known_files_alone(redis: Redis, redis_url: str) -> None:
    async with gateway(redis_url) as url:
        nobody = [await _post(url, f"/learn/{act}", file="case_log.json", content=[]) for act in ("export", "import")]
        wrong = [
            await _post(url, "/learn/import", metadata=OPERATOR, **body)
            for body in (
                {"file": "x"},
                {"file": "case_log.json"},
                {"file": "case_log.json", "content": [], "dry_run": 1},
            )
        ]
    assert [status for status, _ in (*nobody, *wrong)] == [403, 403, 400, 400, 400]

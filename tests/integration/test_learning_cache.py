"""RL_CACHE_DIR: an empty Redis is filled from its files, and they follow what is learned."""

import asyncio
import json
import signal
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import pytest
from pydantic import JsonValue
from redis.asyncio import Redis

from services.executor.adapters.redis_learned import RedisLearned
from services.executor.core.process.synthesis import import_processes
from services.learner.adapters.redis_memory import RedisMemory
from services.learner.core.memory.lesson import lesson_of
from services.learner.jobs import FileJobs, build_file_jobs
from services.learner.settings import LearnerSettings
from shared.contracts.learning_files import FileReport, FileRequest, LearningFile
from shared.infra import keys
from shared.infra.learned_files import learned_files
from shared.infra.rpc import RpcQueue, keep_importing
from shared.infra.starting import CannotStart
from tests.integration.learner_stage import PATIENCE, an_outcome, learner_process, leave, until_settled

BANDIT: JsonValue = {"payroll": {"fsm": {"n": 3, "q": 0.5, "units": 15_000}}}
PROCESS: JsonValue = {
    "states": ["DECOMPOSE", "ASSESS", "COMPUTE", "POLICY_CHECK", "MUTATE", "COMPLETE"],
    "hitl_required": True,
    "risk_level": "low",
}


def _jobs(redis: Redis, redis_url: str, folder: Path, tenant: str = "acme") -> FileJobs:
    told = {"redis_url": redis_url, "rl_cache_dir": folder, "rl_cache_tenant": tenant, "rl_cache_seconds": 0.1}
    return build_file_jobs(LearnerSettings.model_validate(told), redis, "one")


@asynccontextmanager
async def _running(jobs: FileJobs) -> AsyncIterator[None]:
    task = asyncio.create_task(jobs.run())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await jobs.close()


def _put(folder: Path, files: Mapping[str, JsonValue]) -> None:
    for name, content in files.items():
        (folder / name).write_text(json.dumps(content))


def _written(folder: Path) -> dict[str, JsonValue]:
    return {file.value: json.loads((folder / file.value).read_text()) for file in LearningFile}


async def _written_once(folder: Path) -> None:
    async with asyncio.timeout(PATIENCE):
        while not all([(folder / file.value).is_file() for file in LearningFile]):  # noqa: C419  # files, not a stream
            await asyncio.sleep(0.02)


async def _follows(redis: Redis, folder: Path) -> None:
    """Wait until the files say what Redis says."""
    await _written_once(folder)
    files = dict(await learned_files(redis, "acme"))
    async with asyncio.timeout(PATIENCE):
        while _written(folder) != files:
            await asyncio.sleep(0.02)


def _names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir() if not path.name.startswith(".")}


async def _learn(redis: Redis, *numbers: int, tenant: str = "acme") -> None:
    await RedisMemory(redis).learn([lesson_of(an_outcome(number, tenant=tenant)) for number in numbers])


@pytest.mark.promise("files.cache")
async def test_an_empty_redis_is_filled_from_the_folder(redis: Redis, redis_url: str, tmp_path: Path) -> None:
    """Processes by an executor, whenever one comes. What was in the folder is kept beside what is written now."""
    _put(tmp_path, {"strategy_bandit.json": BANDIT, "synthesized_definitions.json": {"grant_award": PROCESS}})
    async with _running(_jobs(redis, redis_url, tmp_path)):
        await _written_once(tmp_path)
        executor = asyncio.create_task(
            keep_importing(
                RpcQueue(redis, "executor"), LearningFile.SYNTHESIZED, partial(import_processes, RedisLearned(redis))
            )
        )
        async with asyncio.timeout(PATIENCE):
            while await RedisLearned(redis).process("acme", "grant_award") is None:
                await asyncio.sleep(0.02)
        executor.cancel()
    files = await learned_files(redis, "acme")
    assert files[LearningFile.STRATEGY_BANDIT] == BANDIT
    assert _written(tmp_path) == {file.value: content for file, content in files.items()}
    assert json.loads((tmp_path / "strategy_bandit.json.before").read_text()) == BANDIT


@pytest.mark.promise("files.cache")
async def test_a_redis_that_lost_everything_is_filled_again(redis: Redis, redis_url: str, tmp_path: Path) -> None:
    """Not the files emptied."""
    await _learn(redis, 1, 2, 3)
    before = await learned_files(redis, "acme")
    async with _running(_jobs(redis, redis_url, tmp_path)):
        await _follows(redis, tmp_path)
        await redis.flushall()
        async with asyncio.timeout(PATIENCE):
            while await learned_files(redis, "acme") != before:
                await asyncio.sleep(0.02)
    assert _written(tmp_path) == dict(before)


@pytest.mark.promise("files.cache")
async def test_a_tenant_that_has_learned_takes_nothing_from_the_folder(
    redis: Redis, redis_url: str, tmp_path: Path
) -> None:
    """Redis holds: the files follow it, and what lay there before is kept beside them."""
    _put(tmp_path, {"strategy_bandit.json": BANDIT})
    await _learn(redis, 1)
    before = await learned_files(redis, "acme")
    async with _running(_jobs(redis, redis_url, tmp_path)):
        await _written_once(tmp_path)
        await _learn(redis, 2)
    assert before != await learned_files(redis, "acme")
    assert _written(tmp_path) == dict(await learned_files(redis, "acme"))
    assert json.loads((tmp_path / "strategy_bandit.json.before").read_text()) == BANDIT


@pytest.mark.promise("files.cache")
async def test_what_was_forgotten_does_not_come_back_from_the_folder(
    redis: Redis, redis_url: str, tmp_path: Path
) -> None:
    _put(tmp_path, {"strategy_bandit.json": BANDIT})
    await redis.hset(keys.learned_keys("acme").forgets, "r1", "{}")  # type: ignore[misc]  # redis-py
    async with _running(_jobs(redis, redis_url, tmp_path)):
        await _written_once(tmp_path)
    assert (await learned_files(redis, "acme"))[LearningFile.STRATEGY_BANDIT] == {}


async def test_a_file_that_cannot_be_imported_harms_nothing_and_is_kept(
    redis: Redis, redis_url: str, tmp_path: Path
) -> None:
    (tmp_path / "case_log.json").write_text("{broken")
    _put(tmp_path, {"strategy_bandit.json": BANDIT})
    async with _running(_jobs(redis, redis_url, tmp_path)):
        await _written_once(tmp_path)
    assert (await learned_files(redis, "acme"))[LearningFile.STRATEGY_BANDIT] == BANDIT
    assert (tmp_path / "case_log.json.before").read_text() == "{broken"


@pytest.mark.promise("files.cache")
async def test_a_learner_that_is_stopped_leaves_what_it_learned_in_the_folder(
    redis: Redis, redis_url: str, tmp_path: Path
) -> None:
    environ = {"RL_CACHE_DIR": str(tmp_path), "RL_CACHE_TENANT": "acme", "RL_CACHE_SECONDS": "3600"}
    with learner_process(redis_url, **environ) as learner:
        await learner.ready()
        await _written_once(tmp_path)
        await leave(redis, [an_outcome(number) for number in range(5)])
        await until_settled(redis)
        brought = FileRequest(tenant="globex", file=LearningFile.STRATEGY_BANDIT, content=BANDIT)
        answer = await RpcQueue(redis, "learner").ask(brought.model_dump_json(), PATIENCE)
        learner.process.signal(signal.SIGTERM)
        assert await asyncio.to_thread(learner.process.wait, PATIENCE) == 0
    assert _written(tmp_path) == dict(await learned_files(redis, "acme"))
    assert len(json.loads((tmp_path / "case_log.json").read_text())) == 5
    assert FileReport.model_validate_json(answer or "").taken == 1


async def test_what_learners_wrote_themselves_is_not_kept_beside(redis: Redis, redis_url: str, tmp_path: Path) -> None:
    """A later process replaces it: what was forgotten stays in no copy."""
    for number in (1, 2):
        await _learn(redis, number)
        async with _running(_jobs(redis, redis_url, tmp_path)):
            await _follows(redis, tmp_path)
    assert _names(tmp_path) == {file.value for file in LearningFile}


def test_an_empty_setting_is_no_folder() -> None:
    assert LearnerSettings.model_validate({"redis_url": "redis://x", "rl_cache_dir": ""}).rl_cache_dir is None


def test_a_folder_that_cannot_be_used_stops_the_start(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    settings = LearnerSettings.model_validate({"redis_url": "redis://x", "rl_cache_dir": tmp_path / "file" / "below"})
    with pytest.raises(CannotStart, match="RL_CACHE_DIR"):
        build_file_jobs(settings, Redis(), "one")

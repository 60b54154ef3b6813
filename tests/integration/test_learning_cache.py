"""RL_CACHE_DIR: an empty Redis is filled from its files; what the bench of the learner measures."""

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
from tests.each_row import each_row
from tests.integration.learner_stage import PATIENCE, an_outcome, learner_process, leave, until_settled
from tools.bench.executor.recall import RecallFigures, RecallReading, measure_recall
from tools.bench.learner.command import LearnerFigures as Speed
from tools.bench.learner.rates import LearnerRates, Round, rates
from tools.bench.learning.story import LAST, TASKS, LearningStory

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


async def test_learner_and_bare_reader_go_through_the_same_events() -> None:
    """Each of them has all; otherwise there would be no figures."""
    (found,) = (await rates(events=120, rounds=1)).rounds
    assert min(found) > 0


def test_a_learner_that_is_much_slower_than_a_bare_reader_misses_its_target() -> None:
    slow, quick = Round(10_000, 30_000, 60_000), Round(20_000, 30_000, 60_000)
    assert Speed(LearnerRates((slow, slow, quick)), (), 0).missed == [
        "0.333 of a bare reader's rate, target at least 0.5"
    ]
    assert Speed(LearnerRates((slow, quick, quick)), (), 0).missed == []


@pytest.mark.promise("prime.reads_bounded")
async def test_reading_takes_one_round_trip_and_the_same_bytes_at_one_tenant_and_at_many() -> None:
    found = await measure_recall(tenants=50, reads=5)
    assert [each.round_trips for each in found] == [1, 1]
    assert found.among_many.bytes == found.alone.bytes > 0
    assert found.among_many.keys > found.alone.keys


def test_reads_that_grow_with_the_tenants_miss_their_target() -> None:
    alone = RecallReading(1, 5, 1, 400_000, 5.0, 9.0)
    assert RecallFigures(alone, alone._replace(tenants=10_000)).missed == []
    grown = RecallFigures(alone, alone._replace(tenants=10_000, round_trips=2, bytes=500_000, p50_ms=11.0))
    assert len(grown.missed) == 3


@each_row(
    ("used", "leaves"),
    [
        (["fsm", "five_phase", "moa"] * 10, False),
        (["five_phase", "fsm", "moa", *["fsm", "moa"] * 13, "fsm"], True),
        (["fsm", "moa"] * 13 + ["five_phase", "fsm", "five_phase", "moa"], False),
        (["fsm"] * 30, False),
    ],
)
def test_a_strategy_is_left_when_it_is_the_least_used_and_hardly_tried_at_last(used: list[str], leaves: bool) -> None:
    assert len(used) == TASKS > LAST
    assert LearningStory(tuple(used), {}, "t:1", (), 1.0, 1.0).leaves_the_worse is leaves


@each_row(("use", "shown"), [("avoid", True), ("follow", False)])
def test_a_failing_case_counts_only_where_it_is_shown_as_what_to_avoid(use: str, shown: bool) -> None:
    cases = ({"case": "other:1", "use": "avoid"}, {"case": "t:1", "use": use})
    assert LearningStory(("fsm",), {}, "t:1", cases, 1.0, 1.0).shows_the_failing_case is shown

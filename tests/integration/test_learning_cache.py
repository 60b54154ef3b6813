"""Where learning comes from: RL_CACHE_DIR, and a bucket, each version of each object once."""

import asyncio
import json
import signal
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import pytest
from pydantic import JsonValue
from redis.asyncio import Redis

from services.executor.adapters.redis_learned import RedisLearnedStore
from services.executor.core.prime.known import select_experience
from services.executor.core.process.synthesis import import_processes
from services.learner.adapters.redis_learned_files import RedisImportRepository
from services.learner.adapters.redis_lessons import RedisLessons
from services.learner.adapters.s3_training import S3ObjectStore
from services.learner.core.files.benchmark_report import REPORTS_PREFIX, make_report_importer, validate_report_rows
from services.learner.core.files.importer import Importer
from services.learner.core.memory.lesson import make_lesson
from services.learner.core.training import TRAINING_PREFIX, LoadedTrainingObject, TrainingObjectLoader
from services.learner.jobs import FileJobs, build_file_jobs
from services.learner.ports.outcomes import ObjectChanged, ObjectStoreUnavailable
from services.learner.settings import LearnerSettings
from shared.contracts.learning_files import LearningFile, LearningImportReport, LearningImportRequest
from shared.domain.cases import CaseOutcome
from shared.infra import keys
from shared.infra.learned_files import read_learned_files
from shared.infra.rpc import RpcQueue, serve_imports
from shared.infra.starting import CannotStart
from tests.each_row import each_row
from tests.http_client import open_http
from tests.integration.bucket_stage import BUCKET, BucketServer, bucket_server
from tests.integration.learner_stage import PATIENCE, an_outcome, case_log, learner_process, leave, until_settled
from tests.unit.learner.training import a_row, lines_of
from tools.bench.executor.recall import measure_recall
from tools.bench.learner.rates import measure_rates
from tools.bench.learning.story import LAST, TASKS, LearningFigures

BANDIT: JsonValue = {"payroll": {"fsm": {"n": 3, "q": 0.5, "units": 15_000}}}
PROCESS: JsonValue = {
    "states": ["DECOMPOSE", "ASSESS", "COMPUTE", "POLICY_CHECK", "MUTATE", "COMPLETE"],
    "hitl_required": True,
    "risk_level": "low",
}


def _jobs(redis: Redis, redis_url: str, folder: Path, tenant: str = "acme") -> FileJobs:
    told = {"redis_url": redis_url, "rl_cache_dir": folder, "rl_cache_tenant": tenant, "rl_cache_seconds": 0.1}
    return build_file_jobs(LearnerSettings.model_validate(told), redis)


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
    files = dict(await read_learned_files(redis, "acme"))
    async with asyncio.timeout(PATIENCE):
        while _written(folder) != files:
            await asyncio.sleep(0.02)


def _names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir() if not path.name.startswith(".")}


async def _learn(redis: Redis, *numbers: int, tenant: str = "acme") -> None:
    await RedisLessons(redis).store_lessons([make_lesson(an_outcome(number, tenant=tenant)) for number in numbers])


@pytest.mark.promise("files.cache")
async def test_an_empty_redis_is_filled_from_the_folder(redis: Redis, redis_url: str, tmp_path: Path) -> None:
    """Processes by an executor, whenever one comes. What was in the folder is kept beside what is written now."""
    _put(tmp_path, {"strategy_bandit.json": BANDIT, "synthesized_definitions.json": {"grant_award": PROCESS}})
    async with _running(_jobs(redis, redis_url, tmp_path)):
        await _written_once(tmp_path)
        executor = asyncio.create_task(
            serve_imports(
                RpcQueue(redis, "executor"),
                LearningFile.SYNTHESIZED,
                partial(import_processes, RedisLearnedStore(redis)),
            )
        )
        async with asyncio.timeout(PATIENCE):
            while await RedisLearnedStore(redis).get_synthesized_process("acme", "grant_award") is None:
                await asyncio.sleep(0.02)
        executor.cancel()
    files = await read_learned_files(redis, "acme")
    assert files[LearningFile.STRATEGY_BANDIT] == BANDIT
    assert _written(tmp_path) == {file.value: content for file, content in files.items()}
    assert json.loads((tmp_path / "strategy_bandit.json.before").read_text()) == BANDIT


@pytest.mark.promise("files.cache")
async def test_a_redis_that_lost_everything_is_filled_again(redis: Redis, redis_url: str, tmp_path: Path) -> None:
    """Not the files emptied."""
    await _learn(redis, 1, 2, 3)
    before = await read_learned_files(redis, "acme")
    async with _running(_jobs(redis, redis_url, tmp_path)):
        await _follows(redis, tmp_path)
        await redis.flushall()
        async with asyncio.timeout(PATIENCE):
            while await read_learned_files(redis, "acme") != before:
                await asyncio.sleep(0.02)
    assert _written(tmp_path) == dict(before)


@pytest.mark.promise("files.cache")
async def test_a_tenant_that_learned_takes_nothing_from_files(redis: Redis, redis_url: str, tmp_path: Path) -> None:
    """Redis holds: the files follow it, and what lay there before is kept beside them."""
    _put(tmp_path, {"strategy_bandit.json": BANDIT})
    await _learn(redis, 1)
    before = await read_learned_files(redis, "acme")
    async with _running(_jobs(redis, redis_url, tmp_path)):
        await _written_once(tmp_path)
        await _learn(redis, 2)
    assert before != await read_learned_files(redis, "acme")
    assert _written(tmp_path) == dict(await read_learned_files(redis, "acme"))
    assert json.loads((tmp_path / "strategy_bandit.json.before").read_text()) == BANDIT


@pytest.mark.promise("files.cache")
async def test_what_was_forgotten_comes_not_back_from_files(redis: Redis, redis_url: str, tmp_path: Path) -> None:
    _put(tmp_path, {"strategy_bandit.json": BANDIT})
    await redis.hset(keys.learned_keys("acme").forgets, "r1", "{}")  # type: ignore[misc]  # redis-py
    async with _running(_jobs(redis, redis_url, tmp_path)):
        await _written_once(tmp_path)
    assert (await read_learned_files(redis, "acme"))[LearningFile.STRATEGY_BANDIT] == {}


async def test_a_file_that_cannot_be_imported_harms_nothing(redis: Redis, redis_url: str, tmp_path: Path) -> None:
    (tmp_path / "case_log.json").write_text("{broken")
    _put(tmp_path, {"strategy_bandit.json": BANDIT})
    async with _running(_jobs(redis, redis_url, tmp_path)):
        await _written_once(tmp_path)
    assert (await read_learned_files(redis, "acme"))[LearningFile.STRATEGY_BANDIT] == BANDIT
    assert (tmp_path / "case_log.json.before").read_text() == "{broken"


@pytest.mark.promise("files.cache")
async def test_a_stopped_learner_leaves_what_it_learned(redis: Redis, redis_url: str, tmp_path: Path) -> None:
    environ = {"RL_CACHE_DIR": str(tmp_path), "RL_CACHE_TENANT": "acme", "RL_CACHE_SECONDS": "3600"}
    with learner_process(redis_url, **environ) as learner:
        await learner.ready()
        await _written_once(tmp_path)
        await leave(redis, [an_outcome(number) for number in range(5)])
        await until_settled(redis)
        brought = LearningImportRequest(tenant="globex", file=LearningFile.STRATEGY_BANDIT, content=BANDIT)
        answer = await RpcQueue(redis, "learner").request_answer(brought.model_dump_json(), PATIENCE)
        learner.process.signal(signal.SIGTERM)
        assert await asyncio.to_thread(learner.process.wait, PATIENCE) == 0
    assert _written(tmp_path) == dict(await read_learned_files(redis, "acme"))
    assert len(json.loads((tmp_path / "case_log.json").read_text())) == 5
    assert LearningImportReport.model_validate_json(answer or "").taken == 1


async def test_what_learners_wrote_themselves_is_not_kept_beside(redis: Redis, redis_url: str, tmp_path: Path) -> None:
    """A later process replaces it: what was forgotten stays in no copy."""
    for number in (1, 2):
        await _learn(redis, number)
        async with _running(_jobs(redis, redis_url, tmp_path)):
            await _follows(redis, tmp_path)
    assert _names(tmp_path) == {file.value for file in LearningFile}


def test_a_folder_that_cannot_be_used_stops_the_start(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    settings = LearnerSettings.model_validate({"redis_url": "redis://x", "rl_cache_dir": tmp_path / "file" / "below"})
    with pytest.raises(CannotStart, match="RL_CACHE_DIR"):
        build_file_jobs(settings, Redis())


async def test_learner_and_bare_reader_go_through_the_same_events() -> None:
    """Each of them has all; otherwise there would be no figures."""
    (found,) = (await measure_rates(events=120, rounds=1)).rounds
    assert min(found) > 0


@pytest.mark.promise("prime.reads_bounded")
async def test_reading_takes_one_round_trip_and_the_same_bytes_at_one_tenant_and_at_many() -> None:
    found = await measure_recall(tenants=50, reads=5)
    assert [each.round_trips for each in found] == [1, 1]
    assert found.among_many.bytes == found.alone.bytes > 0
    assert found.among_many.keys > found.alone.keys


@each_row(
    ("used", "leaves"),
    (["fsm", "five_phase", "moa"] * 10, False),
    (["five_phase", "fsm", "moa", *["fsm", "moa"] * 13, "fsm"], True),
    (["fsm", "moa"] * 13 + ["five_phase", "fsm", "five_phase", "moa"], False),
    (["fsm"] * 30, False),
)
def test_a_strategy_is_left_when_it_is_the_least_used_and_hardly_tried_at_last(used: list[str], leaves: bool) -> None:
    assert len(used) == TASKS > LAST
    assert LearningFigures(tuple(used), {}, "t:1", (), 1.0, 1.0).has_left_worse is leaves


@each_row(("use", "shown"), [("avoid", True), ("follow", False)])
def test_a_failing_case_counts_only_where_it_is_shown_as_what_to_avoid(use: str, shown: bool) -> None:
    cases = ({"case": "other:1", "use": "avoid"}, {"case": "t:1", "use": use})
    assert LearningFigures(("fsm",), {}, "t:1", cases, 1.0, 1.0).shows_failing_case is shown


FIRST, SECOND = f"{TRAINING_PREFIX}20260101_000000_training_data.jsonl", f"{TRAINING_PREFIX}second.json"


@pytest.fixture(scope="module")
def server() -> Iterator[BucketServer]:
    with bucket_server() as running:
        yield running


@pytest.fixture
def bucket(server: BucketServer, monkeypatch: pytest.MonkeyPatch) -> BucketServer:
    for name, value in server.environ.items():
        monkeypatch.setenv(name, value)
    server.empty()
    return server


def _loader(redis: Redis, bucket: str = BUCKET) -> TrainingObjectLoader:
    return TrainingObjectLoader(S3ObjectStore(bucket, TRAINING_PREFIX), RedisImportRepository(redis), "acme", _now)


async def _looked(loader: TrainingObjectLoader) -> list[LoadedTrainingObject]:
    told: list[LoadedTrainingObject] = []
    await loader.load_new_objects(told.append)
    return told


@pytest.mark.promise("training.seeded", "training.failures_stay")
async def test_rows_of_a_bucket_become_cases_and_failures_stay_failures(redis: Redis, bucket: BucketServer) -> None:
    """Of both kinds of file below the prefix, and of nothing else in the bucket."""
    bucket.put(FIRST, lines_of([a_row(1), a_row(2, failed=True, score=0.4)]))
    bucket.put(SECOND, json.dumps([a_row(3, score=0.5)]).encode())
    bucket.put(f"{TRAINING_PREFIX}notes.txt", b"hello")
    bucket.put("other/rows.jsonl", lines_of([a_row(4)]))
    told = await _looked(_loader(redis))
    cases = {case.task_id: case.outcome for case in await case_log(redis, "acme")}
    assert cases == {"task_01": CaseOutcome.SUCCESS, "task_02": CaseOutcome.FAILURE, "task_03": CaseOutcome.PARTIAL}
    assert [(one.source.name, one.rows, one.cases_in_log) for one in told] == [(FIRST, 2, 2), (SECOND, 1, 1)]
    assert await case_log(redis, "globex") == []


@pytest.mark.promise("training.once")
async def test_an_object_is_loaded_once_and_a_new_version_of_it_is_merged(redis: Redis, bucket: BucketServer) -> None:
    bucket.put(FIRST, lines_of([a_row(1)]))
    loader = _loader(redis)
    assert len(await _looked(loader)) == 1
    assert await _looked(loader) == []
    bucket.put(FIRST, lines_of([a_row(1, score=0.7), a_row(2)]))
    (again,) = await _looked(loader)
    assert again.cases_in_log == 2
    assert {case.task_id: case.quality for case in await case_log(redis, "acme")} == {"task_01": 0.7, "task_02": 0.9}


@pytest.mark.promise("training.once")
async def test_of_several_learners_one_loads(redis: Redis, bucket: BucketServer) -> None:
    """All at once: every object is told of once, and the log has nothing twice."""
    for number in range(6):
        bucket.put(f"{TRAINING_PREFIX}{number}.jsonl", lines_of([a_row(number), a_row(10 + number)]))
    told = await asyncio.gather(*(_looked(_loader(redis)) for _ in range(3)))
    assert sorted(one.source.name for results in told for one in results) == [
        f"{TRAINING_PREFIX}{number}.jsonl" for number in range(6)
    ]
    assert len(await case_log(redis, "acme")) == 12


@pytest.mark.promise("training.bad_rows")
async def test_bad_rows_and_objects_are_counted_and_named_and_harm_nothing(redis: Redis, bucket: BucketServer) -> None:
    bucket.put(FIRST, lines_of([a_row(1)]) + b"{broken\n")
    bucket.put(SECOND, b"\xff\xfe garbage")
    told = {one.source.name: one for one in await _looked(_loader(redis))}
    assert [(len(one.bad_rows), one.rows) for one in (told[FIRST], told[SECOND])] == [(1, 1), (1, 0)]
    assert told[FIRST].bad_rows[0].reason.startswith("no JSON")
    assert await _looked(_loader(redis)) == []


async def test_a_bucket_that_is_not_there_says_so(redis: Redis, bucket: BucketServer) -> None:
    with pytest.raises(ObjectStoreUnavailable, match="nobody"):
        await _looked(_loader(redis, "nobody"))


async def test_an_object_changed_since_it_was_listed_is_left_for_later(redis: Redis, bucket: BucketServer) -> None:
    bucket.put(FIRST, lines_of([a_row(1)]))
    store = S3ObjectStore(BUCKET, TRAINING_PREFIX)
    (found,) = await store.list_objects()
    bucket.put(FIRST, lines_of([a_row(2)]))
    with pytest.raises(ObjectChanged):
        await store.read(found)


@pytest.mark.promise("training.merged")
async def test_a_log_written_meanwhile_loses_nothing(redis: Redis, redis_url: str, bucket: BucketServer) -> None:
    """Outcomes are learned while rows are merged: each of both is there."""
    bucket.put(FIRST, lines_of([a_row(number) for number in range(40)]))
    outcomes = [an_outcome(number) for number in range(60)]
    environ = {**bucket.environ, "S3_TRAINING_BUCKET": BUCKET, "S3_TRAINING_TENANT": "acme"}
    with learner_process(redis_url, **environ) as learner:
        await leave(redis, outcomes)
        await learner.ready()
        await until_settled(redis)
        async with asyncio.timeout(PATIENCE), open_http(trust_env=False) as http:
            while (await http.get(f"{learner.url}/health")).json()["training"]["objects"] == 0:
                await asyncio.sleep(0.05)
    ids = [case.case_id for case in await case_log(redis, "acme")]
    assert len(ids) == len(set(ids)) == 100


REPORT = f"{REPORTS_PREFIX}today.json"
FAILURE = {
    "scenario": "invoice_reconciliation",
    "task": "Reconcile invoice INV-1 with its purchase order",
    "failure_cause": "it paid before it had read the order",
    "score": 0.4,
}


def _report_loader(redis: Redis) -> TrainingObjectLoader:
    teach = make_report_importer(Importer(RedisImportRepository(redis), _now), "acme", _now)
    return TrainingObjectLoader(
        S3ObjectStore(BUCKET, REPORTS_PREFIX), RedisImportRepository(redis), "acme", _now, validate_report_rows, teach
    )


def _now() -> datetime:
    return datetime.now(UTC)


def _a_report(at: str, cause: str) -> bytes:
    return json.dumps({"generated_at": at, "top_failures": [{**FAILURE, "failure_cause": cause}]}).encode()


async def _told(redis: Redis, task: str) -> list[str]:
    found = await RedisLearnedStore(redis).recall("acme", "invoice_reconciliation")
    return [fact.text for fact in select_experience(found, task, "invoice_reconciliation", _now()).knowledge]


@pytest.mark.promise("report.teaches")
async def test_a_report_changes_what_later_tasks_are_told(redis: Redis, bucket: BucketServer) -> None:
    """Of its kind and of no other; a newer report says it anew; and one that was forgotten does not come back.

    Its failures stand in the case log.
    """
    task, other = "Reconcile invoice INV-9 with its purchase order", "Book a flight to Rome"
    before = await _told(redis, task)
    bucket.put(REPORT, _a_report("2026-01-05T04:00:00Z", "it paid before it had read the order"))
    await _looked(_report_loader(redis))
    (case,) = await case_log(redis, "acme")
    assert (case.outcome, case.failed) == (CaseOutcome.FAILURE, ("it paid before it had read the order",))
    kind = "Tasks of the kind 'invoice reconciliation' failed in a benchmark"
    assert (before, await _told(redis, task)) == ([], [f"{kind}: it paid before it had read the order"])
    assert await _told(redis, other) == []
    bucket.put(REPORT, _a_report("2026-01-06T04:00:00Z", "it paid twice"))
    await _looked(_report_loader(redis))
    assert await _told(redis, task) == [f"{kind}: it paid twice"]
    await redis.delete(keys.learned_keys("acme").knowledge)
    assert await _looked(_report_loader(redis)) == []
    assert await _told(redis, task) == []

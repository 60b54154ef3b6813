"""The case log seeded from a bucket: each version of each object once, by one learner of several."""

import asyncio
import json
from collections.abc import Awaitable, Iterator
from datetime import UTC, datetime
from typing import cast

import pytest
from redis.asyncio import Redis

from services.executor.adapters.redis_learned import RedisLearned
from services.executor.core.prime.known import select_experience
from services.learner.adapters.redis_learned_files import RedisCaseRepository, RedisImportRepository
from services.learner.adapters.s3_training import S3Training
from services.learner.core.files.importer import Importer
from services.learner.core.files.report import REPORTS_PREFIX, report_rows, report_teacher
from services.learner.core.training import TRAINING_PREFIX, Seeder, SeedResult
from services.learner.ports.outcomes import BucketUnavailable, ObjectChanged
from shared.domain.cases import CaseOutcome
from shared.infra import keys
from tests.http_client import open_http
from tests.integration.bucket_stage import BUCKET, BucketServer, bucket_server
from tests.integration.learner_stage import PATIENCE, an_outcome, case_log, learner_process, leave, until_settled
from tests.unit.learner.training import a_row, lines_of

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


def _seeder(redis: Redis, owner: str = "one", tenant: str = "acme") -> Seeder:
    shelf = RedisCaseRepository(redis, owner)
    return Seeder(S3Training(BUCKET, TRAINING_PREFIX), shelf, tenant, lambda: datetime.now(UTC))


async def _looked(seeder: Seeder) -> list[SeedResult]:
    told: list[SeedResult] = []
    assert await seeder.look(told.append)
    return told


@pytest.mark.promise("training.seeded", "training.failures_stay")
async def test_rows_of_a_bucket_become_cases_and_failures_stay_failures(redis: Redis, bucket: BucketServer) -> None:
    """Of both kinds of file below the prefix, and of nothing else in the bucket."""
    bucket.put(FIRST, lines_of([a_row(1), a_row(2, failed=True, score=0.4)]))
    bucket.put(SECOND, json.dumps([a_row(3, score=0.5)]).encode())
    bucket.put(f"{TRAINING_PREFIX}notes.txt", b"hello")
    bucket.put("other/rows.jsonl", lines_of([a_row(4)]))
    told = await _looked(_seeder(redis))
    cases = {case.task_id: case.outcome for case in await case_log(redis, "acme")}
    assert cases == {"task_01": CaseOutcome.SUCCESS, "task_02": CaseOutcome.FAILURE, "task_03": CaseOutcome.PARTIAL}
    assert [(one.found.name, one.rows, one.kept) for one in told] == [(FIRST, 2, 2), (SECOND, 1, 1)]
    assert await case_log(redis, "globex") == []


@pytest.mark.promise("training.once")
async def test_an_object_is_loaded_once_and_a_new_version_of_it_is_merged(redis: Redis, bucket: BucketServer) -> None:
    bucket.put(FIRST, lines_of([a_row(1)]))
    seeder = _seeder(redis)
    assert len(await _looked(seeder)) == 1
    assert await _looked(seeder) == []
    bucket.put(FIRST, lines_of([a_row(1, score=0.7), a_row(2)]))
    (again,) = await _looked(seeder)
    assert again.kept == 2
    assert {case.task_id: case.quality for case in await case_log(redis, "acme")} == {"task_01": 0.7, "task_02": 0.9}


@pytest.mark.promise("training.once")
async def test_of_several_learners_one_loads(redis: Redis, bucket: BucketServer) -> None:
    """All at once: every object is told of once, and the log has nothing twice."""
    for number in range(6):
        bucket.put(f"{TRAINING_PREFIX}{number}.jsonl", lines_of([a_row(number), a_row(10 + number)]))
    told: list[SeedResult] = []
    seeders = [_seeder(redis, name) for name in ("one", "two", "three")]
    looked = await asyncio.gather(*(seeder.look(told.append) for seeder in seeders))
    assert any(looked)
    assert len(told) == 6
    assert len(await case_log(redis, "acme")) == 12


@pytest.mark.promise("training.once")
async def test_what_two_learners_load_against_the_lock_is_there_once_all_the_same(
    redis: Redis, bucket: BucketServer
) -> None:
    """A lock can lapse under whoever holds it: the step itself knows the version."""
    bucket.put(FIRST, lines_of([a_row(1), a_row(2)]))
    shelf = RedisCaseRepository(redis, "late", lease_seconds=0.001)
    late = Seeder(S3Training(BUCKET, TRAINING_PREFIX), shelf, "acme", lambda: datetime.now(UTC))
    told: list[SeedResult] = []
    await asyncio.gather(*(seeder.look(told.append) for seeder in (late, _seeder(redis, "two"), late)))
    assert sum(one.kept is not None for one in told) == 1
    assert len(await case_log(redis, "acme")) == 2


@pytest.mark.promise("training.bad_rows")
async def test_bad_rows_and_bad_objects_are_counted_and_named_and_harm_nothing(
    redis: Redis, bucket: BucketServer
) -> None:
    bucket.put(FIRST, lines_of([a_row(1)]) + b"{broken\n")
    bucket.put(SECOND, b"\xff\xfe garbage")
    told = {one.found.name: one for one in await _looked(_seeder(redis))}
    assert [(len(one.bad), one.rows) for one in (told[FIRST], told[SECOND])] == [(1, 1), (1, 0)]
    seeded = await cast("Awaitable[dict[str, str]]", redis.hgetall(keys.learned_keys("acme").seeded))
    assert json.loads(seeded[FIRST].partition("\n")[2])["first_bad"].startswith("line 2: no JSON")
    assert await _looked(_seeder(redis)) == []


async def test_a_bucket_that_is_not_there_says_so(redis: Redis, bucket: BucketServer) -> None:
    seeder = Seeder(S3Training("nobody", ""), RedisCaseRepository(redis, "one"), "acme", lambda: datetime.now(UTC))
    with pytest.raises(BucketUnavailable, match="nobody"):
        await seeder.look(lambda _: None)
    assert await RedisCaseRepository(redis, "two").begin("acme")


async def test_an_object_that_changed_since_it_was_listed_is_left_for_the_next_look(
    redis: Redis, bucket: BucketServer
) -> None:
    bucket.put(FIRST, lines_of([a_row(1)]))
    store = S3Training(BUCKET, TRAINING_PREFIX)
    (found,) = await store.objects()
    bucket.put(FIRST, lines_of([a_row(2)]))
    with pytest.raises(ObjectChanged):
        await store.read(found)


@pytest.mark.promise("training.merged")
async def test_a_log_that_learners_write_meanwhile_loses_nothing(
    redis: Redis, redis_url: str, bucket: BucketServer
) -> None:
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


def _report_seeder(redis: Redis) -> Seeder:
    teach = report_teacher(Importer(RedisImportRepository(redis), _now), "acme", _now)
    return Seeder(
        S3Training(BUCKET, REPORTS_PREFIX), RedisCaseRepository(redis, "one"), "acme", _now, report_rows, teach
    )


def _now() -> datetime:
    return datetime.now(UTC)


def _a_report(at: str, cause: str) -> bytes:
    return json.dumps({"generated_at": at, "top_failures": [{**FAILURE, "failure_cause": cause}]}).encode()


async def _told(redis: Redis, task: str) -> list[str]:
    found = await RedisLearned(redis).recall("acme", "invoice_reconciliation")
    return [fact.text for fact in select_experience(found, task, "invoice_reconciliation", _now()).knowledge]


@pytest.mark.promise("report.teaches")
async def test_a_report_changes_what_later_tasks_are_told(redis: Redis, bucket: BucketServer) -> None:
    """Of its kind and of no other; a newer report says it anew; and one that was forgotten does not come back."""
    task, other = "Reconcile invoice INV-9 with its purchase order", "Book a flight to Rome"
    before = await _told(redis, task)
    bucket.put(REPORT, _a_report("2026-01-05T04:00:00Z", "it paid before it had read the order"))
    await _looked(_report_seeder(redis))
    kind = "Tasks of the kind 'invoice reconciliation' failed in a benchmark"
    assert (before, await _told(redis, task)) == ([], [f"{kind}: it paid before it had read the order"])
    assert await _told(redis, other) == []
    bucket.put(REPORT, _a_report("2026-01-06T04:00:00Z", "it paid twice"))
    await _looked(_report_seeder(redis))
    assert await _told(redis, task) == [f"{kind}: it paid twice"]
    await redis.delete(keys.learned_keys("acme").knowledge)
    assert await _looked(_report_seeder(redis)) == []
    assert await _told(redis, task) == []


@pytest.mark.promise("report.teaches")
async def test_the_failures_of_a_report_stand_in_the_case_log(redis: Redis, bucket: BucketServer) -> None:
    bucket.put(REPORT, _a_report("2026-01-05T04:00:00Z", "it paid before it had read the order"))
    await _looked(_report_seeder(redis))
    (case,) = await case_log(redis, "acme")
    assert (case.outcome, case.failed) == (CaseOutcome.FAILURE, ("it paid before it had read the order",))

"""What is learned as files and reports: out of one tenant, into another, through commands, buckets and a gateway."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Mapping
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import cast

import httpx
import pytest
from pydantic import JsonValue
from redis.asyncio import Redis
from typing_extensions import override

from services.executor.adapters.redis_learned import RedisLearnedStore
from services.executor.core.process.synthesis import import_processes
from services.learner.adapters.redis_learned_files import RedisImportRepository
from services.learner.adapters.redis_lessons import RedisLessons
from services.learner.core.files.importer import Importer
from services.learner.core.memory.lesson import make_lesson
from services.learner.ports.files import ArmRecord, ImportChanges, StoredVersions
from services.learner.reporting import run_report_command
from shared.contracts.knowledge import EntityLinks, KnownEntity, KnownFact, PredictionAccuracy
from shared.contracts.learning_files import LearningFile, LearningImportReport, LearningImportRequest
from shared.domain.bandit import Arm
from shared.domain.exact_json import JsonObject, loads_object
from shared.domain.words import Strategy, TaskState
from shared.infra import keys
from shared.infra.learned_files import read_learned_files
from shared.infra.redis import connect
from shared.infra.rpc import RpcQueue, serve_imports
from tests.doubles.redis_tasks import NOON
from tests.e2e.commands import call_purple
from tests.each_row import each_row
from tests.integration.bucket_stage import BUCKET, bucket_server
from tests.integration.gateway_stage import at
from tests.integration.learner_stage import an_outcome
from tests.unit.executor.test_synthesized_tasks import A_PROCESS
from tools.tcp_proxy import Flow, TcpProxy

OURS = [file for file in LearningFile if file is not LearningFile.SYNTHESIZED]
NOW = NOON + timedelta(hours=1)


def _importer(redis: Redis) -> Importer:
    return Importer(RedisImportRepository(redis), lambda: NOW)


async def _imported(redis: Redis, tenant: str, files: Mapping[LearningFile, JsonValue]) -> list[LearningImportReport]:
    importer = _importer(redis)
    requests = [LearningImportRequest(tenant=tenant, file=file, content=files[file]) for file in OURS]
    return [await importer.import_file(request) for request in requests]


async def _learned(redis: Redis, tenant: str = "acme", tasks: int = 230) -> None:
    """Cases over the cap, several arms, facts of which one holds no more, entities, predictions."""
    outcomes = [
        an_outcome(
            number,
            tenant=tenant,
            strategy=tuple(Strategy)[number % 3],
            process_type=("payroll", "a b:c")[number % 2],
            quality=number % 101 / 100,
            state=(TaskState.COMPLETED, TaskState.FAILED)[number % 7 == 0],
        )
        for number in range(tasks)
    ]
    await RedisLessons(redis).store_lessons([make_lesson(outcome) for outcome in outcomes])
    names = keys.learned_keys(tenant)
    facts = [_fact("Acme pays at 30 days", 2), _fact("Acme pays at 20 days", 1, superseded_at=NOON)]
    await cast("Awaitable[int]", redis.rpush(names.knowledge, *(fact.model_dump_json() for fact in facts)))
    entity = KnownEntity(kind="vendor", value="Acme GmbH", seen=3, last_seen=NOON, first_seen=NOON)
    await _set(redis, names.entities, "vendor:acme", entity.model_dump_json())
    await _set(redis, names.entity_links, "vendor:acme", EntityLinks(together=("id:INV-1",)).model_dump_json())
    await redis.zadd(names.entity_ages, {"vendor:acme": int(NOON.timestamp() * 1000)})
    accuracy = PredictionAccuracy(attempts=4, matches=3, window=(True, False, True, True))
    await _set(redis, names.accuracy, keys.accuracy_field("payroll", "limit"), accuracy.model_dump_json())


def _fact(text: str, hours: int, **known: object) -> KnownFact:
    at = NOON - timedelta(days=1) + timedelta(hours=hours)
    told = {"text": text, "domain": "payroll", "keywords": ("acm", "pay"), "quality": 0.9, "at": at, **known}
    return KnownFact.model_validate(told)


async def _set(redis: Redis, name: str, field: str, value: str) -> None:
    await cast("Awaitable[int]", redis.hset(name, field, value))


async def _everything(redis: Redis, tenant: str) -> dict[str, object]:
    names = keys.learned_keys(tenant)
    hashes = ("arms", "counts", "trends", "days", "entities", "entity_links", "accuracy")
    found: dict[str, object] = {}
    for name in hashes:
        found[name] = await cast("Awaitable[dict[str, str]]", redis.hgetall(getattr(names, name)))
    for name in ("cases", "knowledge"):
        found[name] = await cast("Awaitable[list[str]]", redis.lrange(getattr(names, name), 0, -1))
    found["ages"] = await redis.zrange(names.entity_ages, 0, -1, withscores=True)
    return found


@pytest.mark.promise("files.round_trip")
async def test_what_is_exported_and_imported_into_an_empty_tenant_is_the_same(redis: Redis) -> None:
    """Cases, arms, counts, days, trends, facts, entities, predictions: as they stand in Redis, through JSON."""
    await _learned(redis)
    files = await read_learned_files(redis, "acme")
    through_json = {LearningFile(name): content for name, content in json.loads(json.dumps(files)).items()}
    reports = await _imported(redis, "globex", through_json)
    assert [report.problems for report in reports] == [()] * len(OURS)
    assert await _everything(redis, "globex") == await _everything(redis, "acme")
    assert await read_learned_files(redis, "globex") == files


@pytest.mark.promise("files.idempotent")
async def test_importing_the_same_again_or_an_older_export_of_ones_own_changes_nothing(redis: Redis) -> None:
    """Nothing is ever added up."""
    await _learned(redis, tasks=20)
    older = await read_learned_files(redis, "acme")
    await RedisLessons(redis).store_lessons(
        [make_lesson(an_outcome(number, tenant="acme")) for number in range(500, 510)]
    )
    before = await _everything(redis, "acme")
    reports = await _imported(redis, "acme", older)
    assert [report.taken for report in reports] == [0] * len(OURS)
    assert await _everything(redis, "acme") == before


@pytest.mark.promise("files.validated_whole")
@each_row(
    ("file", "content", "problem"),
    (LearningFile.CASE_LOG, [{"task_summary": "x"}], "entry 2.outcome"),
    (LearningFile.CASE_LOG, {"nothing": 1}, "valid list"),
    (LearningFile.STRATEGY_BANDIT, {"payroll": {"fsm": {"n": -1}}}, "payroll.fsm.n"),
    (LearningFile.STRATEGY_BANDIT, {"payroll": {"guessing": {"n": 1}}}, "five_phase"),
    (LearningFile.STRATEGY_BANDIT, {"payroll": {"fsm": {"n": 1, "units": 10_001}}}, "units"),
    (LearningFile.STRATEGY_BANDIT, {"payroll": {"fsm": {"n": 1, "q": 1, "trend": "1:x"}}}, "trend"),
    (LearningFile.KNOWLEDGE_BASE, [{"fact": "x", "at": "yesterday"}], "entry 1"),
    (LearningFile.KNOWLEDGE_BASE, [{"fact": "card 4111 1111 1111 1111", "at": NOON.isoformat()}], "may not be kept"),
    (LearningFile.ENTITIES, [{"kind": "a:b", "value": "x", "last_seen": 0}], "entry 1"),
    (LearningFile.STATISTICS, {"counts": {"events": 1, "success": 2}}, "more outcomes than events"),
    (LearningFile.STATISTICS, {"days": {"soon": 1}}, "soon"),
    (LearningFile.SYNTHESIZED, {}, "executor"),
)
async def test_one_wrong_entry_refuses_all(redis: Redis, file: LearningFile, content: JsonValue, problem: str) -> None:
    """What is right in it is not taken either, and the entry is named."""
    good: JsonValue = {"case_id": "c", "task_summary": "y", "outcome": "success", "quality": 1, "timestamp": 1.7e9}
    mixed: JsonValue = [good, *content] if file is LearningFile.CASE_LOG and isinstance(content, list) else content
    report = await _importer(redis).import_file(LearningImportRequest(tenant="acme", file=file, content=mixed))
    assert problem in report.problems[0]
    assert await redis.keys() == []


@pytest.mark.promise("files.seed_names")
async def test_files_with_the_seeds_own_names_are_read(redis: Redis) -> None:
    """A list of cases with epoch seconds and texts for notes, arms of n and q alone, facts without a domain."""
    case: JsonValue = {
        "case_id": "1a2b3c4d",
        "task_summary": "Approve the claim of Dana",
        "keywords": ["approve", "claim"],
        "outcome": "partial",
        "quality": 0.55,
        "what_worked": "read first",
        "what_failed": "",
        "tool_count": 3,
        "domain": "expense_approval",
        "timestamp": 1767600000.5,
    }
    files: dict[LearningFile, JsonValue] = {
        LearningFile.CASE_LOG: [case],
        LearningFile.STRATEGY_BANDIT: {"expense_approval": {"fsm": {"n": 3, "q": 0.5}, "moa": {"n": 0, "q": 0.5}}},
        LearningFile.KNOWLEDGE_BASE: [{"fact": "Claims over 500 need a manager", "timestamp": 1767600000}],
        LearningFile.ENTITIES: [],
        LearningFile.STATISTICS: {},
    }
    reports = await _imported(redis, "acme", files)
    found = await _everything(redis, "acme")
    assert [report.problems for report in reports] == [()] * len(OURS)
    assert found["arms"] == {"expense_approval:fsm:n": "3", "expense_approval:fsm:units": "15000"}
    (text,) = cast("list[str]", found["cases"])
    assert json.loads(text)["worked"] == ["read first"]
    assert "500 need a manager" in cast("list[str]", found["knowledge"])[0]


@pytest.mark.promise("files.dry_run")
async def test_a_dry_run_says_what_an_import_does_and_does_nothing(redis: Redis) -> None:
    await _learned(redis, tasks=10)
    files = await read_learned_files(redis, "acme")
    importer = _importer(redis)
    for file in OURS:
        request = LearningImportRequest(tenant="globex", file=file, content=files[file], dry_run=True)
        told = await importer.import_file(request)
        assert told.taken > 0
        done = await importer.import_file(request.model_copy(update={"dry_run": False}))
        assert told.model_copy(update={"dry_run": False}) == done
        again = await importer.import_file(request)
        assert (again.taken, again.known) == (0, done.taken)


@pytest.mark.promise("files.merged")
async def test_the_record_with_more_behind_it_holds(redis: Redis) -> None:
    """Of arms one by one, and with them the way that they came."""
    await _learned(redis, tasks=12)
    content: JsonValue = {"payroll": {"fsm": {"n": 100, "q": 0.25, "trend": "64:100:5"}, "moa": {"n": 1, "q": 1}}}
    before = cast("dict[str, str]", (await _everything(redis, "acme"))["arms"])
    request = LearningImportRequest(tenant="acme", file=LearningFile.STRATEGY_BANDIT, content=content)
    report = await _importer(redis).import_file(request)
    found = await _everything(redis, "acme")
    assert (report.taken, report.known) == (1, 1)
    assert found["arms"] == {**before, "payroll:fsm:n": "100", "payroll:fsm:units": "250000"}
    assert cast("dict[str, str]", found["trends"])["arm:payroll:fsm"] == "64:100:5"


async def test_what_is_learned_while_a_file_is_imported_is_lost_on_neither_side(redis: Redis) -> None:
    await _learned(redis, "acme", tasks=60)
    files = await read_learned_files(redis, "acme")
    memory = RedisLessons(redis)

    async def learn() -> None:
        for number in range(100, 160):
            await memory.store_lessons([make_lesson(an_outcome(number, tenant="globex"))])

    reports, _ = await asyncio.gather(_imported(redis, "globex", files), learn())
    assert [report.problems for report in reports] == [()] * len(OURS)
    found = await _everything(redis, "globex")
    ids = {json.loads(row)["case_id"] for row in cast("list[str]", found["cases"])}
    assert len(ids) == 120


async def test_a_change_that_somebody_overtook_is_not_stored(redis: Redis) -> None:
    repository = RedisImportRepository(redis)
    stored = await repository.read_snapshot("acme")
    await RedisLessons(redis).store_lessons([make_lesson(an_outcome(1, tenant="acme"))])
    arms = [ArmRecord(("payroll", "fsm"), Arm(5, 5))]
    assert not await repository.store_changes("acme", ImportChanges(arms=arms), stored.versions)
    assert await repository.store_changes("acme", ImportChanges(facts=["x"]), stored.versions)
    assert not await repository.store_changes("acme", ImportChanges(cases=["x"]), stored.versions)
    assert len(cast("list[str]", (await _everything(redis, "acme"))["cases"])) == 1


@pytest.mark.promise("redis.no_double_effect")
@pytest.mark.parametrize("way", ["answers", "requests"])
async def test_a_lost_reply_imports_once_and_tells_what_was_taken(redis: Redis, redis_server: str, way: str) -> None:
    await _learned(redis, tasks=20)
    files = await read_learned_files(redis, "acme")
    upstream = redis_server if redis_server.startswith("unix://") else redis_server.split("/")[2]
    async with TcpProxy(upstream) as proxy:
        far = connect(f"redis://{proxy.address}/0")
        repository = _LosingRepository(far, proxy.answers if way == "answers" else proxy.requests)
        reports = [
            await Importer(repository, lambda: NOW).import_file(
                LearningImportRequest(tenant="globex", file=file, content=files[file])
            )
            for file in OURS
        ]
        await far.aclose()
    assert repository.losses == len(OURS)
    assert [report.taken > 0 and report.known == 0 for report in reports] == [True] * len(OURS)
    assert await read_learned_files(redis, "globex") == files


class _LosingRepository(RedisImportRepository):
    """Loses one reply, or one command, of each change."""

    def __init__(self, redis: Redis, way: Flow) -> None:
        super().__init__(redis)
        self._way = way
        self.losses = 0

    @override
    async def store_changes(self, tenant: str, changes: ImportChanges, versions: StoredVersions) -> bool:
        self._way.cut_at(1)
        self.losses += 1
        return await super().store_changes(tenant, changes, versions)


REPORT = {
    "generated_at": "2026-01-05T04:00:00Z",
    "period_hours": 4,
    "total_runs": 128,
    "pass_rate": 0.62,
    "dimension_analysis": {"policy": {"avg_score": 40.0}},
    "top_failures": [{"scenario": "invoice_missing_po", "failure_cause": "paid without one", "avg_score": 22}],
    "scenario_difficulty_ranking": ["payroll_uk", "invoice_missing_po"],
}


@pytest.mark.promise("report.shown")
async def test_a_buckets_newest_report_gives_training_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By its own time, whenever it was stored."""
    rows = tmp_path / "rows.jsonl"
    with bucket_server() as server:
        for name, value in server.environ.items():
            monkeypatch.setenv(name, value)
        server.empty()
        server.put("agentbench-reports/new.json", json.dumps(REPORT).encode())
        server.put("agentbench-reports/old.json", json.dumps({**REPORT, "generated_at": "2025-01-01"}).encode())
        told = await call_purple("learn", "report", "--bucket", BUCKET, "--rows", str(rows), "--json")
    found = loads_object(told.out)
    assert at(found, "reports.0.source") == "agentbench-reports/new.json"
    assert (found["of"], at(found, "written.rows")) == (2, 1)
    assert at(loads_object(rows.read_text()), "metadata.failure_cause") == "paid without one"


@pytest.mark.long
@pytest.mark.promise("report.shown")
async def test_tables_show_dimensions_failures_and_ranking(tmp_path: Path) -> None:
    file, bad = tmp_path / "report.json", tmp_path / "bad.json"
    file.write_text(json.dumps(REPORT))
    bad.write_text("{")
    told = await call_purple("learn", "report", str(file), str(bad))
    assert told.code == 0
    assert [word in told.out for word in ("policy", "paid without one", "payroll_uk", "0.62")] == [True] * 4
    assert "bad.json is no JSON" in told.err


def test_without_bucket_or_file_it_says(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.delenv("S3_TRAINING_BUCKET", raising=False)
    assert run_report_command([]) == 2
    assert "S3_TRAINING_BUCKET" in capsys.readouterr().err


OPERATOR: JsonObject = {"principal": {"id": "olga", "roles": ["operator"]}}


@asynccontextmanager
async def _importing(redis: Redis) -> AsyncIterator[None]:
    """The learner and the executor, of which each takes files of its own."""
    importer = Importer(RedisImportRepository(redis), lambda: datetime.now(UTC))
    processes = partial(import_processes, RedisLearnedStore(redis))
    async with asyncio.TaskGroup() as group:
        doing = [
            group.create_task(serve_imports(RpcQueue(redis, "learner"), LearningFile.CASE_LOG, importer.import_file)),
            group.create_task(serve_imports(RpcQueue(redis, "executor"), LearningFile.SYNTHESIZED, processes)),
        ]
        yield
        for task in doing:
            task.cancel()


async def _post(client: httpx.AsyncClient, path: str, **body: object) -> tuple[int, JsonObject]:
    response = await client.post(path, json=body)
    return response.status_code, loads_object(response.text)


async def _learn(redis: Redis, tenant: str = "default") -> None:
    outcomes = [an_outcome(number, tenant=tenant, quality=number / 20) for number in range(20)]
    await RedisLessons(redis).store_lessons([make_lesson(outcome) for outcome in outcomes])


@pytest.mark.promise("files.round_trip", "files.processes")
async def test_an_export_is_imported_by_another_installation(
    redis: Redis, url: str, client: httpx.AsyncClient, tmp_path: Path
) -> None:
    """Also the processes, which the executor checks and keeps."""
    await _learn(redis)
    async with _importing(redis):
        processes = {"file": "synthesized_definitions.json", "content": {"grant_award": A_PROCESS}}
        kept = await _post(client, "/learn/import", **processes, metadata=OPERATOR)
        before = await read_learned_files(redis, "default")
        (tmp_path / LearningFile.CASE_LOG).write_text("[]")  # left by an earlier release, for all to read
        out = await call_purple("learn", "export", str(tmp_path), "--url", url, "--json")
        await redis.flushall()
        done = await call_purple("learn", "import", str(tmp_path), "--url", url, "--json")
        after = await read_learned_files(redis, "default")
    assert (kept[0], kept[1]["taken"], out.code, done.code) == (200, 1, 0, 0)
    assert after == before
    assert before[LearningFile.SYNTHESIZED] != {}
    assert _list_modes(tmp_path) == {0o600}


def _list_modes(folder: Path) -> set[int]:
    return {file.stat().st_mode & 0o777 for file in folder.iterdir()}


@pytest.mark.long
@pytest.mark.promise("files.validated_whole")
async def test_nothing_is_imported_if_one_file_is_wrong(redis: Redis, url: str, tmp_path: Path) -> None:
    """Neither the right ones; the wrong entry is named."""
    await _learn(redis, "other")
    files = await read_learned_files(redis, "other")
    (tmp_path / "case_log.json").write_text(json.dumps(files[LearningFile.CASE_LOG]))
    (tmp_path / "strategy_bandit.json").write_text('{"payroll": {"fsm": {"n": -5, "q": 0.5}}}')
    async with _importing(redis):
        refused = await call_purple("learn", "import", str(tmp_path), "--url", url)
        after = await read_learned_files(redis, "default")
    assert (refused.code, "payroll.fsm.n" in refused.out) == (1, True)
    assert after[LearningFile.CASE_LOG] == []


async def test_operators_alone_and_known_files_alone(client: httpx.AsyncClient) -> None:
    nobody = [await _post(client, f"/learn/{act}", file="case_log.json", content=[]) for act in ("export", "import")]
    wrong = [
        await _post(client, "/learn/import", metadata=OPERATOR, **body)
        for body in ({"file": "x"}, {"file": "case_log.json"}, {"file": "case_log.json", "content": [], "dry_run": 1})
    ]
    assert [status for status, _ in (*nobody, *wrong)] == [403, 403, 400, 400, 400]

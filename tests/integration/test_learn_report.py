"""`purple learn report`, `export` and `import`: on a bucket, on files, and through a gateway."""

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
from services.learner.reporting import report_command
from shared.contracts.learning_files import LearningFile
from shared.domain.exact_json import JsonObject, loads_object
from shared.infra.learned_files import learned_files
from shared.infra.rpc import RpcQueue, keep_importing
from tests.e2e.commands import call_purple
from tests.http_client import open_http
from tests.integration.bucket_stage import BUCKET, bucket_server
from tests.integration.gateway_stage import PATIENCE, at, gateway
from tests.integration.learner_stage import an_outcome
from tests.unit.executor.test_synthesized_tasks import A_PROCESS

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
async def test_the_newest_report_of_a_bucket_is_shown_and_gives_training_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
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


def test_without_a_bucket_and_a_file_it_says_what_is_missing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("S3_TRAINING_BUCKET", raising=False)
    assert report_command([]) == 2
    assert "S3_TRAINING_BUCKET" in capsys.readouterr().err


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


@pytest.mark.promise("files.round_trip", "files.processes")
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

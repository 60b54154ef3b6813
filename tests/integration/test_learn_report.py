"""`purple learn report` on a bucket and on files."""

import json
from pathlib import Path

import pytest

from services.learner.reporting import report_command
from shared.domain.exact_json import loads_object
from tests.e2e.commands import call_purple
from tests.integration.bucket_stage import BUCKET, bucket_server
from tests.integration.gateway_stage import at

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

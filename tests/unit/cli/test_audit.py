"""`purple audit`: the export as a table or as comma-separated values."""

import csv
import io

import pytest

from cli.audit import as_lines, show_writes
from shared.domain.exact_json import JsonObject
from tests.each_row import each_row

pytestmark = pytest.mark.promise("audit.formats")

WRITE: JsonObject = {
    "task_id": "t1",
    "call_id": "c1",
    "tool": "approve",
    "arguments": {"id": "1", "note": "a, b"},
    "asked_by": {"id": "clerk", "verified": True},
    "approvals": [
        {"decisions": [{"decision": "approve", "by": "dana", "at": "2026-01-01T00:00:00+00:00", "comment": "fine"}]}
    ],
    "allowed_by": "approved by dana",
    "policy": {"rules": [{"rule": "OVER_5000", "reason": "over the limit"}], "policy_hash": "p"},
    "status": "unverified",
    "proof": {"note": "operator olga said", "read_back": None},
    "operators": [{"resolution": "done", "by": "olga"}],
}


def _read(writes: list[JsonObject]) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(as_lines(writes))))


@pytest.mark.promise("audit.each_write")
def test_each_line_has_who_asked_who_approved_and_the_proof() -> None:
    (row,) = _read([WRITE])
    assert (row["asked_by"], row["approved_by"]) == ("clerk", "dana at 2026-01-01T00:00:00+00:00 (fine)")
    assert (row["rules"], row["status"], row["proof"]) == (
        "OVER_5000: over the limit",
        "unverified",
        "operator olga said",
    )
    assert row["arguments"] == '{"id":"1","note":"a, b"}'


def test_without_a_persons_decision_it_is_what_the_gate_noted() -> None:
    (row,) = _read([{**WRITE, "approvals": [], "allowed_by": "automatic: no rule asks"}])
    assert row["approved_by"] == "automatic: no rule asks"


@each_row("said", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1"])
def test_no_cell_is_a_formula(said: str) -> None:
    (row,) = _read([{**WRITE, "proof": {"note": said}}])
    assert row["proof"] == f"'{said}"


def test_no_writes_are_a_line_of_names() -> None:
    assert as_lines([]).count("\n") == 1


def test_a_person_is_shown_all_of_a_write_and_that_no_rule_asked(capsys: pytest.CaptureFixture[str]) -> None:
    proof, task = f"read back: {'status=approved ' * 12}end", "4f0c6d0e-7c1f-4a6b-9a51-0d7f3f4b2a11"
    shown: JsonObject = {**WRITE, "task_id": task, "proof": {"note": proof}, "policy": {}}
    show_writes([shown])
    said = capsys.readouterr().out
    assert (task in said, proof in said, "no rule asked" in said) == (True, True, True)

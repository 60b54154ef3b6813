"""`purple policy check` and `purple audit`."""

import asyncio
import csv
import io
import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from cli.audit import format_writes_as_csv, print_writes
from cli.main import app
from services.policy.entrypoints.commands import run_backtest_command, run_check_command
from shared.domain.exact_json import JsonObject
from shared.infra.archive_folder import FolderArchive
from tests.each_row import each_row

POLICY = {
    "id": "house",
    "rules": [
        {"id": "A", "condition": 'tool == "pay" && amount > 5000', "action": "require_approval", "level": "cfo"},
        {"id": "B", "kind": "at_most", "tool": "pay", "limit": 2},
        {"id": "C", "type": "deny", "keywords": ["salary"], "description": "no salaries"},
    ],
}
FACTS = {"calls": [{"callId": "c1", "tool": "pay", "fields": {"amount": 7200}}], "binding": True}


def _file(folder: Path, name: str, value: object) -> str:
    path = folder / name
    path.write_text(json.dumps(value), "utf-8")
    return str(path)


@pytest.mark.promise("policy.check_command")
def test_it_shows_the_rules_as_understood_the_verdict_and_why(tmp_path: Path) -> None:
    policy, facts = _file(tmp_path, "p.json", POLICY), _file(tmp_path, "f.json", FACTS)
    done = CliRunner().invoke(app, ["policy", "check", policy, "--context", facts, "--json"])
    said = json.loads(done.stdout)
    assert (done.exit_code, said["verdict"], said["valid"]) == (0, "needs approval by cfo", True)
    assert [(rule["rule"], rule["about"]) for rule in said["rules"]] == [
        ("A", "condition"),
        ("B", "tool"),
        ("C", "text"),
    ]
    assert said["details"]["triggeredRules"][0]["values"] == {"amount": 7200, "tool": "pay"}
    assert said["not_asked"] == ["C"]
    shown = CliRunner().invoke(app, ["policy", "check", policy, "--context", facts, "--task", "What salary?"])
    assert "salary" in shown.output
    assert "verdict: blocked" in shown.output


@each_row(
    ("value", "code", "sentence"),
    ({"rules": [{"id": "A", "condition": "a >< 3", "action": "block"}]}, 1, "at character 3"),
    ({"rules": [{"id": "A", "condition": "a > 3", "action": "hold"}]}, 1, "unknown action 'hold'"),
    ({"rules": [{"condition": "a > 3"}]}, 2, "policy 1: rules.0.id"),
    ({"rules": [{"id": "A", "condition": "a > 3", "action": "escalate", "levle": "cfo"}]}, 1, "A.levle"),
    ({"rules": [{"id": "B", "kind": "never", "tool": "x"}], "tooldefault": "deny"}, 1, ".tooldefault"),
    ({"rules": [], "toolDefault": "deny", "default_action": "allow"}, 0, "toolDefault"),
    (
        {"id": "P", "rules": [{"id": "A", "condition": f"a > {least}", "action": "block"} for least in (3, 5)]},
        0,
        '"shared_ids":["P.A"]',
    ),
    ({"policies": [{"id": "X", "when": "amount >> 5"}]}, 1, "none: not all of the policy is understood"),
    ([], 2, "holds no policy"),
)
def test_what_is_wrong_is_named(
    tmp_path: Path, value: object, code: int, sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """By the service's own command, which ``purple policy check`` runs."""
    assert run_check_command([_file(tmp_path, "p.json", value)]) == code
    assert sentence in "".join(capsys.readouterr())


@each_row(
    ("facts", "code", "sentence"),
    ({"text": "hello", "amount": 9000}, 0, '"verdict":"blocked"'),
    ({"context": {}, "amount": 9000}, 2, "amount is no field of a request"),
)
def test_no_fact_is_quietly_left_out(
    tmp_path: Path, facts: object, code: int, sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Facts that bear the name of a part of a request are facts; a request holds nothing that nobody reads."""
    policy = _file(tmp_path, "p.json", {"rules": [{"id": "A", "condition": "amount > 5000", "action": "block"}]})
    assert run_check_command([policy, "--context", _file(tmp_path, "f.json", facts)]) == code
    assert sentence in "".join(capsys.readouterr())


def test_a_rule_that_lacks_its_fact_is_named(tmp_path: Path) -> None:
    policy = _file(tmp_path, "p.json", {"rules": [{"id": "A", "condition": "amount > 5000", "action": "block"}]})
    done = CliRunner().invoke(
        app, ["policy", "check", policy, "--context", _file(tmp_path, "f.json", {"amuont": 9000})]
    )
    shown = done.output.replace("\n", " ")
    assert (done.exit_code, "undecided, for want of facts: A" in shown) == (3, True)
    assert "fields never given: amount" in shown
    assert "verdict: passes, but for what is undecided" in shown


@each_row(
    ("tools", "code", "unlisted"),
    ("approve_expense,pay", 3, ["approve_expens", "refund_*"]),
    ("approve_expens,refund_order,pay", 0, []),
)
def test_a_tool_that_no_list_of_tools_has_is_named(
    tmp_path: Path, tools: str, code: int, unlisted: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    rules = [
        {"id": "A", "condition": 'tool == "approve_expens" && amount > 400', "action": "block"},
        {"id": "B", "kind": "only_after", "tool": "refund_*", "after": ["pay"]},
    ]
    assert run_check_command([_file(tmp_path, "p.json", {"rules": rules}), "--tools", tools]) == code
    assert json.loads(capsys.readouterr().out)["unlisted_tools"] == unlisted


def test_a_rule_about_a_tool_that_the_facts_never_call_is_named(tmp_path: Path) -> None:
    rule = {"id": "A", "condition": 'tool == "approve_expens" && amount > 400', "action": "block"}
    policy = _file(tmp_path, "p.json", {"rules": [rule]})
    facts = _file(tmp_path, "f.json", {"tool": "approve_expense", "amount": 900})
    done = CliRunner().invoke(app, ["policy", "check", policy, "--context", facts])
    assert "tools that the facts never call: approve_expens" in done.output.replace("\n", " ")


BAD_RECORD = {
    "id": "default",
    "time_zone": "Europe/Lundon",
    "unruled_writes": "maybe",
    "policies": [{"id": "x", "rules": [{"id": "R", "condition": "a > 5 and b", "action": "block"}]}],
    "prose_policies": [{"id": "texts", "text": "Never order more than 50 pieces."}],
    "connections": [{"id": "g", "url": "ftp://x", "protocol": "soap"}],
    "max_runing": 3,
}


@pytest.mark.promise("policy.check_command")
@pytest.mark.parametrize("tenant", [(), ("--tenant", "default")])
def test_a_tenants_record_is_checked_as_a_whole_with_all_its_faults_at_once(
    tmp_path: Path, tenant: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    """Fields and rules: what the launcher and the store of records would refuse it for, one after the other."""
    assert run_check_command([_file(tmp_path, "record.json", BAD_RECORD), *tenant]) == 1
    said = json.loads(capsys.readouterr().out)
    wrong = {one["field"] for one in said["fields"]}
    assert wrong == {"time_zone", "unruled_writes", "connections.0.url", "connections.0.protocol", "max_runing"}
    assert [one["ruleId"] for one in said["details"]["problems"]] == ["R"]
    assert said["verdict"] != "passes"


def test_a_policy_in_plain_words_is_named_as_one_that_is_not_checked_here(tmp_path: Path) -> None:
    record = {"id": "default", "prose_policies": BAD_RECORD["prose_policies"]}
    done = CliRunner().invoke(app, ["policy", "check", _file(tmp_path, "record.json", record)])
    shown = " ".join(done.output.split())
    assert done.exit_code == 0
    assert "texts (in plain words): advice, since enforce_prose is off; not checked here" in shown


@pytest.mark.promise("policy.backtest")
@each_row(
    ("value", "cause"),
    ({"id": "P", "rules": [{"id": "R", "kind": "never", "tool": "x", "per": ["y"]}]}, "no field of a rule of kind"),
    ({"id": "P", "rules": [{"id": "R", "condition": "a >< 3", "action": "block"}]}, "at character 3"),
    (BAD_RECORD, "max_runing: nobody reads this field"),
)
def test_no_plan_is_decided_again_by_a_rule_that_cannot_be_understood(
    tmp_path: Path, value: object, cause: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_backtest_command([_file(tmp_path, "p.json", value)], FolderArchive(tmp_path)) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert cause in said.err


@pytest.mark.promise("policy.backtest")
def test_an_archived_task_that_cannot_be_read_is_named_and_stops_no_other(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    archive = FolderArchive(tmp_path / "archive")
    asyncio.run(archive.put("default", "t1", b'{"v": 99}'))
    assert run_backtest_command([_file(tmp_path, "p.json", POLICY)], archive) == 0
    said = json.loads(capsys.readouterr().out)
    assert [problem.partition(":")[0] for problem in said["unread"]] == ["t1"]


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
    return list(csv.DictReader(io.StringIO(format_writes_as_csv(writes))))


@pytest.mark.promise("audit.each_write", "audit.formats")
def test_each_line_has_who_asked_who_approved_and_the_proof() -> None:
    (row,) = _read([WRITE])
    assert (row["asked_by"], row["approved_by"]) == ("clerk", "dana at 2026-01-01T00:00:00+00:00 (fine)")
    assert (row["rules"], row["status"], row["proof"]) == (
        "OVER_5000: over the limit",
        "unverified",
        "operator olga said",
    )
    assert row["arguments"] == '{"id":"1","note":"a, b"}'


@pytest.mark.promise("audit.formats")
def test_without_a_persons_decision_it_is_what_the_gate_noted() -> None:
    (row,) = _read([{**WRITE, "approvals": [], "allowed_by": "automatic: no rule asks"}])
    assert row["approved_by"] == "automatic: no rule asks"


@pytest.mark.promise("audit.formats")
@each_row("said", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1"])
def test_no_cell_is_a_formula(said: str) -> None:
    (row,) = _read([{**WRITE, "proof": {"note": said}}])
    assert row["proof"] == f"'{said}"


@pytest.mark.promise("audit.formats")
def test_no_writes_are_a_line_of_names() -> None:
    assert format_writes_as_csv([]).count("\n") == 1


@pytest.mark.promise("audit.kept")
def test_a_task_that_cannot_be_read_is_told_beside_the_writes(capsys: pytest.CaptureFixture[str]) -> None:
    problem: JsonObject = {"task_id": "t9", "kept_in": "archive", "problem": "it was damaged"}
    print_writes([WRITE, problem])
    shown = capsys.readouterr().out
    assert shown.startswith("1 write\n")
    assert shown.endswith("\ntask t9\n  problem     it was damaged\n")
    assert [row["problem"] for row in _read([WRITE, problem])] == ["", "it was damaged"]


@pytest.mark.promise("audit.formats")
def test_a_person_is_shown_all_of_a_write_and_that_no_rule_asked(capsys: pytest.CaptureFixture[str]) -> None:
    proof, task = f"read back: {'status=approved ' * 12}end", "4f0c6d0e-7c1f-4a6b-9a51-0d7f3f4b2a11"
    shown: JsonObject = {**WRITE, "task_id": task, "proof": {"note": proof}, "policy": {}}
    print_writes([shown])
    said = capsys.readouterr().out
    assert (task in said, proof in said, "no rule asked" in said) == (True, True, True)


@pytest.mark.promise("audit.formats")
def test_a_person_reads_when_it_was_approved_on_the_clock_on_which_it_was_sent(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Elsewhere than in Greenwich a write seemed to be sent hours before its approval."""
    print_writes([{**WRITE, "sent_at": "2026-01-01T00:00:00+00:00"}])
    said = capsys.readouterr().out
    sent = next(line.split(None, 1)[1] for line in said.splitlines() if line.strip().startswith("sent"))
    assert f"dana at {sent} (fine)" in said

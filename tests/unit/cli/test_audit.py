"""What `purple audit` says of each write."""

import pytest

from cli.audit import audited
from shared.domain.exact_json import JsonObject


@pytest.mark.promise("audit.each_write")
def test_each_write_has_who_asked_what_let_it_pass_and_its_proof() -> None:
    said: JsonObject = {"call_id": "c1", "resolution": "done", "by": "olga", "comment": "seen"}
    write: JsonObject = {"call_id": "c1", "tool": "approve", "arguments": {"id": "1"}, "status": "unverified"}
    record: JsonObject = {
        "state": "completed",
        "metadata": {
            "requester": {"id": "clerk"},
            "approval": "approved by dana",
            "plan_hash": "h",
            "verdict": {"triggeredRules": [{"ruleId": "OVER_5000"}]},
            "writes": [{**write, "note": "operator olga said"}, {**write, "call_id": "c2"}],
            "resolutions": [said],
        },
    }
    first, second = audited(record)
    assert (first["asked for by"], first["allowed by"], first["rules"]) == ("clerk", "approved by dana", ["OVER_5000"])
    assert (first["status"], first["proof"], first["operators"]) == ("unverified", "operator olga said", [said])
    assert second["operators"] == []


def test_a_task_without_writes_has_nothing_to_audit() -> None:
    assert audited({"state": "completed", "metadata": {}}) == []

"""What whoever has sent a task is told that waits for an approval."""

import pytest

from cli.gateway.client import API_KEY
from cli.gateway.messages import TaskView
from cli.send import DEFAULT_URL, advice

WAITS = TaskView("t1", "input-required", "", {"approval_id": "a1", "verdict": {"escalationLevel": "manager"}})


@pytest.mark.promise("cli.send")
def test_a_name_approves_where_names_do_and_a_key_where_keys_are_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(API_KEY, raising=False)
    monkeypatch.delenv("PURPLE_URL", raising=False)
    by_name = advice(WAITS, DEFAULT_URL)
    monkeypatch.setenv(API_KEY, "pa_1_2")
    by_key = advice(WAITS, DEFAULT_URL)
    assert by_name == "purple approvals approve a1 --as NAME --level manager"
    assert by_key == "purple approvals approve a1, with an approver's key of level manager in PURPLE_API_KEY"


@pytest.mark.promise("cli.send")
def test_the_command_reaches_another_gateway_than_the_usual_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(API_KEY, raising=False)
    monkeypatch.delenv("PURPLE_URL", raising=False)
    named = advice(WAITS, "http://127.0.0.1:9110")
    monkeypatch.setenv("PURPLE_URL", "http://127.0.0.1:9110")
    assert named.endswith(" --url http://127.0.0.1:9110")
    assert "--url" not in advice(WAITS, "http://127.0.0.1:9110")

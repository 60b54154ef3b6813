"""What whoever has sent a task is told that waits for an approval."""

import pytest

from cli.gateway.client import API_KEY
from cli.gateway.messages import TaskView
from cli.send import advice

WAITS = TaskView("t1", "input-required", "", {"approval_id": "a1", "verdict": {"escalationLevel": "manager"}})


@pytest.mark.promise("cli.send")
def test_a_name_approves_where_names_do_and_a_key_where_keys_are_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(API_KEY, raising=False)
    by_name = advice(WAITS)
    monkeypatch.setenv(API_KEY, "pa_1_2")
    by_key = advice(WAITS)
    assert by_name == "purple send approve --task t1 --as NAME --role approver --level manager"
    assert by_key == "purple approvals approve a1, with an approver's key of level manager in PURPLE_API_KEY"

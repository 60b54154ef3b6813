"""What the command line tells a person: a doubt, a time, and what `send` advises."""

import re

import pytest

from cli.console import moment, out
from cli.gateway.client import API_KEY
from cli.gateway.messages import TaskView
from cli.send import advice
from cli.task import say_task
from shared.domain.exact_json import Json, JsonObject
from tests.each_row import each_row

PARTS: Json = [{"id": f"P-{number}", "name": "brake pad set", "stock": 3} for number in range(51, 57)]


def _shown(after: Json) -> list[str]:
    doubt: JsonObject = {
        "call_id": "c1",
        "tool": "order_part",
        "arguments": {"part_id": "P-51", "quantity": 5},
        "status": "in_doubt",
        "sent": "2026-11-27T13:40:00Z",
        "before": PARTS,
        "after": after,
    }
    with out.capture() as written:
        say_task({"task_id": "T1", "state": "input-required", "metadata": {"doubts": [doubt]}})
    return written.get().splitlines()


def test_a_doubt_is_a_block_with_one_row_of_a_list_a_line() -> None:
    """Both reads, whole; one that shows the same as before is not printed twice."""
    changed = _shown([{"id": "P-51", "stock": 8}])
    row = '    {"id":"P-51","name":"brake pad set","stock":3}'
    assert 'In doubt: c1 order_part {"part_id":"P-51","quantity":5}: in_doubt' in changed
    assert [line for line in changed if "P-51" in line][1:] == [row, '    {"id":"P-51","stock":8}']
    same = _shown(PARTS)
    assert "  read before and after it:" in same
    assert same.count(row) == 1
    assert _shown({"parts": PARTS}).count(row) == 2
    assert "  read after it: nothing could be read" in _shown(None)


def test_a_time_is_shown_to_the_minute_without_its_zone() -> None:
    """Which hour it is depends on the reader's clock."""
    assert re.fullmatch(r"2026-03-0[456] \d\d:07", moment("2026-03-05T10:07:59.123456+00:00"))


@each_row(("value", "shown"), [(None, ""), ("never", "never"), (7, "7")])
def test_what_is_no_time_is_shown_as_it_is(value: Json, shown: str) -> None:
    assert moment(value) == shown


WAITS = TaskView("t1", "input-required", "", {"approval_id": "a1", "verdict": {"escalationLevel": "manager"}})


@pytest.mark.promise("cli.send")
def test_a_name_approves_where_names_do_and_a_key_where_keys_are_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(API_KEY, raising=False)
    monkeypatch.delenv("PURPLE_URL", raising=False)
    by_name = advice(WAITS, "")
    monkeypatch.setenv(API_KEY, "pa_1_2")
    by_key = advice(WAITS, "")
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

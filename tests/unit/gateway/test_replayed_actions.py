"""What an agent did in a turn, as the replay shows it."""

from datetime import UTC, datetime
from types import SimpleNamespace
from typing import cast

import pytest
from pydantic import JsonValue

from services.gateway.features.console.views.replay import action_rows, stops_of, turn_of
from shared.contracts.assessment.results import ActionLogEntry, Run, WorldLook

pytestmark = pytest.mark.promise("console.replay")


def _entry(action: str, said: dict[str, JsonValue] | None = None, **more: JsonValue) -> ActionLogEntry:
    fields = {"turn": 1, "timestamp": datetime(2026, 3, 2, tzinfo=UTC), "action": action, "parameters": said or {}}
    return ActionLogEntry.model_validate({**fields, **more})


def test_reads_that_follow_each_other_are_one_row_that_says_what_was_read_how_often() -> None:
    reads = [_entry(name, kind="read") for name in ("chat.query", "email.state", "email.state")]

    rows = action_rows([*reads, _entry("email.star", {"message_ids": ["m-1"]}), reads[0]], {})

    assert [row.title for row in rows] == ["3 reads", "Email: star", "Chat: query"]
    assert rows[0].gist == "Chat: query, Email: state × 2"


def test_an_action_is_told_by_what_its_rows_are_called() -> None:
    moved = _entry("email.move", {"message_ids": ["m-1", "m-2"], "folder": "spam"})

    (row,) = action_rows([moved], {"m-1": "You have won"})

    assert row.gist == "You have won · m-2 · spam"


def test_a_refused_read_stands_for_itself() -> None:
    refused = _entry("events.list", kind="refused", success=False, error_message="was answered 403")

    rows = action_rows([_entry("email.state", kind="read"), refused], {})

    assert [(row.badge.text, row.error) for row in rows] == [("Read", ""), ("Refused", "was answered 403")]


def test_what_the_simulator_counts_is_named_in_words_and_says_how_it_moved() -> None:
    noon = datetime(2026, 3, 2, 12, tzinfo=UTC)
    looks = [WorldLook(turn=turn, time=noon, counts={"email": {"total_unread_count": 4 - turn}}) for turn in (0, 1)]
    results = SimpleNamespace(world=looks, action_log=(), failed_turns=(), turns_taken=1)
    run = cast("Run", SimpleNamespace(results=results, updates=()))

    ((title, (count,)),) = turn_of(run, stops_of(run), 1).counts

    assert (title, *count) == ("Email", "Unread", 3, "-1")

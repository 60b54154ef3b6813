"""What the command line says to a gateway, and how it reads what comes back."""

from datetime import UTC, datetime
from decimal import Decimal

import pytest

from cli.gateway.live import line_of, plain_line_of
from cli.gateway.messages import Event, Speaker, Utterance, task_view
from shared.domain.exact_json import JsonObject
from tests.each_row import each_row


def test_a_message_names_its_speaker_and_the_task_it_continues() -> None:
    said = Utterance("approve", Speaker("dana", ("approver",), ("manager",)), task_id="t-1").as_params()
    message = said["message"]
    assert isinstance(message, dict)
    assert message["taskId"] == "t-1"
    assert said["metadata"] == {"principal": {"id": "dana", "roles": ["approver"], "levels": ["manager"]}}


def test_two_messages_never_share_an_id() -> None:
    """The message id is what makes a resend harmless, so two utterances must differ."""
    ids = {str(Utterance("hi", Speaker()).as_params()["message"]) for _ in range(3)}
    assert len(ids) == 3


def test_the_answer_is_the_first_text_of_the_first_artifact() -> None:
    result: JsonObject = {
        "id": "t-1",
        "status": {"state": "completed"},
        "artifacts": [{"parts": [{"kind": "text", "text": "Done."}]}, {"parts": [{"text": "a log"}]}],
        "metadata": {"strategy": "fsm"},
    }
    view = task_view(result)
    assert (view.id, view.state, view.answer, view.metadata) == ("t-1", "completed", "Done.", {"strategy": "fsm"})


def test_without_an_artifact_the_message_of_the_status_is_the_answer() -> None:
    view = task_view({"id": "t", "status": {"state": "failed", "message": {"parts": [{"text": "Redis is down."}]}}})
    assert view.answer == "Redis is down."
    assert not view.went_well


def test_counts_in_the_metadata_are_whole_numbers() -> None:
    """The official types carry every number as a fraction; `3.0` tool calls are three."""
    view = task_view({"id": "t", "status": {"state": "completed"}, "metadata": {"tool_calls": Decimal("3.0")}})
    assert view.metadata == {"tool_calls": 3}
    assert isinstance(view.metadata["tool_calls"], int)


def test_an_event_becomes_one_line_that_starts_with_what_it_names() -> None:
    event = Event("1-0", "tool", datetime.now(UTC), {"class": "read", "tool": "get_thing"})
    assert line_of(event) == "get_thing  class=read"


def test_the_end_of_a_turn_needs_no_line() -> None:
    assert line_of(Event("1-0", "turn_finished", datetime.now(UTC), {})) is None


def test_metadata_is_named_as_in_the_gateway_s_own_records() -> None:
    metadata: JsonObject = {"modelNotice": "a planner", "approvalId": "a1", "escalated": True}
    view = task_view({"id": "t", "status": {"state": "completed"}, "metadata": metadata})
    assert view.metadata == {"model_notice": "a planner", "approval_id": "a1", "escalated": True}


_ASKED = {"tool": "get_expense", "tool_class": "read", "connection": "default", "asked": '{"id":"E-1"}', "ok": True}


@pytest.mark.promise("cli.send")
@each_row(
    ("kind", "data", "said"),
    [
        ("state", {"state": "ASSESS", "process_type": "general"}, "ASSESS  reads what it needs"),
        ("state", {"state": "OF_TOMORROW"}, "OF_TOMORROW"),
        ("tool", _ASKED, 'get_expense {"id":"E-1"}'),
        ("tool", {**_ASKED, "asked": None, "ok": False}, "get_expense: it failed"),
        ("tool", {"tool": "pay", "state": "ASSESS", "refused": "not offered"}, "pay: refused, not offered"),
        ("plan", {"calls": ["approve_expense", "notify"], "number": 1}, "approve_expense, notify"),
        ("verdict", {"passed": True, "why": None}, "the rules allow it"),
        ("verdict", {"passed": True, "rules": ["R"], "why": ["Over $500.", "late"]}, "Over $500; late"),
        ("approval", {"status": "waiting", "level": "finance", "deadline": "d"}, "waits for finance"),
        ("approval", {"status": "approved", "by": "dana", "approval_id": "a"}, "approved by dana"),
        ("approval", {"status": "waiting", "doubts": ["c1"]}, "waits for an operator"),
        (
            "write",
            {"status": "verified", "call": "c1", "tool": "pay", "note": "read back"},
            "pay: verified (read back)",
        ),
        ("write", {"call": "c1", "tool": "pay", "silent": "no answer"}, "pay: no answer"),
        ("note", {"problem": "the archive is away"}, "the archive is away"),
        ("status", {"status": "input-required", "reason": "Many lines"}, "input-required"),
    ],
)
def test_a_person_reads_what_happens_without_what_only_operators_need(kind: str, data: JsonObject, said: str) -> None:
    assert plain_line_of(Event("1-0", kind, datetime.now(UTC), data)) == said


@pytest.mark.promise("cli.send")
@each_row(
    ("kind", "data"),
    [
        ("submitted", {"turn_id": "x"}),
        ("phase", {"phase": "PRIME"}),
        ("model", {"step": "talk:1", "tier": "haiku"}),
        ("note", {"strategy": "fsm"}),
        ("insight", {"parts": 1}),
        ("write", {"status": "sent", "call": "c1", "tool": "pay", "note": "the server answered"}),
        ("turn_finished", {}),
        ("of_tomorrow", {"x": 1}),
    ],
)
def test_what_only_operators_need_has_no_plain_line(kind: str, data: JsonObject) -> None:
    assert plain_line_of(Event("1-0", kind, datetime.now(UTC), data)) is None

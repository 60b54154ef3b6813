"""What of a turn's events and requests is the participant's own."""

from datetime import UTC, datetime

import pytest

from services.assessor.core.action_log import AccessReader, ActionLogBuilder
from services.assessor.core.permissions import USER_PERMISSIONS
from services.assessor.ports.simulation import LoggedRequest, SimulatorEvent

NOW = datetime(2026, 3, 2, 9, tzinfo=UTC)
ME = "ues_me"
pytestmark = pytest.mark.promise("assessor.action_log")


def event(key: str, agent: str | None = ME, **more: object) -> SimulatorEvent:
    given = {"event_id": key, "scheduled_time": NOW, "modality": "email", "status": "executed", "priority": 100}
    data = {"operation": "send", "subject": key, "timestamp": "x", "modality_type": "email", "input_id": "y"}
    return SimulatorEvent.model_validate({**given, "agent_id": agent, "data": data, **more})


def access(path: str, status: int = 200, method: str = "POST") -> LoggedRequest:
    return LoggedRequest(timestamp=NOW, method=method, path=path, status_code=status)


def test_only_the_participants_events_are_its_actions_each_once_and_once_it_is_done() -> None:
    builder = ActionLogBuilder(purple_agent_id=ME)
    builder.start_turn(3)

    entries, others = builder.add_events_from_turn([event("a"), event("b", "ues_proctor"), event("c", None)])
    builder.end_turn()

    assert [(entry.turn, entry.action, entry.parameters) for entry in entries] == [(3, "email.send", {"subject": "a"})]
    assert [other.event_id for other in others] == ["b", "c"]
    assert builder.get_log() == entries
    builder = ActionLogBuilder(ME)
    builder.start_turn(1)
    builder.add_events_from_turn([event("a"), event("b", status="pending")])

    again, _ = builder.add_events_from_turn([event("a"), event("b")])

    assert [entry.parameters["subject"] for entry in again] == ["b"]


def test_a_failed_action_is_logged_as_failed() -> None:
    builder = ActionLogBuilder(ME)
    builder.start_turn(1)

    (entry,), _ = builder.add_events_from_turn([event("a", status="failed", error_message="no such mail")])

    assert (entry.success, entry.error_message) == (False, "no such mail")


def test_what_an_action_brings_with_it_later_is_nobodys_action() -> None:
    builder = ActionLogBuilder(ME)
    builder.start_turn(1)

    entries, _ = builder.add_events_from_turn([event("a", priority=0, metadata={"brought_by": "b"})])

    assert entries == []


def test_requests_tell_reads_refusals_and_the_order() -> None:
    builder = ActionLogBuilder(ME)
    builder.start_turn(1, NOW)
    asked = [access("/email/query"), access("/email/send"), access("/keys", 403), access("/simulator/time", 200, "GET")]

    entries, _ = builder.add_events_from_turn([event("a")], asked)

    assert [(entry.kind, entry.action) for entry in entries] == [
        ("read", "email.query"),
        ("action", "email.send"),
        ("refused", "keys.state"),
        ("read", "time.state"),
    ]


def test_new_requests_are_told_from_known_ones() -> None:
    reader = AccessReader()
    first, second, third = (access(f"/email/{name}") for name in ("a", "b", "c"))

    assert reader.take_new([second, first], 2) == [first, second]
    assert reader.take_new([third, second, first], 3) == [third]
    assert reader.take_new([third, second, first], 3) == []


@pytest.mark.promise("assessor.permissions")
def test_a_participants_key_may_do_what_a_users_assistant_does() -> None:
    """29 permissions; none of the proctor's."""
    forbidden = (
        "receive",
        "conversation",
        "advance",
        "calendars",
        "environment",
        "events",
        "keys",
        "simulation",
        "clear",
    )

    assert len(set(USER_PERMISSIONS)) == len(USER_PERMISSIONS) == 29
    assert not [name for name in USER_PERMISSIONS if any(word in name for word in forbidden) or "*" in name]

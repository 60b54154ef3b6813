"""What an assessor tells is found in a message, and nothing else is taken for it."""

import pytest

from services.gateway.edge.errors import InvalidField
from services.gateway.features.participation import (
    AssessorMessageKind,
    find_assessor_message,
    parse_start_message,
    parse_turn_message,
)
from services.gateway.features.tasks.message import ClientMessage
from shared.domain.exact_json import JsonObject, dumps
from shared.domain.words import A2aVersion
from tests.each_row import each_row

SECRET = "0123456789abcdef" * 4
NOW = "2026-03-02T09:00:00Z"
START: JsonObject = {
    "message_type": "assessment_start",
    "ues_url": "http://127.0.0.1:8080",
    "api_key": SECRET,
    "current_time": NOW,
}
TURN: JsonObject = {"message_type": "turn_start", "turn_number": 1, "current_time": NOW}


def _message(text: str = "", *data: JsonObject, metadata: JsonObject | None = None) -> ClientMessage:
    return ClientMessage(A2aVersion.A2A_0_3, None, "c1", "m1", text, data, None, None, metadata or {})


def _bare(data: JsonObject) -> JsonObject:
    return {key: value for key, value in data.items() if key != "message_type"}


@pytest.mark.promise("participant.shapes")
@each_row(
    "message",
    _message("", START),
    _message("hello", START),
    _message("", _bare(START)),
    _message(f"```json\n{dumps(START)}\n```"),
    _message(dumps(_bare(START))),
)
def test_a_start_is_found_in_every_shape(message: ClientMessage) -> None:
    found = find_assessor_message(message)

    assert found is not None
    assert (found.kind, found.is_guessed) == (AssessorMessageKind.START, False)


@pytest.mark.promise("participant.shapes")
def test_what_does_not_say_what_it_is_is_only_a_guess() -> None:
    """So that a business task with such fields stays one where no assessment runs."""
    turn, end = (
        find_assessor_message(_message("", _bare(TURN))),
        find_assessor_message(_message('{"reason": "timeout"}')),
    )

    assert turn is not None
    assert end is not None
    assert (turn.kind, turn.is_guessed) == (AssessorMessageKind.TURN, True)
    assert (end.kind, end.is_guessed) == (AssessorMessageKind.COMPLETE, True)


@pytest.mark.promise("participant.shapes")
@each_row(
    "message",
    _message("Approve claim EXP-1"),
    _message('{"amount": 12}', {"turn_number": 1}),
    _message("{not json"),
    _message('{"reason": "it is late"}'),
    _message("Rotate the api_key of the payment gateway"),
)
def test_other_messages_are_tasks(message: ClientMessage) -> None:
    assert find_assessor_message(message) is None


@pytest.mark.promise("participant.no_echo")
@each_row(
    "message",
    _message(dumps(START)[:-1]),
    _message(f"Please begin: {dumps(START)}"),
    _message("", {"message": START}),
    _message("", {"items": [START]}),
    _message("", {"uesUrl": "http://127.0.0.1:8080", "apiKey": SECRET}),
    _message("begin", metadata={"start": START}),
    _message("", TURN, {"start": START}),
)
def test_a_key_in_the_wrong_place_is_never_taken_for_a_task(message: ClientMessage) -> None:
    with pytest.raises(InvalidField) as refused:
        find_assessor_message(message)

    assert SECRET not in str(refused.value)
    assert "assessment_start" in str(refused.value)


@pytest.mark.promise("participant.no_echo")
@each_row(
    ("wrong", "field"),
    ({"ues_url": 5}, "assessment_start.ues_url"),
    ({"api_key": [SECRET]}, "assessment_start.api_key"),
    ({"api_key": ""}, "assessment_start.api_key"),
    ({"api_key": f"{SECRET}\r\nX-Forged: 1"}, "assessment_start.api_key"),
    ({"api_key": SECRET * 100}, "assessment_start.api_key"),
    ({"current_time": SECRET}, "assessment_start.current_time"),
    ({"message_type": SECRET}, "assessment_start.message_type"),
    ({"assessment_instructions": SECRET}, "assessment_start.assessment_instructions"),
    ({"initial_state_summary": {"email": {"unread": SECRET}}}, "assessment_start.initial_state_summary"),
)
def test_a_start_that_cannot_be_read_names_its_field_and_tells_no_value(wrong: JsonObject, field: str) -> None:
    with pytest.raises(InvalidField) as refused:
        parse_start_message({**START, **wrong})

    assert refused.value.field.startswith(field)
    assert SECRET[:16] not in str(refused.value)


@pytest.mark.promise("participant.shapes")
def test_a_start_needs_no_summary_of_the_world() -> None:
    assert parse_start_message(START).api_key == SECRET
    assert parse_start_message(_bare(START)).ues_url == "http://127.0.0.1:8080"


@pytest.mark.promise("participant.turn")
@each_row("wrong", [{"turn_number": 0}, {"turn_number": "x"}, {"current_time": "noon"}])
def test_a_turn_that_cannot_be_read_names_its_field(wrong: JsonObject) -> None:
    with pytest.raises(InvalidField, match=f"turn_start.{next(iter(wrong))}"):
        parse_turn_message({**TURN, **wrong})

"""Assessors' messages: finds them in clients' messages, and parses them."""

import re
from enum import StrEnum
from typing import NamedTuple, TypeVar

from pydantic import ValidationError

from services.gateway.edge.errors import InvalidField
from services.gateway.edge.fields import to_invalid_field
from services.gateway.features.tasks.message import ClientMessage, to_json_values
from shared.contracts.assessment.messages import AssessmentMessage, AssessmentStart, TurnStart
from shared.domain.exact_json import Json, JsonObject, dumps, loads_object

_T = TypeVar("_T", bound=AssessmentMessage)
_WORLD_FIELDS = ("ues_url", "assessment_instructions", "initial_state_summary")
_COMPLETION_REASONS = frozenset({"scenario_complete", "early_completion", "timeout", "error"})
_API_KEY_PHRASE_PATTERN = re.compile(r"api_?key", re.IGNORECASE)
_ASSESSMENT_START_PHRASE_PATTERN = re.compile(r"ues_?url|assessment_?start", re.IGNORECASE)
_FENCED_JSON_PATTERN = re.compile(r"```(?:json)?\s*(?P<inside>\{.*\})\s*```", re.IGNORECASE | re.DOTALL)


class AssessorMessageKind(StrEnum):
    START = "assessment_start"
    TURN = "turn_start"
    COMPLETE = "assessment_complete"


class AssessorMessage(NamedTuple):
    """An assessor's message. ``is_guessed``: it has no type, and is taken for one only while an assessment runs."""

    kind: AssessorMessageKind
    data: JsonObject
    is_guessed: bool = False


def find_assessor_message(message: ClientMessage) -> AssessorMessage | None:
    """Find the assessor's message in a client's message; None if there is none.

    Raises ``InvalidField`` if the text or metadata seems to contain a start message with a key, which would be stored.
    """
    assessor_message = (
        None if message.solver else next(filter(None, map(_parse_assessor_message, _message_objects(message))), None)
    )
    if assessor_message is None or assessor_message.kind is not AssessorMessageKind.START:
        _check_no_key_in_text(message, "task" if message.solver else "message.parts")
    return assessor_message


def parse_start_message(data: JsonObject) -> AssessmentStart:
    """Parse a start message; raises ``InvalidField``, without the invalid values."""
    start = _validate_message(AssessmentStart, {"initial_state_summary": {}, **data})
    if not (start.api_key.isascii() and start.api_key.isprintable() and 0 < len(start.api_key) <= 4096):
        raise InvalidField(f"{AssessorMessageKind.START}.api_key", "must be 1 to 4096 printable characters of ASCII")
    return start


def parse_turn_message(data: JsonObject) -> TurnStart:
    """Parse a turn message; raises ``InvalidField``."""
    return _validate_message(TurnStart, data)


def _message_objects(message: ClientMessage) -> list[JsonObject]:
    """The message's data parts, and its text if that is a JSON object."""
    parts = [_unwrap_data(part) for part in message.data]
    text = message.text.strip()
    if fenced := _FENCED_JSON_PATTERN.fullmatch(text):
        text = fenced["inside"]
    try:
        return [*parts, loads_object(text)] if text.startswith("{") else parts
    except ValueError:
        return parts


def _unwrap_data(part: JsonObject) -> JsonObject:
    inner = part.get("data")
    return inner if len(part) == 1 and isinstance(inner, dict) else part


def _parse_assessor_message(data: JsonObject) -> AssessorMessage | None:
    message_type = data.get("message_type")
    if message_type in tuple(AssessorMessageKind):
        return AssessorMessage(AssessorMessageKind(str(message_type)), data)
    if "api_key" in data and any(name in data for name in _WORLD_FIELDS):
        return AssessorMessage(AssessorMessageKind.START, data)
    return _guess_assessor_message(data) if message_type is None else None


def _guess_assessor_message(data: JsonObject) -> AssessorMessage | None:
    if {"turn_number", "current_time"} <= data.keys():
        return AssessorMessage(AssessorMessageKind.TURN, data, is_guessed=True)
    if list(data) == ["reason"] and data["reason"] in _COMPLETION_REASONS:
        return AssessorMessage(AssessorMessageKind.COMPLETE, data, is_guessed=True)
    return None


def _check_no_key_in_text(message: ClientMessage, field: str) -> None:
    for text in (message.whole_text, dumps(message.metadata)):
        if _API_KEY_PHRASE_PATTERN.search(text) and _ASSESSMENT_START_PHRASE_PATTERN.search(text):
            problem = f"there seems to be an {AssessorMessageKind.START} in it, with a key"
            raise InvalidField(field, f"{problem}: send it as one data part, or as JSON alone")


def _validate_message(shape: type[_T], data: JsonObject) -> _T:
    kind: Json = shape.model_fields["message_type"].default
    try:
        return shape.model_validate(to_json_values({"message_type": kind, **data}))
    except ValidationError as error:
        raise to_invalid_field(error, str(kind)) from None

"""What an assessor tells a participant, found in a client's message; everything else is none of it.

A start holds the key to the assessed world. Whatever looks like one is never taken for a task, which would store it.
"""

import re
from enum import StrEnum
from typing import NamedTuple, TypeVar

from pydantic import ValidationError

from services.gateway.core.errors import InvalidField
from services.gateway.core.tasks.message import ClientMessage, plain_values
from shared.contracts.assessment.base import Told
from shared.contracts.assessment.messages import AssessmentStart, TurnStart
from shared.domain.exact_json import Json, JsonObject, dumps, loads_object

_T = TypeVar("_T", bound=Told)
_WORLD = ("ues_url", "assessment_instructions", "initial_state_summary")
_REASONS = frozenset({"scenario_complete", "early_completion", "timeout", "error"})
_KEY = re.compile(r"api_?key", re.IGNORECASE)
_STARTS = re.compile(r"ues_?url|assessment_?start", re.IGNORECASE)
_FENCE = re.compile(r"```(?:json)?\s*(?P<inside>\{.*\})\s*```", re.IGNORECASE | re.DOTALL)


class Kind(StrEnum):
    START = "assessment_start"
    TURN = "turn_start"
    COMPLETE = "assessment_complete"


class Heard(NamedTuple):
    """``guessed``: it does not say what it is, and is that only where an assessment runs."""

    kind: Kind
    data: JsonObject
    guessed: bool = False


def heard(message: ClientMessage) -> Heard | None:
    """What the message tells of an assessment; raises ``InvalidField`` for a key that stands in the wrong place."""
    found = None if message.solver else next(filter(None, map(_read, _objects(message))), None)
    if found is None or found.kind is not Kind.START:
        _check_no_key(message, "task" if message.solver else "message.parts")
    return found


def start_of(data: JsonObject) -> AssessmentStart:
    """Raises ``InvalidField``, which tells nothing of the values."""
    start = _checked(AssessmentStart, {"initial_state_summary": {}, **data})
    if not (start.api_key.isascii() and start.api_key.isprintable() and 0 < len(start.api_key) <= 4096):
        raise InvalidField(f"{Kind.START}.api_key", "must be 1 to 4096 printable characters of ASCII")
    return start


def turn_of(data: JsonObject) -> TurnStart:
    """Raises ``InvalidField``."""
    return _checked(TurnStart, data)


def _objects(message: ClientMessage) -> list[JsonObject]:
    """The data parts, and the text if that is a JSON object."""
    parts = [_unwrapped(part) for part in message.data]
    text = message.text.strip()
    if fenced := _FENCE.fullmatch(text):
        text = fenced["inside"]
    try:
        return [*parts, loads_object(text)] if text.startswith("{") else parts
    except ValueError:
        return parts


def _unwrapped(part: JsonObject) -> JsonObject:
    inner = part.get("data")
    return inner if len(part) == 1 and isinstance(inner, dict) else part


def _read(data: JsonObject) -> Heard | None:
    said = data.get("message_type")
    if said in tuple(Kind):
        return Heard(Kind(str(said)), data)
    if "api_key" in data and any(name in data for name in _WORLD):
        return Heard(Kind.START, data)
    return _guessed(data) if said is None else None


def _guessed(data: JsonObject) -> Heard | None:
    if {"turn_number", "current_time"} <= data.keys():
        return Heard(Kind.TURN, data, guessed=True)
    if list(data) == ["reason"] and data["reason"] in _REASONS:
        return Heard(Kind.COMPLETE, data, guessed=True)
    return None


def _check_no_key(message: ClientMessage, field: str) -> None:
    for written in (message.whole_text, dumps(message.metadata)):
        if _KEY.search(written) and _STARTS.search(written):
            cause = f"there seems to be an {Kind.START} in it, with a key: send it as one data part, or as JSON alone"
            raise InvalidField(field, cause)


def _checked(shape: type[_T], data: JsonObject) -> _T:
    kind: Json = shape.model_fields["message_type"].default
    try:
        return shape.model_validate(plain_values({"message_type": kind, **data}))
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False, include_context=False)[0]
        path = ".".join(map(str, (kind, *first["loc"])))
        raise InvalidField(path, first["msg"]) from None

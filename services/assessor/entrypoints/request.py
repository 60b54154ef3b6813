"""What a client asks for: which agent is measured, and in which scenario."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from urllib.parse import parse_qsl, urlsplit

from a2a.helpers import get_data_parts, get_text_parts
from a2a.types.a2a_pb2 import Message, Part
from google.protobuf.json_format import MessageToDict
from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError

from shared.contracts.assessment.results import AGENT_KEY_HEADER, parse_agent_key
from shared.contracts.base import describe_first_error

_CREDENTIAL_PATTERN = re.compile(
    r"(?:(?:agent|participant|purple|api|access|bearer|x)_?)*"
    r"(?:keys?|headers?|tokens?|auth|authorization|bearer|credentials?|secrets?|password)"
)


class BadEvaluationRequest(Exception):
    """The message holds no request that can be used; its text says why."""


class KeyInMessage(Exception):
    """The message seems to hold a credential, which would be kept with the task and shown to whoever asks for it."""


class AssessmentRequest(BaseModel):
    """``scenario_id`` is needed; the rest is how long the run may go on."""

    model_config = ConfigDict(frozen=True, extra="allow")

    scenario_id: str = Field(min_length=1)


class EvaluationRequest(BaseModel):
    """A request for an assessment. ``participants``: URLs by role; the first one is assessed, whatever its role."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    participants: dict[str, str] = Field(min_length=1)
    config: AssessmentRequest

    @property
    def participant(self) -> str:
        return next(iter(self.participants.values()))

    @property
    def limits(self) -> dict[str, JsonValue]:
        return self.config.model_dump(mode="json", exclude={"scenario_id"})


def read_request(parts: Sequence[Part]) -> EvaluationRequest:
    """The first part that is data, else the first text that is JSON. Raises ``BadEvaluationRequest``."""
    request_data = next((data for data in get_data_parts(parts) if isinstance(data, dict)), None) or next(
        _parse_json_objects(parts), None
    )
    if request_data is None:
        raise BadEvaluationRequest("the message has neither data nor a JSON text with participants and config")
    try:
        request = EvaluationRequest.model_validate(request_data)
    except ValidationError as error:
        raise BadEvaluationRequest(describe_first_error(error)) from error
    if not request.participant.startswith(("http://", "https://")):
        raise BadEvaluationRequest("participants: the agent's address is no http or https URL")
    return request


def check_no_credential(message: Message) -> None:
    """Raises ``KeyInMessage``. Messages are kept as a task's history; a credential belongs into a header."""
    data_parts = [*get_data_parts(message.parts), *_parse_json_objects(message.parts), MessageToDict(message.metadata)]
    for name, value in _walk_fields(data_parts):
        if _is_credential(name) or _has_credential(value):
            where = f"the agent's credential belongs into the header {AGENT_KEY_HEADER}, not into a message"
            raise KeyInMessage(f"{name[:40]}: {where}; nothing of it was kept")


def key_for_agent(headers: Mapping[str, str]) -> str:
    """What the client wants the agent to be shown, or nothing. Raises ``BadEvaluationRequest``."""
    key = headers.get(AGENT_KEY_HEADER.lower(), "")
    try:
        return parse_agent_key(key) if key else ""
    except ValueError as error:
        raise BadEvaluationRequest(f"{AGENT_KEY_HEADER}: {error}") from None


def _walk_fields(values: Sequence[JsonValue]) -> Iterator[tuple[str, JsonValue]]:
    """All names, at any depth, with their values."""
    values_left = list(values)
    while values_left:
        value = values_left.pop()
        if isinstance(value, dict):
            yield from value.items()
            values_left.extend(value.values())
        elif isinstance(value, list):
            values_left.extend(value)


def _is_credential(name: str) -> bool:
    return _CREDENTIAL_PATTERN.fullmatch(name.lower().replace("-", "_")) is not None


def _has_credential(value: JsonValue) -> bool:
    """Whether a value is a URL with a user, a password or a key in it."""
    if not isinstance(value, str) or not value.lower().startswith(("http://", "https://")):
        return False
    try:
        address = urlsplit(value)
        return "@" in address.netloc or any(_is_credential(name) for name, _ in parse_qsl(address.query))
    except ValueError:
        return True


def _parse_json_objects(parts: Sequence[Part]) -> Iterator[dict[str, JsonValue]]:
    """Yields the objects among the parts' texts; skips a text that is not a JSON object."""
    for text in get_text_parts(parts):
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict):
            yield value

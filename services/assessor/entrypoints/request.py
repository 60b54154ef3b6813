"""What a client asks for: which agent is measured, and in which scenario."""

import json
from collections.abc import Sequence

from a2a.helpers import get_data_parts, get_text_parts
from a2a.types.a2a_pb2 import Part
from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError


class BadEvaluationRequest(Exception):
    """The message holds no request that can be used; its text says why."""


class Wanted(BaseModel):
    """``scenario_id`` is needed; the rest is how long the run may go on."""

    model_config = ConfigDict(frozen=True, extra="allow")

    scenario_id: str = Field(min_length=1)


class EvaluationRequest(BaseModel):
    """``participants``: URLs by role; whatever the role is called, the first one is measured."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    participants: dict[str, str] = Field(min_length=1)
    config: Wanted

    @property
    def participant(self) -> str:
        return next(iter(self.participants.values()))

    @property
    def limits(self) -> dict[str, JsonValue]:
        return self.config.model_dump(mode="json", exclude={"scenario_id"})


def read_request(parts: Sequence[Part]) -> EvaluationRequest:
    """The first part that is data, else the first text that is JSON. Raises ``BadEvaluationRequest``."""
    found = next((data for data in get_data_parts(parts) if isinstance(data, dict)), None) or _from_text(parts)
    if found is None:
        raise BadEvaluationRequest("the message has neither data nor a JSON text with participants and config")
    try:
        request = EvaluationRequest.model_validate(found)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        raise BadEvaluationRequest(f"{'.'.join(map(str, first['loc']))}: {first['msg']}") from error
    if not request.participant.startswith(("http://", "https://")):
        raise BadEvaluationRequest("participants: the agent's address is no http or https URL")
    return request


def _from_text(parts: Sequence[Part]) -> dict[str, JsonValue] | None:
    for text in get_text_parts(parts):
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict):
            return value
    return None

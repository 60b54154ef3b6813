"""Why the simulator does not do what it was asked: each kind is one HTTP status."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypeVar

from pydantic import BaseModel, JsonValue, ValidationError

_Model = TypeVar("_Model", bound=BaseModel)


class InputFault(NamedTuple):
    """One wrong field: where it stands and what is wrong with it."""

    loc: tuple[str | int, ...]
    msg: str
    type: str = "value_error"


class SimulatorRefusal(Exception):
    """A request that is refused and leaves the world unchanged. ``detail`` is for the caller."""

    status = 400

    def __init__(self, detail: str | Mapping[str, JsonValue]) -> None:
        super().__init__(str(detail))
        self.detail = detail


class MeaninglessRequest(SimulatorRefusal):
    """A well-formed request that means nothing here: 400."""


class Missing(SimulatorRefusal):
    """The named thing does not exist: 404."""

    status = 404


class Conflict(SimulatorRefusal):
    """The present state of the world does not allow the request: 409."""

    status = 409


class BadInput(SimulatorRefusal):
    """A body, or an event's data, has the wrong shape: 422. The answer names each wrong field."""

    status = 422

    def __init__(self, faults: Sequence[InputFault]) -> None:
        super().__init__("; ".join(f"{'.'.join(map(str, fault.loc))}: {fault.msg}" for fault in faults))
        self.faults = tuple(faults)


class ActionFailed(Exception):
    """An action that could be read and cannot be done (an unknown message, a calendar event that is gone).

    The event ends as ``failed`` with this text, and nothing has changed.
    """


def bad_input(error: ValidationError, *before: str) -> BadInput:
    """The validation error as a refusal; ``before`` is put before the path of each field."""
    errors = error.errors(include_url=False, include_context=False, include_input=False)
    return BadInput([InputFault((*before, *item["loc"]), item["msg"], item["type"]) for item in errors])


def parse_model(kind: type[_Model], data: object, *before: str) -> _Model:
    """Parses data as a model of that kind. Raises ``BadInput``, which names each wrong field, under ``before``."""
    try:
        return kind.model_validate(data)
    except ValidationError as error:
        raise bad_input(error, *before) from None

"""Values as a verdict repeats them: short, whatever the rules saw."""

from collections.abc import Sequence

from services.policy.core.conditions import Condition
from services.policy.core.values import Context
from shared.contracts.policy import ContextValue, Scalar

_CHARACTERS = 200
_ITEMS = 8
RESTS_ON_THE_REQUEST = "it rests on values that only the request gives"
SAID_BY_THE_RECORD = "the record says so, and the call otherwise"


def shown_values(condition: Condition, context: Context) -> dict[str, ContextValue]:
    """The fields that a condition read."""
    return {name: shown(value) for name, value in condition.values(context).items()}


def shown(value: ContextValue) -> ContextValue:
    """A value short enough to be repeated."""
    match value:
        case dict():
            return f"an object of {len(value)} fields"
        case list():
            return [_clipped(item) for item in value[:_ITEMS]]
        case _:
            return _clipped(value)


def cannot_be_decided(missing: Sequence[str]) -> str:
    """Why a rule is undecided, for people."""
    return f"cannot be decided: {', '.join(missing)} missing or null"


def _clipped(value: Scalar) -> Scalar:
    if isinstance(value, str) and len(value) > _CHARACTERS:
        return value[: _CHARACTERS - 1] + "…"
    return value

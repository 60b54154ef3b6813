"""A call with its arguments and where each value comes from, and the step of a plan that such calls carry out."""

from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import NamedTuple

from services.planner.core.intents import Intent
from services.planner.core.request import ToolSpec
from services.planner.core.situation import CERTAIN, ArgumentCandidate
from shared.domain.exact_json import Json, JsonObject, dumps

REF = "$ref"


class CallPlan(NamedTuple):
    """A tool's arguments with their origins. ``missing``: required fields that nothing gives."""

    tool: ToolSpec
    chosen: tuple[tuple[str, ArgumentCandidate], ...]
    missing: tuple[str, ...] = ()

    @property
    def arguments(self) -> JsonObject:
        return {
            name: write_number_as_wanted_string(candidate.value, kind_of(self.tool.properties[name]))
            for name, candidate in self.chosen
        }

    @property
    def sureness(self) -> int:
        return min((candidate.sure for _, candidate in self.chosen), default=CERTAIN)

    @property
    def key(self) -> str:
        return f"{self.tool.name} {dumps(self.arguments)}"

    @property
    def values(self) -> set[str]:
        """The values of its arguments as texts."""
        return {str(candidate.value) for _, candidate in self.chosen}

    @property
    def is_computed(self) -> bool:
        """Whether one of its arguments was worked out."""
        return any(candidate.source == "value" for _, candidate in self.chosen)

    def candidate(self, name: str) -> ArgumentCandidate | None:
        return next((candidate for field, candidate in self.chosen if field == name), None)

    def with_values(self, values: Mapping[str, ArgumentCandidate]) -> "CallPlan":
        """The plan with these values, of which none is missing any more."""
        missing = tuple(name for name in self.missing if name not in values)
        return self._replace(chosen=tuple((dict(self.chosen) | {**values}).items()), missing=missing)


def values_of(plans: Iterable[CallPlan]) -> set[str]:
    """The values of the arguments of all these calls as texts."""
    return {value for plan in plans for value in plan.values}


def kind_of(schema: JsonObject) -> str:
    field_type = schema.get("type")
    if isinstance(field_type, list):
        field_type = next((word for word in field_type if word != "null"), "string")
    options = schema.get("anyOf")
    if field_type is None and isinstance(options, list) and isinstance(options[0], dict):
        return kind_of(options[0])
    return str(field_type or "string")


def write_number_as_wanted_string(value: Json, kind: str) -> Json:
    """A number as text where the schema wants a string; any other value unchanged."""
    if kind == "string" and isinstance(value, int | Decimal) and not isinstance(value, bool):
        return str(value)
    return value


class WhyUnplanned(NamedTuple):
    """Why an action has no call. ``settled``: there is nothing to do; else something is missing."""

    why: str = ""
    settled: bool = False


class WriteStep(NamedTuple):
    """One action of the task with its calls, in order. ``reason``: why it has none; ``left_out``: things
    that the action names and no call is for, each with the reason.
    """

    intent: Intent
    calls: tuple[CallPlan, ...] = ()
    reason: WhyUnplanned = WhyUnplanned()
    left_out: tuple[str, ...] = ()

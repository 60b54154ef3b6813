"""A call with its arguments and where each value comes from, and the step of a plan that such calls carry out."""

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
        return {name: as_json(found.value, kind_of(self.tool.properties[name])) for name, found in self.chosen}

    @property
    def sureness(self) -> int:
        return min((found.sure for _, found in self.chosen), default=CERTAIN)

    @property
    def key(self) -> str:
        return f"{self.tool.name} {dumps(self.arguments)}"

    def candidate(self, name: str) -> ArgumentCandidate | None:
        return next((found for field, found in self.chosen if field == name), None)


def kind_of(schema: JsonObject) -> str:
    given = schema.get("type")
    if isinstance(given, list):
        given = next((word for word in given if word != "null"), "string")
    options = schema.get("anyOf")
    if given is None and isinstance(options, list) and isinstance(options[0], dict):
        return kind_of(options[0])
    return str(given or "string")


def as_json(value: Json, kind: str) -> Json:
    """A value in the type a schema asks for, where that loses nothing."""
    if kind == "string" and isinstance(value, int | Decimal) and not isinstance(value, bool):
        return str(value)
    return value


class WhyUnplanned(NamedTuple):
    """Why an action is left out; ``settled`` if there is nothing to do, and not something missing."""

    why: str = ""
    settled: bool = False


class WriteStep(NamedTuple):
    """One action of the task with its calls, in order. ``reason``: why it has none; ``left_out``: what goes no way."""

    intent: Intent
    calls: tuple[CallPlan, ...] = ()
    reason: WhyUnplanned = WhyUnplanned()
    left_out: tuple[str, ...] = ()

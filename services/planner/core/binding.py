"""Arguments for a tool: every required field, the optional ones the task speaks of, and where each value comes from."""

from itertools import product
from typing import NamedTuple

from services.planner.core.intents import Intent
from services.planner.core.pages import is_paging
from services.planner.core.references import CERTAIN, POSSIBLE, candidates, is_reference
from services.planner.core.request import ToolSpec
from services.planner.core.scalars import as_json, kind_of, scalar
from services.planner.core.situation import ArgumentCandidate, Situation
from shared.domain.exact_json import JsonObject, dumps

_MANY = 6


class BoundWay(NamedTuple):
    """A tool's arguments with their origins. ``missing``: required fields that nothing gives."""

    tool: ToolSpec
    chosen: tuple[tuple[str, ArgumentCandidate], ...]
    missing: tuple[str, ...] = ()

    @property
    def arguments(self) -> JsonObject:
        return {name: as_json(found.value, kind_of(self.tool.properties[name])) for name, found in self.chosen}

    @property
    def sure(self) -> int:
        return min((found.sure for _, found in self.chosen), default=CERTAIN)

    @property
    def key(self) -> str:
        return f"{self.tool.name} {dumps(self.arguments)}"

    def candidate(self, name: str) -> ArgumentCandidate | None:
        return next((found for field, found in self.chosen if field == name), None)


def bind(tool: ToolSpec, situation: Situation, intent: Intent, least: int = POSSIBLE) -> list[BoundWay]:
    """Every way to call a tool: one for each combination of identifiers, the surest first."""
    fields = [name for name in tool.properties if not is_paging(tool, name)]
    found = {name: _values(tool, name, situation, intent, least) for name in fields}
    missing = tuple(name for name in tool.required if not found.get(name))
    fixed = {name: values[:1] for name, values in found.items() if values and not is_reference(tool, name)}
    references = {
        name: values
        for name, values in found.items()
        if values and is_reference(tool, name) and (name in tool.required or values[0].sure == CERTAIN)
    }
    names = [name for name in fields if name in fixed or name in references]
    ways = product(*((references.get(name) or fixed[name])[:_MANY] for name in names))
    return [BoundWay(tool, tuple(zip(names, way, strict=True)), missing) for way in ways][:_MANY]


def _values(tool: ToolSpec, name: str, situation: Situation, intent: Intent, least: int) -> list[ArgumentCandidate]:
    if is_reference(tool, name) and kind_of(tool.properties[name]) in ("string", "integer"):
        found = candidates(tool, name, situation, intent.clause)
        return [candidate for candidate in found if candidate.sure >= least]
    one = scalar(tool, name, situation, intent)
    return [one] if one and one.sure >= least else []

"""Figures worked out by ``calculate`` where it is there, else here."""

from collections.abc import Sequence

from services.planner.core.compute import figures
from services.planner.core.figures import PlannedFigure
from services.planner.core.known_formulas import calculations as known_calculations
from services.planner.core.request import CALCULATE, Request
from services.planner.core.situation import Situation
from services.planner.core.tool_making import calculations as made_calculations
from services.planner.core.toolset import Toolset
from shared.domain.exact_json import Json, JsonObject


def calculations(request: Request, situation: Situation, toolset: Toolset) -> tuple[tuple[str, JsonObject], ...]:
    """The calls that are still to be made; those of one reply never rest on each other, and none is made twice."""
    if not toolset.has(CALCULATE):
        return ()
    tried = {str(call.arguments.get("name")) for call in request.calls if call.tool == CALCULATE}
    asked = [_as_request(figure) for figure in figures(situation)]
    asked += [
        _as_named(one) for one in (*made_calculations(request, situation), *known_calculations(request, situation))
    ]
    fresh = {str(one["name"]): one for one in asked if one["name"] not in tried}
    known = {str(value.get("name")) for value in situation.values}
    ready = [one for one in fresh.values() if not _waits(one, {*fresh} - known)]
    return tuple((CALCULATE, one) for one in ready)


def with_figures(situation: Situation, found: Sequence[PlannedFigure]) -> Situation:
    """The situation with the figures that nobody has worked out yet."""
    known = {str(value.get("name")) for value in situation.values}
    own = tuple(figure.as_json() for figure in found if figure.name not in known)
    return situation._replace(values=(*situation.values, *own))


def _as_request(figure: PlannedFigure) -> JsonObject:
    operands: list[Json] = [operand.written for operand, _ in figure.operands]
    return {"name": figure.name, "operation": figure.operation, "operands": operands}


def _as_named(one: JsonObject) -> JsonObject:
    operands = one.get("operands")
    return {"name": one["operation"], "operation": one["operation"], "operands": operands}


def _waits(asked: JsonObject, others: set[str]) -> bool:
    operands = asked.get("operands")
    return any(str(one) in others for one in operands) if isinstance(operands, list) else False

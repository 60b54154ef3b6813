"""Figures worked out by ``calculate`` where it is there, else here; its formulas where a task names one of them."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from services.planner.core.compute import subjects
from services.planner.core.figures import FigureOperand, PlannedFigure, numeric_fields, operand
from services.planner.core.groups import all_figures
from services.planner.core.request import CALCULATE, Request, ToolSpec
from services.planner.core.situation import Situation
from services.planner.core.tool_making import MADE_HERE, calculations as made_calculations
from services.planner.core.toolset import Toolset
from services.planner.core.words import field_stems, stems, text_stems
from shared.domain.exact_json import Json, JsonObject


def calculations(request: Request, situation: Situation, toolset: Toolset) -> tuple[tuple[str, JsonObject], ...]:
    """The calls that are still to be made; those of one reply never rest on each other, and none is made twice."""
    if not toolset.has(CALCULATE):
        return ()
    tried = {str(call.arguments.get("name")) for call in request.calls if call.tool == CALCULATE}
    asked = [_as_request(figure) for figure in all_figures(situation)]
    asked += [
        _as_named(one) for one in (*made_calculations(request, situation), *known_calculations(request, situation))
    ]
    fresh = {str(one["name"]): one for one in asked if one["name"] not in tried}
    known = {str(value.get("name")) for value in situation.values}
    ready = [one for one in fresh.values() if not _waits_for_others(one, {*fresh} - known)]
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


def _waits_for_others(asked: JsonObject, others: set[str]) -> bool:
    operands = asked.get("operands")
    return any(str(one) in others for one in operands) if isinstance(operands, list) else False


_OFFERED = re.compile(r"\b([a-z][a-z_/]*)\(([^()]*)\)")
_FIGURE = r"[-+]?[$€£]?(\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?)(?![\d-]|\.\d)"
_IS = r"\s*(?:is|are|was|were|of|at|being|=|:)?\s*"
_SAID_OR_NOT = stems(("percent", "total", "used", "part"))  # words of a formula's name that a task may leave out
_BRITISH = re.compile(r"is(?=e\b|ed\b|es\b|ing\b|ation\b)")


class _BoundOperands(NamedTuple):
    operands: list[FigureOperand]
    text: str  # what is left to be read: no figure is taken for two arguments


def known_calculations(request: Request, situation: Situation) -> list[JsonObject]:
    """What to ask ``calculate``: the formula that the task names, if the task or a record gives all that it needs."""
    tool = request.tool(CALCULATE)
    known = formulas(tool) if tool else {}
    for name in _formulas_named(situation.text, known):
        operands = _operands(known[name], situation)
        if operands:
            listed: list[Json] = [one.written for one in operands]
            return [{"operation": name, "operands": listed}]
    return []


def formulas(tool: ToolSpec) -> dict[str, str]:
    """The formulas that the tool's ``operation`` may be, each with its arguments: ``npv(rate %, flow...)``."""
    operation = tool.properties.get("operation", {})
    told, offered = str(operation.get("description") or ""), operation.get("enum")
    found = _OFFERED.findall(told.split(MADE_HERE)[0])
    listed = {name: arguments for names, arguments in found for name in names.split("/")}
    return {name: listed[name] for name in listed if not isinstance(offered, list) or name in offered}


def _formulas_named(text: str, known: dict[str, str]) -> list[str]:
    """The formulas of whose names the text has every word that counts, those first of which it has most."""
    said = text_stems(_BRITISH.sub("iz", text.lower()))
    words = {name: field_stems(name) for name in known}
    named = [name for name, own in words.items() if own - _SAID_OR_NOT and own - _SAID_OR_NOT <= said]
    return sorted(named, key=lambda name: (-len(words[name] & said), len(words[name] - said), name))


def _operands(signature: str, situation: Situation) -> list[FigureOperand] | None:
    """The operands in the order of the signature, those with the longest names looked for first."""
    names = [name.strip() for name in signature.split(",")]
    found: dict[str, list[FigureOperand]] = {}
    text = situation.text
    for name in sorted(names, key=lambda name: (-len(_spoken_name(name)), name)):
        bound = _find_stated(name, text) or _find_recorded(name, text, situation)
        if bound is None:
            return None
        found[name], text = bound
    return [one for name in names for one in found[name]]


def _spoken_name(name: str) -> str:
    """``credit % a breach`` is spoken of as ``credit``, ``downtime of a day...`` as ``downtime``."""
    return re.split(r"%| of |\.\.\.", name)[0].strip()


def _find_stated(name: str, text: str) -> _BoundOperands | None:
    """``principal 2,500``, ``a life of 10``, ``12 months``: just one such figure, or several of a list's."""
    words = re.escape(_spoken_name(name)).replace(r"\ ", r"[\s-]+")
    if name.endswith("..."):
        match = re.search(rf"\b{words}s?{_IS}((?:{_FIGURE}(?:\s*(?:,|and|,\s*and)\s*)?)+)", text, re.I)
        figures = re.findall(_FIGURE, match[1]) if match else []
    else:
        after = rf"\b{words}(?:\s+(?:rate|interest|price|value|amount))?{_IS}{_FIGURE}"
        before = rf"(?<![\w.,-]){_FIGURE}\s*%?\s*(?:\w+\s+)?{words}\b"
        match = re.search(after, text, re.I) or re.search(before, text, re.I)
        figures = [next(group for group in match.groups() if group)] if match else []
    if match is None or not figures:
        return None
    rest = text[: match.start()] + " ; " + text[match.end() :]
    return _BoundOperands([FigureOperand("task", literal=figure) for figure in figures], rest)


def _find_recorded(name: str, text: str, situation: Situation) -> _BoundOperands | None:
    """The one field of that name that the task's records have."""
    having = [
        operand(record, field)[0]
        for record in subjects(situation)
        for field in numeric_fields(record)
        if field_stems(field) == field_stems(_spoken_name(name).replace(" ", "_"))
    ]
    return _BoundOperands(having, text) if len(having) == 1 and not name.endswith("...") else None

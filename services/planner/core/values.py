"""Figures computed by ``calculate`` if it is offered, else here; its formulas, if a task names one of them."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from services.planner.core.compute import subjects
from services.planner.core.figures import FigureOperand, PlannedFigure, numeric_fields, operand
from services.planner.core.groups import all_figures
from services.planner.core.request import CALCULATE, Request, ToolSpec
from services.planner.core.situation import Situation
from services.planner.core.tool_making import MADE_HERE, list_made_tool_calculations as made_calculations
from services.planner.core.toolset import Toolset
from services.planner.core.words import field_stems, stems, text_stems
from shared.domain.exact_json import Json, JsonObject


def list_calculate_calls(
    request: Request, situation: Situation, toolset: Toolset
) -> tuple[tuple[str, JsonObject], ...]:
    """The ``calculate`` calls still to make; calls of one reply never depend on each other, and none is repeated."""
    if not toolset.has(CALCULATE):
        return ()
    tried = {str(call.arguments.get("name")) for call in request.calls if call.tool == CALCULATE}
    requests = [_as_request(figure) for figure in all_figures(situation)]
    requests += [
        _as_named(calculation)
        for calculation in (*made_calculations(request, situation), *list_known_calculations(request, situation))
    ]
    fresh = {str(calculation["name"]): calculation for calculation in requests if calculation["name"] not in tried}
    known_names = {str(value.get("name")) for value in situation.values}
    ready = [
        calculation for calculation in fresh.values() if not _waits_for_others(calculation, {*fresh} - known_names)
    ]
    return tuple((CALCULATE, calculation) for calculation in ready)


def with_figures(situation: Situation, figures: Sequence[PlannedFigure]) -> Situation:
    """The situation with those of the figures that have no value yet."""
    known_names = {str(value.get("name")) for value in situation.values}
    own = tuple(figure.as_json() for figure in figures if figure.name not in known_names)
    return situation._replace(values=(*situation.values, *own))


def _as_request(figure: PlannedFigure) -> JsonObject:
    operands: list[Json] = [operand.written for operand, _ in figure.operands]
    return {"name": figure.name, "operation": figure.operation, "operands": operands}


def _as_named(value: JsonObject) -> JsonObject:
    operands = value.get("operands")
    return {"name": value["operation"], "operation": value["operation"], "operands": operands}


def _waits_for_others(request: JsonObject, others: set[str]) -> bool:
    operands = request.get("operands")
    return any(str(operand) in others for operand in operands) if isinstance(operands, list) else False


_OFFERED_PATTERN = re.compile(r"\b([a-z][a-z_/]*)\(([^()]*)\)")
_FIGURE = r"[-+]?[$€£]?(\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?)(?![\d-]|\.\d)"
_IS = r"\s*(?:is|are|was|were|of|at|being|=|:)?\s*"
_SAID_OR_NOT = stems(("percent", "total", "used", "part"))  # words of a formula's name that a task may leave out
_BRITISH_PATTERN = re.compile(r"is(?=e\b|ed\b|es\b|ing\b|ation\b)")


class _BoundOperands(NamedTuple):
    operands: list[FigureOperand]
    text: str  # what is left to be read: no figure is taken for two arguments


def list_known_calculations(request: Request, situation: Situation) -> list[JsonObject]:
    """The ``calculate`` requests for the formula that the task names, if the task or a record gives all its
    arguments.
    """
    tool = request.tool(CALCULATE)
    formulas_by_name = find_formulas(tool) if tool else {}
    for name in _formulas_named(situation.text, formulas_by_name):
        operands = _bind_operands(formulas_by_name[name], situation)
        if operands:
            listed: list[Json] = [operand.written for operand in operands]
            return [{"operation": name, "operands": listed}]
    return []


def find_formulas(tool: ToolSpec) -> dict[str, str]:
    """The formulas that the tool's ``operation`` may be, each with its arguments: ``npv(rate %, flow...)``."""
    operation = tool.properties.get("operation", {})
    description, offered = str(operation.get("description") or ""), operation.get("enum")
    matches = _OFFERED_PATTERN.findall(description.split(MADE_HERE)[0])
    listed = {name: arguments for names, arguments in matches for name in names.split("/")}
    return {name: listed[name] for name in listed if not isinstance(offered, list) or name in offered}


def _formulas_named(text: str, formulas_by_name: dict[str, str]) -> list[str]:
    """The formulas of whose names the text has every word that counts, those first of which it has most."""
    word_stems = text_stems(_BRITISH_PATTERN.sub("iz", text.lower()))
    words = {name: field_stems(name) for name in formulas_by_name}
    named = [name for name, own in words.items() if own - _SAID_OR_NOT and own - _SAID_OR_NOT <= word_stems]
    return sorted(named, key=lambda name: (-len(words[name] & word_stems), len(words[name] - word_stems), name))


def _bind_operands(signature: str, situation: Situation) -> list[FigureOperand] | None:
    """The operands in the order of the signature; None if one is missing.

    Those with the longest names are looked for first.
    """
    names = [name.strip() for name in signature.split(",")]
    operands_by_name: dict[str, list[FigureOperand]] = {}
    text = situation.text
    for name in sorted(names, key=lambda name: (-len(_spoken_name(name)), name)):
        bound = _find_stated(name, text) or _find_recorded(name, text, situation)
        if bound is None:
            return None
        operands_by_name[name], text = bound
    return [operand for name in names for operand in operands_by_name[name]]


def _spoken_name(name: str) -> str:
    """The part of a value's name that tasks use: ``credit`` of ``credit % a breach``."""
    return re.split(r"%| of |\.\.\.", name)[0].strip()


def _find_stated(name: str, text: str) -> _BoundOperands | None:
    """The figure that a text states for a name (``principal 2,500``, ``a life of 10``, ``12 months``), several for a
    list; None unless it is clear.
    """
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
    remaining_text = text[: match.start()] + " ; " + text[match.end() :]
    return _BoundOperands([FigureOperand("task", literal=figure) for figure in figures], remaining_text)


def _find_recorded(name: str, text: str, situation: Situation) -> _BoundOperands | None:
    """The one field of that name that the task's records have, and the text; None if there is none or several."""
    having = [
        operand(record, field)[0]
        for record in subjects(situation)
        for field in numeric_fields(record)
        if field_stems(field) == field_stems(_spoken_name(name).replace(" ", "_"))
    ]
    return _BoundOperands(having, text) if len(having) == 1 and not name.endswith("...") else None

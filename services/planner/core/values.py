"""Figures computed by ``calculate`` if it is offered, else here; its formulas, if a task names one of them."""

import re
from collections.abc import Sequence

from services.planner.core.compute import subjects
from services.planner.core.figures import PlannedFigure, numeric_fields, operand
from services.planner.core.groups import all_figures
from services.planner.core.request import CALCULATE, Call, Request, ToolSpec
from services.planner.core.situation import Situation
from services.planner.core.toolset import Toolset
from services.planner.core.words import field_stems, stems, text_stems
from shared.domain.exact_json import Json, JsonObject


def list_calculate_calls(request: Request, situation: Situation, toolset: Toolset) -> tuple[Call, ...]:
    """The ``calculate`` calls still to make; calls of one reply never depend on each other, and none is repeated."""
    if not toolset.has(CALCULATE):
        return ()
    tried = {str(call.arguments.get("name")) for call in request.calls if call.tool == CALCULATE}
    wanted: list[JsonObject] = [figure.as_request() for figure in all_figures(situation)]
    named = (*_list_made_calculations(request, situation), *list_known_calculations(request, situation))
    wanted += [{"name": calculation["operation"], **calculation} for calculation in named]
    fresh = {str(calculation["name"]): calculation for calculation in wanted if calculation["name"] not in tried}
    others = {*fresh} - {str(value.get("name")) for value in situation.values}
    return tuple((CALCULATE, one) for one in fresh.values() if not others.intersection(_operands_in(one)))


def _operands_in(calculation: JsonObject) -> list[str]:
    operands = calculation.get("operands")
    return [*map(str, operands)] if isinstance(operands, list) else []


def with_figures(situation: Situation, figures: Sequence[PlannedFigure]) -> Situation:
    """The situation with those of the figures that have no value yet."""
    known_names = {str(value.get("name")) for value in situation.values}
    own = tuple(figure.as_json() for figure in figures if figure.name not in known_names)
    return situation._replace(values=(*situation.values, *own))


_MADE_HERE = "made for this:"
_OFFERED_PATTERN = re.compile(r"\b([a-z][a-z_/]*)\(([^()]*)\)")
_FIGURE = r"[+]?[$€£]?((?:(?<=[\s=:])-)?(?:\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?))(?![\d-]|\.\d)"
_IS = r"\s*(?:is|are|was|were|of|at|being|=|:)?\s*"
_SAID_OR_NOT = stems(("percent", "total", "used", "part"))  # words of a formula's name that a task may leave out
_BRITISH_PATTERN = re.compile(r"is(?=e\b|ed\b|es\b|ing\b|ation\b)")


def list_known_calculations(request: Request, situation: Situation) -> list[JsonObject]:
    """The ``calculate`` request for the formula that the task names, if the task or records give all its arguments."""
    tool = request.tool(CALCULATE)
    formulas = find_formulas(tool) if tool else {}
    named = ((name, _bind_operands(formulas[name], situation)) for name in _formulas_named(situation.text, formulas))
    return [_name_operation(name, operands) for name, operands in named if operands][:1]


def _list_made_calculations(request: Request, situation: Situation) -> list[JsonObject]:
    """The ``calculate`` requests for the tools that were made for the task, as far as all their arguments are given."""
    tool = request.tool(CALCULATE)
    made = _described_operations(tool).partition(_MADE_HERE)[2] if tool else ""
    offered = ((match[1], _bind_operands(match[2], situation)) for match in _OFFERED_PATTERN.finditer(made))
    return [_name_operation(name, operands) for name, operands in offered if operands]


def _name_operation(name: str, operands: list[Json]) -> JsonObject:
    return {"operation": name, "operands": operands}


def _described_operations(tool: ToolSpec) -> str:
    return str(tool.properties.get("operation", {}).get("description") or "")


def find_formulas(tool: ToolSpec) -> dict[str, str]:
    """The formulas that the tool's ``operation`` may be, each with its arguments: ``npv(rate %, flow...)``."""
    offered = tool.properties.get("operation", {}).get("enum")
    matches = _OFFERED_PATTERN.findall(_described_operations(tool).split(_MADE_HERE)[0])
    listed = {name: arguments for names, arguments in matches for name in names.split("/")}
    return {name: listed[name] for name in listed if not isinstance(offered, list) or name in offered}


def _formulas_named(text: str, formulas_by_name: dict[str, str]) -> list[str]:
    """The formulas of whose names the text has every word that counts, those first of which it has most."""
    word_stems = text_stems(_BRITISH_PATTERN.sub("iz", text.lower()))
    words = {name: field_stems(name) for name in formulas_by_name}
    named = [name for name, own in words.items() if own - _SAID_OR_NOT and own - _SAID_OR_NOT <= word_stems]
    return sorted(named, key=lambda name: (-len(words[name] & word_stems), len(words[name] - word_stems), name))


def _bind_operands(signature: str, situation: Situation) -> list[Json] | None:
    """The operands in the order of the signature, as ``calculate`` takes them; None if one is missing.

    Those with the longest names are looked for first.
    """
    names = [name.strip() for name in signature.split(",")]
    operands_by_name: dict[str, list[Json]] = {}
    text = situation.text
    for name in sorted(names, key=lambda name: (-len(_spoken_name(name)), name)):
        operands_by_name[name], text = _find_stated(name, text) or (_find_recorded(name, situation), text)
        if not operands_by_name[name]:
            return None
    return [operand for name in names for operand in operands_by_name[name]]


def _spoken_name(name: str) -> str:
    """The part of a value's name that tasks use: ``credit`` of ``credit % a breach``."""
    return re.split(r"%| of |\.\.\.", name)[0].strip()


def _find_stated(name: str, text: str) -> tuple[list[Json], str] | None:
    """The figure that a text states for a name (``principal 2,500``, ``a life of 10``, ``12 months``), several for a
    list, and the text without them, so that none is taken for two names; None unless it is clear.
    """
    words = r"[\s_-]+".join(map(re.escape, re.split(r"[\s_]+", _spoken_name(name))))
    if name.endswith("..."):
        match = re.search(rf"\b{words}s?{_IS}((?:{_FIGURE}(?:\s*(?:,|and|,\s*and)\s*)?)+)", text, re.I)
        figures: list[Json] = [*re.findall(_FIGURE, match[1])] if match else []
    else:
        after = rf"\b{words}(?:\s+(?:rate|interest|price|value|amount))?{_IS}{_FIGURE}"
        before = rf"(?<![\w.,-]){_FIGURE}\s*%?\s*(?:\w+\s+)?{words}\b"
        match = re.search(after, text, re.I) or re.search(before, text, re.I)
        figures = [next(group for group in match.groups() if group)] if match else []
    return (figures, f"{text[: match.start()]} ; {text[match.end() :]}") if match and figures else None


def _find_recorded(name: str, situation: Situation) -> list[Json]:
    """The one field of that name that the task's records have; empty if there is none or several."""
    fields = [(record, field) for record in subjects(situation) for field in numeric_fields(record)]
    own = field_stems(_spoken_name(name))
    having: list[Json] = [operand(record, field)[0].written for record, field in fields if field_stems(field) == own]
    return having if len(having) == 1 and not name.endswith("...") else []

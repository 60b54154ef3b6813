"""Answers short questions about a task in progress: do its calls cover it, and which read replaces a failed one."""

import re

from services.planner.core.mentions import identifiers_in
from services.planner.core.phrases import TELLS_PATTERN
from services.planner.core.request import Request, as_object, objects
from services.planner.core.selection import names_in
from services.planner.core.words import SENDING_FAMILIES, family, parts, text_stems, text_words
from shared.domain.exact_json import Json, JsonObject, dumps

_DO = "do"
# Families of verbs that ask for the same call: another time for what there is, a time for what is new.
_ALIKE = (frozenset({"update", "move", "schedule"}), frozenset({"create", "schedule"}))


def find_uncovered_parts(request: Request) -> JsonObject:
    """The structured output COVERAGE. Its problems are the parts that name a thing on which no call works."""
    calls = objects(request.section("calls"))
    problems = [_coverage_problem(part, calls) for part in objects(request.section("parts")) if _is_missed(part, calls)]
    listed: list[Json] = [*problems]
    return {"agrees": not problems, "problems": listed}


def _is_missed(part: JsonObject, calls: list[JsonObject]) -> bool:
    """Whether calls are said to carry a part out and none of them shares a word or an identifier with it."""
    own = [call for call in calls if call.get("part") == part.get("part")]
    if part.get("kind") != _DO or not own:
        return False
    return all(_is_unrelated(call, str(part.get("quote"))) for call in own)


def _is_unrelated(call: JsonObject, quote: str) -> bool:
    arguments = dumps(call.get("arguments"))
    if any(value in arguments for value in identifiers_in(quote)):
        return False
    words = parts(str(call.get("tool")))
    if SENDING_FAMILIES.intersection(map(family, words)):
        quote = _without_names(TELLS_PATTERN.split(quote)[0])  # "that it was approved" asks for no approval
    families = {family(word) for word in text_words(quote)} - {None, "read"}  # "give it to her" asks for no read
    chosen = [value for value in as_object(call.get("arguments")).values() if isinstance(value, str)]
    chosen_families = {family(word) for word in (*words, *chosen)} - {None}
    if families & chosen_families or any(families & alike and chosen_families & alike for alike in _ALIKE):
        return False
    return bool(families) and not text_stems(" ".join(words)) & text_stems(quote)


def _without_names(text: str) -> str:
    """The text without its proper names, which are no verbs: of ``tell Ann Lee`` it is ``tell``."""
    for name in names_in(text):
        text = text.replace(name, " ")
    return text


def _coverage_problem(part: JsonObject, calls: list[JsonObject]) -> JsonObject:
    names = ", ".join(sorted({str(call.get("tool")) for call in calls if call.get("part") == part.get("part")}))
    return {"part": part.get("part"), "why": f"{names} does something else than these words ask"}


def find_substitute_read(request: Request) -> JsonObject:
    """The structured output STAND_IN: a read with the same nouns in its name that takes the same arguments."""
    missing = as_object(request.section("missing"))
    arguments = as_object(missing.get("arguments"))
    lost = _stems_of_tool_name(str(missing.get("tool") or missing.get("name")))
    for tool in objects(request.section("read_tools")):
        schema = as_object(tool.get("input_schema") or tool.get("schema"))
        fields, required = as_object(schema.get("properties")), schema.get("required")
        needed = {str(name) for name in required} if isinstance(required, list) else set()
        if lost and _stems_of_tool_name(str(tool.get("name"))) == lost and needed <= {*arguments} <= {*fields}:
            return {"tool": tool.get("name"), "arguments_json": dumps(arguments), "why": "it reads the same things"}
    return {"tool": None, "arguments_json": "{}", "why": "no tool reads the same things"}


def _stems_of_tool_name(name: str) -> frozenset[str]:
    return text_stems(re.sub(r"[^A-Za-z]+", " ", " ".join(word for word in parts(name) if family(word) != "read")))

"""What an error says of a call: a name that the server does not know, a type that a value must have.

The wordings are those of databases, validators and people. A value is only written otherwise; nothing is lost by it.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from typing import NamedTuple

from shared.domain.exact_json import Json, JsonObject, dumps


class UnknownName(NamedTuple):
    """A name that a server refused. ``lacking``: parameters that the same error says are required and not there."""

    name: str
    is_parameter: bool = False
    lacking: tuple[str, ...] = ()


_KIND = r"(?:column|field|attribute|property)"
_PARAMETER = r"(?:(?:keyword |input )?(?:parameter|param|argument|arg|option))"
_NO_NAME = r"(?!(?:in|on|of|for|with|named?|called|the|is|was|does|not|found)\b)"
_NAME = rf"""["'`\[]?{_NO_NAME}([A-Za-z_](?:[\w.]*\w)?)["'`\]]?"""
_TABLE_NAME = r"""(?: (?:of|in) (?:the )?(?:relation|table) ["'`]?\w+["'`]?)?"""
_ABSENT = r"(?:(?:does not|doesn't) exist|(?:was |is )?(?:not found|unknown|not recogni[sz]ed|not defined))"
_STRANGE = r"(?:(?:was |is )?(?:unknown|unexpected|not recogni[sz]ed|not supported|not allowed|not expected))"
_QUOTED = r"""["'`]([A-Za-z_]\w*)["'`]"""


def _patterns(*patterns: str) -> tuple[re.Pattern[str], ...]:
    return tuple(re.compile(pattern, re.IGNORECASE | re.MULTILINE) for pattern in patterns)


_COLUMNS = _patterns(
    rf"\b(?:no such|unknown|unrecogni[sz]ed|undefined|nonexistent) {_KIND}(?: name)?:? {_NAME}",
    rf"\binvalid column(?: name)?:? {_NAME}",
    rf"\b{_KIND} {_NAME}{_TABLE_NAME} {_ABSENT}",
    rf"\b{_KIND} not found:? {_NAME}",
    rf"\b(?:no|has no|there is no) {_KIND}(?: named| called)? {_NAME}",
    rf"{_NAME} is (?:not a|no)(?: valid| known)? {_KIND}\b",
    rf"{_NAME}: invalid identifier\b",
    r"\bKeyError:? ['\"]([A-Za-z_][\w.]*)['\"]",
)
_PARAMETERS = _patterns(
    r"^([A-Za-z_]\w*)\s*\n\s+(?:Extra inputs are not permitted|Unexpected keyword argument)\b",
    rf"\badditional properties are not allowed \({_QUOTED}(?:, '\w+')* (?:was|were) unexpected\)",
    rf"\bunexpected (?:additional )?propert(?:y|ies):? {_NAME}",
    rf"\b(?:no such|unknown|unrecogni[sz]ed|unsupported|unexpected|undefined) {_PARAMETER}(?: name)?:? {_NAME}",
    rf"\b{_PARAMETER} {_NAME} {_STRANGE}",
    rf"\b(?:no|there is no) {_PARAMETER}(?: named| called)? {_NAME}",
    rf"{_NAME} is (?:not a|no)(?: valid| known)? {_PARAMETER}\b",
    r"\bdoes not (?:take|accept|have)(?: an?| the)? " + _PARAMETER + rf"(?: named| called)? {_NAME}",
)
_LACKING = _patterns(
    rf"{_QUOTED} is a required property",
    rf"\bmust have required property {_QUOTED}",
    rf"\bmissing (?:\d+ )?(?:required )?(?:positional |keyword-only )?{_PARAMETER}s?:? {_NAME}",
    rf"\b{_PARAMETER} {_NAME} (?:is|was) (?:required|missing)",
    rf"\b(?:field|property) {_QUOTED} is (?:required|missing)",
    r"^([A-Za-z_]\w*)\s*\n\s+(?:Field required|Missing required (?:keyword only |positional )?argument)\b",
)
_TABLE = re.compile(r"""\b(?:table|relation) ["'`\[]?([A-Za-z_]\w*)""", re.IGNORECASE)
_EXTRA = frozenset(
    "extra_forbidden unexpected_keyword_argument additionalproperties unknown_field unrecognized_keys".split()
)
_REQUIRED = frozenset("missing required missing_argument missing_keyword_only_argument".split())
_PLACES = frozenset("body query path params arguments input".split())


def unknown_name(answer: Json) -> UnknownName | None:
    """The name that an error says there is none of: a column's first, else a parameter's; None in any other case."""
    text = "\n".join(texts(answer))
    column = _first(_COLUMNS, text)
    if column is not None:
        return UnknownName(column)
    entries = tuple(_entries(answer))
    extra = next((name for kind, name in entries if kind in _EXTRA), None) or _first(_PARAMETERS, text)
    if extra is None:
        return None
    lacking = [name for kind, name in entries if kind in _REQUIRED]
    lacking += [found[1] for pattern in _LACKING for found in pattern.finditer(text)]
    return UnknownName(extra, True, tuple(dict.fromkeys(lacking)))


def missing_column(answer: Json) -> str | None:
    """The name that an error says no column has; None if it is about anything else."""
    found = unknown_name(answer)
    return found.name if found is not None and not found.is_parameter else None


def table_in(error: Json) -> str | None:
    """The table that an error speaks of, by name or as the qualifier of the missing column."""
    named = _TABLE.search("\n".join(texts(error)))
    return named[1] if named else None


def texts(answer: Json) -> Iterator[str]:
    """What an answer says in words, wherever servers put the words of an error."""
    if isinstance(answer, str):
        yield answer
    elif isinstance(answer, list):
        for item in answer:
            yield from texts(item)
    elif isinstance(answer, dict):
        for key in ("error", "errors", "message", "msg", "detail", "details", "hint"):
            yield from texts(answer.get(key))


def _first(patterns: tuple[re.Pattern[str], ...], text: str) -> str | None:
    found = next((match for pattern in patterns if (match := pattern.search(text))), None)
    return found[1] if found else None


def _entries(answer: Json) -> Iterator[tuple[str, str]]:
    """Kind and name of each problem in a validator's list of problems."""
    if isinstance(answer, list):
        for item in answer:
            yield from _entries(item)
    elif isinstance(answer, dict):
        for key in ("error", "errors", "detail", "details"):
            yield from _entries(answer.get(key))
        kind = answer.get("type", answer.get("keyword", answer.get("code")))
        name = _parameter_of(answer)
        if isinstance(kind, str) and name is not None:
            yield kind.lower(), name


def _parameter_of(problem: JsonObject) -> str | None:
    """The parameter that one problem is about: the only step of its place that is no place of a request."""
    params, place = problem.get("params"), problem.get("loc")
    if isinstance(params, dict):
        said = params.get("additionalProperty", params.get("missingProperty"))
        return said if isinstance(said, str) else None
    steps = [step for step in place if step not in _PLACES] if isinstance(place, list) else []
    return steps[0] if len(steps) == 1 and isinstance(steps[0], str) else None


_INTEGER = re.compile(r"-?(?:0|[1-9]\d{0,17})")
_NUMBER = re.compile(r"-?(?:0|[1-9]\d{0,17})(?:\.\d{1,18})?")
_TYPES: Mapping[str, str] = {
    **dict.fromkeys(("integer", "int", "whole number"), "integer"),
    **dict.fromkeys(("number", "numeric", "float", "decimal", "double"), "number"),
    **dict.fromkeys(("string", "str", "text"), "string"),
    **dict.fromkeys(("boolean", "bool"), "boolean"),
    **dict.fromkeys(("array", "list"), "array"),
}
_TYPE = "|".join(sorted(_TYPES, key=len, reverse=True))
_WANTED = re.compile(
    rf"(?:must be|should be|expect(?:s|ed)|is not|not|requires?|needs?|wants?|to be|invalid literal for)\s+"
    rf"(?:an? |of |the |type |valid |json |input )*[\"'`]?(?P<type>{_TYPE})\b"
    rf"|(?:(?:could not|cannot|unable to) (?:convert|parse))\b.{{0,60}}?\bto (?P<to>{_TYPE})\b",
    re.IGNORECASE,
)


def names_a_type(error: Json) -> bool:
    """Whether an error says which type a value must have."""
    return _WANTED.search(_text_of(error)) is not None


def with_wanted_types(arguments: JsonObject, error: Json) -> JsonObject | None:
    """The arguments with the values that the error is about in the type that it names; None where that is not plain.

    A value is only written otherwise: ``"42"`` and 42, a single value and a list of it. ``"007"`` stays what it is.
    """
    said = _text_of(error)
    found = _WANTED.search(said)
    if found is None:
        return None
    wanted = _TYPES[(found["type"] or found["to"]).lower()]
    whole = _WANTED.sub("", dumps(error))
    about = [name for name in arguments if re.search(rf"(?<!\w){re.escape(name)}(?!\w)", whole)]
    names = about or ([*arguments] if len(arguments) == 1 else [])
    changed = {name: new for name in names if (new := _convert(arguments[name], wanted)) is not None}
    return {**arguments, **changed} if changed and len(changed) == len(names) else None


def _text_of(error: Json) -> str:
    return " ".join(texts(error))


def _convert(value: Json, wanted: str) -> Json:
    """The value in that type; None where it is of it already, or would not be the same."""
    if wanted == "array":
        return [value] if isinstance(value, str | int | Decimal) and not isinstance(value, bool) else None
    if isinstance(value, list):
        return _single(value, wanted)
    return _CONVERSIONS[wanted](value)


def _single(value: list[Json], wanted: str) -> Json:
    if len(value) != 1 or isinstance(value[0], list | dict):
        return None
    return value[0] if _is_of(value[0], wanted) else _CONVERSIONS[wanted](value[0])


def _is_of(value: Json, wanted: str) -> bool:
    types: Mapping[str, tuple[type, ...]] = {
        "integer": (int,),
        "number": (int, Decimal),
        "string": (str,),
        "boolean": (bool,),
    }
    return isinstance(value, types[wanted]) and (wanted == "boolean" or not isinstance(value, bool))


def _to_integer(value: Json) -> Json:
    if isinstance(value, Decimal) and value == value.to_integral_value():
        return int(value)
    return int(value) if isinstance(value, str) and _INTEGER.fullmatch(value.strip()) else None


def _to_number(value: Json) -> Json:
    if not isinstance(value, str) or not _NUMBER.fullmatch(value.strip()):
        return None
    return _to_integer(value) if "." not in value else Decimal(value.strip())


def _to_string(value: Json) -> Json:
    return dumps(value) if isinstance(value, int | Decimal) and not isinstance(value, bool) else None


def _to_boolean(value: Json) -> Json:
    return {"true": True, "false": False}.get(value.strip().lower()) if isinstance(value, str) else None


_CONVERSIONS: Mapping[str, Callable[[Json], Json]] = {
    "integer": _to_integer,
    "number": _to_number,
    "string": _to_string,
    "boolean": _to_boolean,
}

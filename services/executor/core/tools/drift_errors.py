"""What an error says of a name that the server does not know: the wordings of databases, validators and people."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from shared.domain.exact_json import Json, JsonObject


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

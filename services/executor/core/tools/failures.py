"""What an error answer means: whether the call may be repeated or changed, an unknown name, a wrong type.

It knows the wordings of databases, validators and people. Values are only converted to another type, without loss.
"""

import re
from collections.abc import Iterator, Mapping
from decimal import Decimal
from enum import StrEnum
from typing import NamedTuple

from services.executor.ports.tools import ToolAnswer
from shared.domain.exact_json import Json, JsonObject, dumps

_STATUS_PREFIX_REGEX = r"(?:http|status|code)(?:[ _]?code)?\W{0,3}"
_MOST_ERROR_CHARACTERS = 2_000  # characters of an error that are looked at
_ERROR_KEYS_TO_SKIP = frozenset("params arguments input request data payload received value session_id tool".split())
_WORD_FOR_TOOL_REGEX = r"(?:tools?|methods?|functions?|operations?|endpoints?|commands?)"
_TOOL_ABSENT_REGEX = (
    r"(?:(?:was |is )?not (?:found|available|supported|registered)|(?:does not|doesn't) exist|no longer exists"
    r"|(?:was|has been) (?:removed|retired|renamed|withdrawn))\b"
)
_NOT_FOUND_PHRASE_PATTERN = re.compile(
    r"\bnot found\b|\b(?:does not|doesn't) exist\b|\bno such (?!column|field|table|parameter|argument)\w+"
    r"|\bunknown (?!column|field|table|parameter|argument)[a-z]+:? \S*\d"
    r"|\bno (?:record|row|entry|match|result)s? (?:was |were )?(?:found|matches|with)\b"
    r"|\b(?:http|status|code|error)(?: code)?:? ?404\b",
    re.IGNORECASE,
)


class ReadFailureKind(StrEnum):
    """The kind of a read's failure. ``found: false`` and an empty list are answers, and no failures."""

    FOR_THE_MOMENT = "for the moment"  # the server is busy, slow, limits calls, or had an error of its own
    NOT_PERMITTED = "not permitted"  # the caller may not: final, and nothing is asked in its place
    TOOL_GONE = "tool gone"  # there is no such tool any more
    TOO_MUCH = "too much"  # more was asked for in one call than the server gives
    WRONG_TYPE = "wrong type"  # a value came in another type than the server takes
    NOT_FOUND = "not found"  # the tool works, and has no such record
    OTHER = "other"  # refused, or called wrongly: final, and the model is told the reason


def _compile_any_of(*patterns: str) -> re.Pattern[str]:
    return re.compile(rf"(?:{'|'.join(patterns)})", re.IGNORECASE)


# Tried in this order.
_FAILURE_PATTERNS: Mapping[ReadFailureKind, re.Pattern[str]] = {
    ReadFailureKind.FOR_THE_MOMENT: _compile_any_of(
        r"\btoo many requests\b|\brate.?limit|\b(?:http|status|code|error)(?: code)?:? ?(?:429|50[0234])\b"
        r"|\btemporar(?:il)?y (?:unavailable|overloaded|failure)|\bservice unavailable\b|\binternal server error\b"
        r"|\bbad gateway\b|\bgateway time-?out\b|\boverloaded\b|\b(?:try|retry) again (?:later|shortly|in)\b"
        r"|\bdatabase is locked\b|\bdeadlock detected\b|\b(?:server|database) is busy\b"
        r"|\b(?:request|query|statement|connection|operation|call|read|server|it) (?:has )?timed[ -]?out\b"
        r"|^timed? ?out\b"
        r"|\b(?:request|query|statement|read|gateway|lock wait) time-?out\b|\bdeadline exceeded\b|\betimedout\b"
    ),
    ReadFailureKind.NOT_PERMITTED: _compile_any_of(
        r"\bpermission (?:denied|required)|\baccess (?:is |was )?(?:denied|forbidden|not (?:allowed|granted))\b"
        r"|\bun-?authori[sz]ed\b|\bnot (?:authori[sz]ed|permitted|entitled)\b|\b403 forbidden\b|^forbidden\b"
        r"|\b(?:http|status|code|error)(?: code)?:? ?40[13]\b"
        r"|\b(?:lacks?|missing|insufficient|no|without) (?:the )?(?:required )?"
        r"(?:permissions?|privileges?|rights|scopes?|role)\b"
        r"|\bnot (?:available|allowed) (?:for|to) (?:your|this) (?:role|user|account|tenant)\b"
    ),
    ReadFailureKind.TOOL_GONE: _compile_any_of(
        rf"\b(?:no such|unknown|unrecogni[sz]ed|undefined|unsupported) {_WORD_FOR_TOOL_REGEX}\b"
        rf"|\b{_WORD_FOR_TOOL_REGEX}:? (?:[\"'`]?[\w.:/-]+[\"'`]? )?{_TOOL_ABSENT_REGEX}"
        rf"|\bthere is no {_WORD_FOR_TOOL_REGEX}\b|\bis not a (?:known |valid )?{_WORD_FOR_TOOL_REGEX}\b"
    ),
    ReadFailureKind.TOO_MUCH: _compile_any_of(
        r"\btoo many (?:ids|items|records|keys|values|entries)\b"
        r"|\b(?:batch|bulk)\b.*\b(?:not supported|too large|too big)\b"
        r"|\bat most \d+ (?:ids|items|records|keys|values|entries)\b|\bone (?:id|item|record) at a time\b"
    ),
}
# One word of an open failure outweighs every reason that is given beside it.
_UNCLEAR_FAILURE_PATTERN = _compile_any_of(
    rf"\b{_STATUS_PREFIX_REGEX}(?:408|409|429|5\d\d)\b",
    r"\btime[d-]?[ -]?out\b|\bdeadline exceeded\b|\bETIMEDOUT\b|\bbad gateway\b",
    r"\binternal\b.{0,20}\b(?:error|failure)\b|\bunexpected (?:error|failure|condition)\b",
    r"\bunhandled\b|\bexception\b|\btraceback\b|\bpanic\b",
    r"\bconnection\b.{0,20}\b(?:reset|closed|lost|refused|aborted)\b|\bECONN\w+|\bbroken pipe\b",
    r"\b(?:service|server|system|backend|database|temporarily)\b.{0,12}\bunavailable\b",
    r"\boverloaded\b|\bbusy\b|\b(?:database|table|row|record) is locked\b|\bdeadlock\b",
    r"\btry again\b|\bretry\b|\brate.?limit|\btoo many requests\b|\bthrottl|\bpartial(?:ly)?\b",
    # What it met may be an earlier sending of the same call.
    r"\balready (?:exists?|been|processed|submitted|received|in progress)\b|\bduplicate\b|\bconflict\b",
    r"\bunique constraint\b",
)
_REASON_FOR_REFUSAL_PATTERN = _compile_any_of(
    rf"\b{_STATUS_PREFIX_REGEX}(?:400|401|402|403|404|405|406|410|411|413|414|415|422|451)\b",
    r"\bbad request\b|\bunauthori[sz]ed\b|\bforbidden\b|\bunprocessable\b|\b(?:permission|access) denied\b",
    r"\bvalidation\b|\binvalid\b|\bmalformed\b|\bnot a valid\b|\bmust (?:be|not|have|match|contain)\b",
    r"\b(?:is|are) (?:required|missing|mandatory)\b|\b(?:unknown|unexpected|missing|required) \w* ?\w* ?"
    r"(?:arguments?|parameters?|fields?|propert(?:y|ies)|ids?)\b",
    r"\bconstraint violat|\bviolates\b|\bpolicy\b.{0,40}\b(?:forbids?|prohibits?|violat)",
    r"\bnot (?:allowed|permitted|authori[sz]ed|eligible|possible|found|supported|enough|open|available)\b",
    r"\b(?:cannot|can't|can not|may not) be \w+|\bno such\b|\b(?:does not|doesn't) exist\b|\balready\b",
    r"\binsufficient\b|\bexceeds?\b|\bover the limit\b|\bout of (?:stock|range)\b|\bis unavailable\b",
    r"\btoo (?:long|short|large|small|late|early|many|few|high|low)\b",
    r"\bdeclined\b|\brejected\b|\brefused\b|\bdenied\b|\bprohibited\b|\bdisallowed\b|\bonly \w+ (?:may|can)\b",
)
_RECORD_NOT_FOUND_PATTERN = _compile_any_of(
    r"\bnot[ _]found\b",
    r"\bno such\b",
    r"\bdoes(?: not|n't) exist\b",
    rf"\b{_STATUS_PREFIX_REGEX}404\b",
    r"\bno \w+ with (?:the )?id\b",
)
_TIMEOUT_MESSAGE_PATTERN = _compile_any_of(
    rf"\b{_STATUS_PREFIX_REGEX}(?:408|504)\b",
    r"\btimed[ -]?out\b|\bdeadline exceeded\b|\bETIMEDOUT\b|^\W*time-?out\W*$",
    r"\b(?:gateway|upstream|backend|server|request|query|statement|connection|operation|lock wait) time-?out\b",
)
_WORD_FOR_TOOL_OR_COLUMN_PATTERN = _compile_any_of(
    r"\b(?:tool|method|function|endpoint|operation|route|column|table|field)s?\b"
)


def says_refused(error: Json) -> bool:
    """Whether an error says that its write was turned down, and no word leaves open whether it was written."""
    text = _join_all_texts(error)
    return bool(_REASON_FOR_REFUSAL_PATTERN.search(text)) and not _UNCLEAR_FAILURE_PATTERN.search(text)


def says_timed_out(error: Json) -> bool:
    """Whether an error says that a system behind the server did not answer in time, and may still act."""
    return bool(_TIMEOUT_MESSAGE_PATTERN.search(_join_all_texts(error)))


def says_record_absent(error: Json) -> bool:
    """Whether an error answer to a read says that the record does not exist, and speaks of no tool, table or field."""
    text = _join_all_texts(error)
    return bool(_RECORD_NOT_FOUND_PATTERN.search(text)) and not _WORD_FOR_TOOL_OR_COLUMN_PATTERN.search(text)


def _join_all_texts(error: Json) -> str:
    return " ; ".join(_list_all_texts(error)).replace("_", " ")[:_MOST_ERROR_CHARACTERS]


def _list_all_texts(error: Json, name: str = "") -> Iterator[str]:
    if isinstance(error, dict):
        for key, value in error.items():
            yield from _list_all_texts(value, key) if key not in _ERROR_KEYS_TO_SKIP else ()
    elif isinstance(error, list):
        for part in error:
            yield from _list_all_texts(part, name)
    elif isinstance(error, str):
        yield error
    elif isinstance(error, int) and not isinstance(error, bool):
        yield f"{name} {error}"  # "status": 422


def has_failed(answer: ToolAnswer) -> bool:
    """Whether an answer is an error by the protocol, or an object with a field ``error`` that is not empty."""
    return answer.is_error or (isinstance(answer.content, dict) and bool(answer.content.get("error")))


def classify_failure(answer: ToolAnswer) -> ReadFailureKind | None:
    """The kind of a read's failure, ``NOT_FOUND`` for an error that says so; None if it did not fail, even if empty."""
    if not has_failed(answer) or _is_data_despite_error(answer):
        return None
    content = answer.content
    error: Json = {"error": content["error"]} if isinstance(content, dict) and "error" in content else content
    message = _join_error_texts(error)  # without what is beside it
    for kind, pattern in _FAILURE_PATTERNS.items():
        if pattern.search(message):
            return kind
    # The tool is there and answered: something was wrong with the call.
    if find_unknown_name(answer.content) is not None:
        return ReadFailureKind.OTHER
    if _WRONG_TYPE_MESSAGE_PATTERN.search(message):
        return ReadFailureKind.WRONG_TYPE
    return ReadFailureKind.NOT_FOUND if _NOT_FOUND_PHRASE_PATTERN.search(message) else ReadFailureKind.OTHER


def _is_data_despite_error(answer: ToolAnswer) -> bool:
    """Whether an answer is data although it has an ``error`` field: a record, or a text beside ``found: false``."""
    content = answer.content
    return not answer.is_error and isinstance(content, dict) and ("id" in content or content.get("found") is False)


def echoes_call(tool: str, content: Json) -> bool:
    """Whether an answer only repeats the call: ``{"status": ..., "tool": its name, "params": its arguments}``."""
    if not isinstance(content, dict) or content.get("tool") != tool:
        return False
    return isinstance(content.get("params"), dict) and set(content) <= {"status", "tool", "params", "session_id"}


class UnknownName(NamedTuple):
    """A name that a server refused. ``missing_parameters``: required ones that the same error calls missing."""

    name: str
    is_parameter: bool = False
    missing_parameters: tuple[str, ...] = ()


_COLUMN_REGEX = r"(?:column|field|attribute|property)"
_PARAMETER_REGEX = r"(?:(?:keyword |input )?(?:parameter|param|argument|arg|option))"
_NOT_A_GRAMMAR_WORD_REGEX = r"(?!(?:in|on|of|for|with|named?|called|the|is|was|does|not|found)\b)"
_ANY_NAME_REGEX = rf"""["'`\[]?(?<![\w.]){_NOT_A_GRAMMAR_WORD_REGEX}([A-Za-z_](?:[\w.]*\w)?)["'`\]]?"""
_OF_TABLE_PHRASE_REGEX = r"""(?: (?:of|in) (?:the )?(?:relation|table) ["'`]?\w+["'`]?)?"""
_NAME_ABSENT_REGEX = r"(?:(?:does not|doesn't) exist|(?:was |is )?(?:not found|unknown|not recogni[sz]ed|not defined))"
_NAME_UNEXPECTED_REGEX = (
    r"(?:(?:was |is )?(?:unknown|unexpected|not recogni[sz]ed|not supported|not allowed|not expected))"
)
_QUOTED_NAME_REGEX = r"""["'`]([A-Za-z_]\w*)["'`]"""


def _compile_patterns(*patterns: str) -> tuple[re.Pattern[str], ...]:
    return tuple(re.compile(pattern, re.IGNORECASE | re.MULTILINE) for pattern in patterns)


_UNKNOWN_COLUMN_PATTERNS = _compile_patterns(
    rf"\b(?:no such|unknown|unrecogni[sz]ed|undefined|nonexistent) {_COLUMN_REGEX}(?: name)?:? {_ANY_NAME_REGEX}",
    rf"\binvalid column(?: name)?:? {_ANY_NAME_REGEX}",
    rf"\b{_COLUMN_REGEX} {_ANY_NAME_REGEX}{_OF_TABLE_PHRASE_REGEX} {_NAME_ABSENT_REGEX}",
    rf"\b{_COLUMN_REGEX} not found:? {_ANY_NAME_REGEX}",
    rf"\b(?:no|has no|there is no) {_COLUMN_REGEX}(?: named| called)? {_ANY_NAME_REGEX}",
    rf"{_ANY_NAME_REGEX} is (?:not a|no)(?: valid| known)? {_COLUMN_REGEX}\b",
    rf"{_ANY_NAME_REGEX}: invalid identifier\b",
    r"\bKeyError:? ['\"]([A-Za-z_][\w.]*)['\"]",
)
_UNKNOWN_PARAMETER_PATTERNS = _compile_patterns(
    r"^([A-Za-z_]\w*)[^\S\n]*+\n\s++(?:Extra inputs are not permitted|Unexpected keyword argument)\b",
    rf"\badditional properties are not allowed \({_QUOTED_NAME_REGEX}(?:, '\w+')* (?:was|were) unexpected\)",
    rf"\bunexpected (?:additional )?propert(?:y|ies):? {_ANY_NAME_REGEX}",
    rf"\b(?:no such|unknown|unrecogni[sz]ed|unsupported|unexpected|undefined) {_PARAMETER_REGEX}(?: name)?:? "
    + _ANY_NAME_REGEX,
    rf"\b{_PARAMETER_REGEX} {_ANY_NAME_REGEX} {_NAME_UNEXPECTED_REGEX}",
    rf"\b(?:no|there is no) {_PARAMETER_REGEX}(?: named| called)? {_ANY_NAME_REGEX}",
    rf"{_ANY_NAME_REGEX} is (?:not a|no)(?: valid| known)? {_PARAMETER_REGEX}\b",
    r"\bdoes not (?:take|accept|have)(?: an?| the)? " + _PARAMETER_REGEX + rf"(?: named| called)? {_ANY_NAME_REGEX}",
)
_MISSING_FIELD_PATTERNS = _compile_patterns(
    rf"{_QUOTED_NAME_REGEX} is a required property",
    rf"\bmust have required property {_QUOTED_NAME_REGEX}",
    rf"\bmissing (?:\d+ )?(?:required )?(?:positional |keyword-only )?{_PARAMETER_REGEX}s?:? {_ANY_NAME_REGEX}",
    rf"\b{_PARAMETER_REGEX} {_ANY_NAME_REGEX} (?:is|was) (?:required|missing)",
    rf"\b(?:field|property) {_QUOTED_NAME_REGEX} is (?:required|missing)",
    r"^([A-Za-z_]\w*)[^\S\n]*+\n\s++(?:Field required|Missing required (?:keyword only |positional )?argument)\b",
)
_TABLE_NAME_PATTERN = re.compile(r"""\b(?:table|relation) ["'`\[]?([A-Za-z_]\w*)""", re.IGNORECASE)
_EXTRA_FIELD_KINDS = frozenset(
    "extra_forbidden unexpected_keyword_argument additionalproperties unknown_field unrecognized_keys".split()
)
_MISSING_FIELD_KINDS = frozenset("missing required missing_argument missing_keyword_only_argument".split())
_ARGUMENT_PLACES = tuple("body query path params arguments input".split())  # among steps of any type


def find_unknown_name(answer: Json) -> UnknownName | None:
    """The name that an error calls unknown: a column's, else a parameter's; None for any other error."""
    text = "\n".join(_list_error_texts(answer))
    column = _find_first_match(_UNKNOWN_COLUMN_PATTERNS, text)
    if column is not None:
        return UnknownName(column)
    entries = tuple(_find_validation_problems(answer))
    extra = next((name for kind, name in entries if kind in _EXTRA_FIELD_KINDS), None)
    extra = extra or _find_first_match(_UNKNOWN_PARAMETER_PATTERNS, text)
    if extra is None:
        return None
    missing = [name for kind, name in entries if kind in _MISSING_FIELD_KINDS]
    missing += [match[1] for pattern in _MISSING_FIELD_PATTERNS for match in pattern.finditer(text)]
    return UnknownName(extra, True, tuple(dict.fromkeys(missing)))


def find_table_name(error: Json) -> str | None:
    """The name that follows "table" or "relation" in an error's texts; None if there is none."""
    match = _TABLE_NAME_PATTERN.search("\n".join(_list_error_texts(error)))
    return match[1] if match else None


def _list_error_texts(answer: Json) -> Iterator[str]:
    """Yields an error's texts: a text itself, and those under ``error``, ``message``, ``detail`` and the like."""
    if isinstance(answer, str):
        yield answer
    elif isinstance(answer, list):
        for part in answer:
            yield from _list_error_texts(part)
    elif isinstance(answer, dict):
        for key in ("error", "errors", "message", "msg", "detail", "details", "hint"):
            yield from _list_error_texts(answer.get(key))


def _find_first_match(patterns: tuple[re.Pattern[str], ...], text: str) -> str | None:
    matches = (pattern.search(text) for pattern in patterns)
    return next((match[1] for match in matches if match), None)


def _find_validation_problems(answer: Json) -> Iterator[tuple[str, str]]:
    """Yields the kind, in lower case, and the parameter's name of each problem in a validator's list of problems."""
    if isinstance(answer, list):
        for part in answer:
            yield from _find_validation_problems(part)
    elif isinstance(answer, dict):
        for key in ("error", "errors", "detail", "details"):
            yield from _find_validation_problems(answer.get(key))
        kind = answer.get("type", answer.get("keyword", answer.get("code")))
        name = _find_parameter_name(answer)
        if isinstance(kind, str) and name is not None:
            yield kind.lower(), name


def _find_parameter_name(problem: JsonObject) -> str | None:
    """The one parameter that a validator's problem is about; None if it names no single one."""
    params, location = problem.get("params"), problem.get("loc")
    if isinstance(params, dict):
        parameter = params.get("additionalProperty", params.get("missingProperty"))
        return parameter if isinstance(parameter, str) else None
    steps = [step for step in location if step not in _ARGUMENT_PLACES] if isinstance(location, list) else []
    return steps[0] if len(steps) == 1 and isinstance(steps[0], str) else None


_INTEGER_PATTERN = re.compile(r"-?(?:0|[1-9]\d{0,17})")
_NUMBER_PATTERN = re.compile(r"-?(?:0|[1-9]\d{0,17})(?:\.\d{1,18})?")
_TYPE_BY_WORD: Mapping[str, str] = {
    **dict.fromkeys(("integer", "int", "whole number"), "integer"),
    **dict.fromkeys(("number", "numeric", "float", "decimal", "double"), "number"),
    **dict.fromkeys(("string", "str", "text"), "string"),
    **dict.fromkeys(("boolean", "bool"), "boolean"),
    **dict.fromkeys(("array", "list"), "array"),
}
_ANY_TYPE_WORD = "|".join(sorted(_TYPE_BY_WORD, key=len, reverse=True))
_WRONG_TYPE_MESSAGE_PATTERN = re.compile(
    rf"(?:must be|should be|expect(?:s|ed)|is not|not|requires?|needs?|wants?|to be|invalid literal for)\s+"
    rf"(?:an? |of |the |type |valid |json |input )*[\"'`]?(?P<type>{_ANY_TYPE_WORD})\b"
    rf"|(?:(?:could not|cannot|unable to) (?:convert|parse))\b.{{0,60}}?\bto (?P<to>{_ANY_TYPE_WORD})\b",
    re.IGNORECASE,
)


def convert_to_wanted_types(arguments: JsonObject, error: Json) -> JsonObject | None:
    """The arguments, of which those that the error names (or the only one) have the type that it wants: 42 for
    ``"42"``. None if it is unclear which, or one has that type already or would lose something.
    """
    complaint = _WRONG_TYPE_MESSAGE_PATTERN.search(_join_error_texts(error))
    if complaint is None:
        return None
    wanted_type = _TYPE_BY_WORD[(complaint["type"] or complaint["to"]).lower()]
    other_text = _WRONG_TYPE_MESSAGE_PATTERN.sub("", dumps(error))
    mentioned = [name for name in arguments if re.search(rf"(?<!\w){re.escape(name)}(?!\w)", other_text)]
    names = mentioned or ([*arguments] if len(arguments) == 1 else [])
    converted = {name: _convert_if_other_type(arguments[name], wanted_type) for name in names}
    return {**arguments, **converted} if converted and None not in converted.values() else None


def _join_error_texts(error: Json) -> str:
    return " ".join(_list_error_texts(error))


def _convert_if_other_type(value: Json, wanted_type: str) -> Json:
    """The value in the wanted type; None if it has that type already, or would lose something."""
    match value, wanted_type:
        case (bool(), _) | (list(), "array"):
            return None
        case ((str() | int() | Decimal()), "array"):
            return [value]
        case [item], _ if type(item) in _PYTHON_TYPES[wanted_type]:
            return item
        case [str() | int() | Decimal() as item], _:
            return _convert_if_other_type(item, wanted_type)
        case str(text), "boolean":
            return {"true": True, "false": False}.get(text.strip().lower())
        case str(text), ("integer" | "number") if _INTEGER_PATTERN.fullmatch(text.strip()):
            return int(text)
        case str(text), "number" if _NUMBER_PATTERN.fullmatch(text.strip()):
            return Decimal(text.strip())
        case ((int() | Decimal()), "string"):
            return dumps(value)
        case Decimal(), "integer" if value == value.to_integral_value():
            return int(value)
    return None


_PYTHON_TYPES = {"integer": (int,), "number": (int, Decimal), "string": (str,), "boolean": (bool,)}

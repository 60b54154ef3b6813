"""Why a call failed, by what its server said: what may be tried again, what may be tried otherwise, what is final."""

import re
from collections.abc import Iterator
from enum import StrEnum

from services.executor.core.tools.call_errors import names_a_type, texts, unknown_name
from services.executor.ports.tools import ToolAnswer
from shared.domain.exact_json import Json

_STATUS = r"(?:http|status|code)(?:[ _]?code)?\W{0,3}"
_LONGEST = 2_000  # characters of an error that are looked at
_DATA = frozenset("params arguments input request data payload received value session_id tool".split())
_TOOL = r"(?:tools?|methods?|functions?|operations?|endpoints?|commands?)"
_ABSENT = (
    r"(?:(?:was |is )?not (?:found|available|supported|registered)|(?:does not|doesn't) exist|no longer exists"
    r"|(?:was|has been) (?:removed|retired|renamed|withdrawn))\b"
)
_GONE = re.compile(
    rf"\b(?:no such|unknown|unrecogni[sz]ed|undefined|unsupported) {_TOOL}\b"
    rf"|\b{_TOOL}:? (?:[\"'`]?[\w.:/-]+[\"'`]? )?{_ABSENT}"
    rf"|\bthere is no {_TOOL}\b|\bis not a (?:known |valid )?{_TOOL}\b",
    re.IGNORECASE,
)
_BUSY = re.compile(
    r"\btoo many requests\b|\brate.?limit|\b(?:http|status|code|error)(?: code)?:? ?(?:429|50[0234])\b"
    r"|\btemporar(?:il)?y (?:unavailable|overloaded|failure)|\bservice unavailable\b|\binternal server error\b"
    r"|\bbad gateway\b|\bgateway time-?out\b|\boverloaded\b|\b(?:try|retry) again (?:later|shortly|in)\b"
    r"|\bdatabase is locked\b|\bdeadlock detected\b|\b(?:server|database) is busy\b"
    r"|\b(?:request|query|statement|connection|operation|call|read|server|it) (?:has )?timed[ -]?out\b|^timed? ?out\b"
    r"|\b(?:request|query|statement|read|gateway|lock wait) time-?out\b|\bdeadline exceeded\b|\betimedout\b",
    re.IGNORECASE,
)
_NOT_PERMITTED = re.compile(
    r"\bpermission (?:denied|required)|\baccess (?:is |was )?(?:denied|forbidden|not (?:allowed|granted))\b"
    r"|\bun-?authori[sz]ed\b|\bnot (?:authori[sz]ed|permitted|entitled)\b|\b403 forbidden\b|^forbidden\b"
    r"|\b(?:http|status|code|error)(?: code)?:? ?40[13]\b"
    r"|\b(?:lacks?|missing|insufficient|no|without) (?:the )?(?:required )?"
    r"(?:permissions?|privileges?|rights|scopes?|role)\b"
    r"|\bnot (?:available|allowed) (?:for|to) (?:your|this) (?:role|user|account|tenant)\b",
    re.IGNORECASE,
)
_NOT_FOUND = re.compile(
    r"\bnot found\b|\b(?:does not|doesn't) exist\b|\bno such (?!column|field|table|parameter|argument)\w+"
    r"|\bunknown (?!column|field|table|parameter|argument)[a-z]+:? \S*\d"
    r"|\bno (?:record|row|entry|match|result)s? (?:was |were )?(?:found|matches|with)\b"
    r"|\b(?:http|status|code|error)(?: code)?:? ?404\b",
    re.IGNORECASE,
)
_TOO_MUCH = re.compile(
    r"\btoo many (?:ids|items|records|keys|values|entries)\b"
    r"|\b(?:batch|bulk)\b.*\b(?:not supported|too large|too big)\b"
    r"|\bat most \d+ (?:ids|items|records|keys|values|entries)\b|\bone (?:id|item|record) at a time\b",
    re.IGNORECASE,
)


class ErrorMeaning(StrEnum):
    """What an error answer says about the write."""

    REFUSED = "refused"  # it was turned down for a reason: nothing was written
    OPEN = "open"  # it may have been written all the same


class Failure(StrEnum):
    """A kind of failure. ``found: false`` and an empty list are none: they are answers."""

    FOR_THE_MOMENT = "for the moment"  # the server is busy, slow, limits calls, or had an error of its own
    NOT_PERMITTED = "not permitted"  # the caller may not: final, and nothing is asked in its place
    TOOL_GONE = "tool gone"  # there is no such tool any more
    TOO_MUCH = "too much"  # more was asked for in one call than the server gives
    WRONG_TYPE = "wrong type"  # a value came in another type than the server takes
    NOT_FOUND = "not found"  # the tool works, and has no such record
    OTHER = "other"  # refused, or called wrongly: final, and the model is told the reason


def _any_of(*patterns: str) -> re.Pattern[str]:
    return re.compile(rf"(?:{'|'.join(patterns)})", re.IGNORECASE)


# Tried in this order: one word of an open failure outweighs every reason that is given beside it.
_TABLE: tuple[tuple[ErrorMeaning, re.Pattern[str]], ...] = (
    (
        ErrorMeaning.OPEN,
        _any_of(
            rf"\b{_STATUS}(?:408|409|429|5\d\d)\b",
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
        ),
    ),
    (
        ErrorMeaning.REFUSED,
        _any_of(
            rf"\b{_STATUS}(?:400|401|402|403|404|405|406|410|411|413|414|415|422|451)\b",
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
        ),
    ),
)
_REFUSED_BY_KIND = _any_of(
    r"\bnot[ _]found\b",
    r"\bno such\b",
    r"\bdoes(?: not|n't) exist\b",
    rf"\b{_STATUS}404\b",
    r"\bno \w+ with (?:the )?id\b",
)
_OUT_OF_TIME = _any_of(
    rf"\b{_STATUS}(?:408|504)\b",
    r"\btimed[ -]?out\b|\bdeadline exceeded\b|\bETIMEDOUT\b|^\W*time-?out\W*$",
    r"\b(?:gateway|upstream|backend|server|request|query|statement|connection|operation|lock wait) time-?out\b",
)

_OF_TOOL = _any_of(r"\b(?:tool|method|function|endpoint|operation|route|column|table|field)s?\b")


def classify_error(error: Json) -> ErrorMeaning:
    """What an error answer says of the write, by its words; what repeats the call is not heard."""
    said = _collect_text(error)
    return next((meaning for meaning, pattern in _TABLE if pattern.search(said)), ErrorMeaning.OPEN)


def says_out_of_time(error: Json) -> bool:
    """Whether an error says that somebody behind the server did not answer it in time, and may still act."""
    return bool(_OUT_OF_TIME.search(_collect_text(error)))


def says_absent(error: Json) -> bool:
    """Whether an error answer to a read says that the record is not there."""
    said = _collect_text(error)
    return bool(_REFUSED_BY_KIND.search(said)) and not _OF_TOOL.search(said)


def _collect_text(error: Json) -> str:
    return " ; ".join(_texts(error)).replace("_", " ")[:_LONGEST]


def _texts(error: Json, name: str = "") -> Iterator[str]:
    if isinstance(error, dict):
        for key, value in error.items():
            yield from _texts(value, key) if key not in _DATA else ()
    elif isinstance(error, list):
        for item in error:
            yield from _texts(item, name)
    elif isinstance(error, str):
        yield error
    elif isinstance(error, int) and not isinstance(error, bool):
        yield f"{name} {error}"  # "status": 422


_KINDS = (
    (_BUSY, Failure.FOR_THE_MOMENT),
    (_NOT_PERMITTED, Failure.NOT_PERMITTED),
    (_GONE, Failure.TOOL_GONE),
    (_TOO_MUCH, Failure.TOO_MUCH),
)


def has_failed(answer: ToolAnswer) -> bool:
    """Whether an answer says that the call failed, in whichever way."""
    return answer.is_error or (isinstance(answer.content, dict) and bool(answer.content.get("error")))


def failure_of(answer: ToolAnswer) -> Failure | None:
    """The kind of failure; None for an answer, also for one that says that there is nothing."""
    if not has_failed(answer) or _is_a_record(answer):
        return None
    said = " ".join(texts(_error_content(answer.content)))
    for pattern, kind in _KINDS:
        if pattern.search(said):
            return kind
    return _of_a_call(answer.content, said)


def _of_a_call(content: Json, said: str) -> Failure:
    """Of a tool that is there and answered: what was wrong with the call."""
    if unknown_name(content) is not None:
        return Failure.OTHER
    if names_a_type(_error_content(content)):
        return Failure.WRONG_TYPE
    return Failure.NOT_FOUND if _NOT_FOUND.search(said) else Failure.OTHER


def _is_a_record(answer: ToolAnswer) -> bool:
    """A field called ``error`` of a record that was found, or words beside ``found: false``, tell no failure."""
    content = answer.content
    return not answer.is_error and isinstance(content, dict) and ("id" in content or content.get("found") is False)


def _error_content(content: Json) -> Json:
    """An answer that has data beside its error is judged by its error alone."""
    return content if not isinstance(content, dict) or "error" not in content else {"error": content["error"]}


def is_echo(tool: str, content: Json) -> bool:
    """Whether an answer is ``{"status": ..., "tool": the tool, "params": what it was called with}``."""
    if not isinstance(content, dict) or content.get("tool") != tool:
        return False
    return isinstance(content.get("params"), dict) and set(content) <= {"status", "tool", "params", "session_id"}

"""Which errors plainly say that a call was refused before anything was written, and which leave it open (I3, I4).

The table is the whole rule (docs/decisions/0040). An error is a refusal if it names what is wrong with the call and
says nothing of a failure of the server's own; whatever the table does not know is open.
"""

import re
from collections.abc import Iterator
from enum import StrEnum

from shared.domain.exact_json import Json


class ErrorMeaning(StrEnum):
    """What an error answer says about the write."""

    REFUSED = "refused"  # it was turned down for a reason: nothing was written
    OPEN = "open"  # it may have been written all the same


def _any_of(*patterns: str) -> re.Pattern[str]:
    return re.compile(rf"(?:{'|'.join(patterns)})", re.IGNORECASE)


_STATUS = r"(?:http|status|code)(?:[ _]?code)?\W{0,3}"
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
_ABSENT = _any_of(
    r"\bnot[ _]found\b",
    r"\bno such\b",
    r"\bdoes(?: not|n't) exist\b",
    rf"\b{_STATUS}404\b",
    r"\bno \w+ with (?:the )?id\b",
)
_OF_TOOL = _any_of(r"\b(?:tool|method|function|endpoint|operation|route|column|table|field)s?\b")
_LONGEST = 2_000  # characters of an error that are looked at
_DATA = frozenset("params arguments input request data payload received value session_id tool".split())


def classify_error(error: Json) -> ErrorMeaning:
    """What an error answer says of the write, by its words; what repeats the call is not heard."""
    said = _collect_text(error)
    return next((meaning for meaning, pattern in _TABLE if pattern.search(said)), ErrorMeaning.OPEN)


def says_absent(error: Json) -> bool:
    """Whether an error answer to a read says that the record is not there."""
    said = _collect_text(error)
    return bool(_ABSENT.search(said)) and not _OF_TOOL.search(said)


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

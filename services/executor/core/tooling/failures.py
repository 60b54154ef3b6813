"""Why a call failed, by what its server said: what may be tried again, what may be tried otherwise, what is final."""

import re
from enum import StrEnum

from services.executor.core.tooling.drift_errors import texts
from services.executor.ports.tools import ToolAnswer
from shared.domain.exact_json import Json


class Failure(StrEnum):
    """A kind of failure. "Not found" and an empty list are none: they are answers."""

    FOR_THE_MOMENT = "for the moment"  # the server is busy, limits calls, or had an error of its own
    TOOL_GONE = "tool gone"  # there is no such tool any more
    TOO_MUCH = "too much"  # more was asked for in one call than the server gives
    OTHER = "other"  # refused, or called wrongly: final, and the model is told the reason


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
    r"|\bdatabase is locked\b|\bdeadlock detected\b|\b(?:server|database) is busy\b",
    re.IGNORECASE,
)
_TOO_MUCH = re.compile(
    r"\btoo many (?:ids|items|records|keys|values|entries)\b"
    r"|\b(?:batch|bulk)\b.*\b(?:not supported|too large|too big)\b"
    r"|\bat most \d+ (?:ids|items|records|keys|values|entries)\b|\bone (?:id|item|record) at a time\b",
    re.IGNORECASE,
)


def has_failed(answer: ToolAnswer) -> bool:
    """Whether an answer says that the call failed, in whichever way."""
    return answer.is_error or (isinstance(answer.content, dict) and bool(answer.content.get("error")))


def failure_of(answer: ToolAnswer) -> Failure | None:
    """The kind of failure; None for an answer, also for one that says that there is nothing."""
    if not has_failed(answer) or _is_a_record(answer):
        return None
    said = " ".join(texts(_said(answer.content)))
    for pattern, kind in ((_BUSY, Failure.FOR_THE_MOMENT), (_GONE, Failure.TOOL_GONE), (_TOO_MUCH, Failure.TOO_MUCH)):
        if pattern.search(said):
            return kind
    return Failure.OTHER


def _is_a_record(answer: ToolAnswer) -> bool:
    """A field called ``error`` of a record that was found, or words beside ``found: false``, tell no failure."""
    content = answer.content
    return not answer.is_error and isinstance(content, dict) and ("id" in content or content.get("found") is False)


def _said(content: Json) -> Json:
    """An answer that has data beside its error is judged by its error alone."""
    return content if not isinstance(content, dict) or "error" not in content else {"error": content["error"]}

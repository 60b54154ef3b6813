"""What came of a write: from its result, or from what the loop tells later of a call that it held."""

import re
from collections.abc import Collection, Sequence
from enum import StrEnum
from typing import NamedTuple

from services.planner.core.request import Called, Request, ToolSpec, as_object, objects
from shared.domain.exact_json import Json, JsonObject, dumps, loads

_OUTCOMES = re.compile(r"<outcomes>\s*(?P<body>.*?)\s*</outcomes>", re.S)
_AGAIN = re.compile(r"\bpropose (?:it |them )?(?:again|once you)\b", re.I)
_AFTER = re.compile(r"\b(?:after|until)\b(?P<what>[^.;]+)", re.I)
_GOOD = frozenset({"verified", "sent", "unverified", "done", "made", "completed", "acknowledged", "scheduled", ""})
_TRIES = 2


class WriteState(StrEnum):
    OPEN = "open"  # not called yet, or to be called again
    HELD = "held"  # proposed, and the loop waits for the rest of the plan
    DONE = "done"
    FAILED = "failed"


class WriteOutcome(NamedTuple):
    """``status`` in the loop's own words; ``answer`` is what the server answered; ``again``: the way tried instead."""

    state: WriteState = WriteState.OPEN
    status: str = ""
    note: str = ""
    answer: JsonObject = {}
    again: JsonObject | None = None
    tries: int = 0  # replies that made the call


def outcome_of(tool: ToolSpec, arguments: JsonObject, request: Request) -> WriteOutcome:
    """The outcome of the last equal call; one that failed is tried once another way, if there is one."""
    tried = [call for call in request.calls if call.has_asked(tool.name, arguments)]
    if not tried:
        return WriteOutcome()
    last, tries = _choose_last(tried), len({call.turn for call in tried})
    if not last.failed:
        return outcome_of_call(last, request)
    if _AGAIN.search(_result_text(last)):
        return WriteOutcome() if tries <= _TRIES else WriteOutcome(WriteState.FAILED, "not made", _result_text(last))
    slimmer = _without_optional(tool, arguments, _result_text(last))
    if slimmer != arguments:
        found = outcome_of(tool, slimmer, request)
        return found._replace(again=found.again or slimmer)
    return WriteOutcome(WriteState.FAILED, "failed", _result_text(last), tries=tries)


def asks_for_order(outcome: WriteOutcome, tools: Collection[str]) -> frozenset[str]:
    """Those of the tools after which a refused call may be made, as its refusal says; none after too many tries."""
    if outcome.state != WriteState.FAILED or not 0 < outcome.tries <= _TRIES:
        return frozenset()
    words = {word for match in _AFTER.finditer(outcome.note) for word in re.findall(r"\w+", match["what"])}
    return frozenset(words & {*tools})


def _choose_last(tried: Sequence[Called]) -> Called:
    """Of equal calls of the last reply the one that was taken, else one that may be made again."""
    equal = [call for call in tried if call.turn == tried[-1].turn]
    return min(equal[::-1], key=lambda call: (call.failed, not _AGAIN.search(_result_text(call))))


def outcome_of_call(call: Called, request: Request) -> WriteOutcome:
    said = as_object(call.result)
    if "held" in said:
        known = [one for one in _told_outcomes(request) if one.get("proposal") == said["held"]]
        return _read_outcome(known[-1]) if known else WriteOutcome(WriteState.HELD, "held")
    return _read_outcome(said) if request.guarded and "status" in said else WriteOutcome(WriteState.DONE, "", "", said)


def _read_outcome(said: JsonObject) -> WriteOutcome:
    status = str(said.get("status") or "")
    good = status in _GOOD
    return WriteOutcome(
        WriteState.DONE if good else WriteState.FAILED,
        status,
        str(said.get("note") or ""),
        as_object(said.get("answer")),
    )


def _told_outcomes(request: Request) -> list[JsonObject]:
    found: list[JsonObject] = []
    for match in _OUTCOMES.finditer(request.said):
        try:
            found += objects(loads(match["body"].replace("<\\/", "</")))
        except ValueError:
            continue
    return found


def _result_text(call: Called) -> str:
    return call.result if isinstance(call.result, str) else dumps(call.result)


def _without_optional(tool: ToolSpec, arguments: JsonObject, refused: str) -> JsonObject:
    """The arguments without the optional ones that an error speaks of."""
    return {
        name: value for name, value in arguments.items() if name in tool.required or not _is_named(name, value, refused)
    }


def _is_named(name: str, value: Json, refused: str) -> bool:
    words = {name, *re.findall(r"[\w.-]*\d[\w.-]*", value if isinstance(value, str) else dumps(value))}
    return any(re.search(rf"(?<![\w-]){re.escape(word)}(?![\w-])", refused) for word in words)

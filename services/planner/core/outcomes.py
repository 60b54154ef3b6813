"""The outcome of a write: from its result, or from what the loop reports later of a call that it held."""

import re
from collections.abc import Collection, Sequence
from enum import StrEnum
from typing import NamedTuple

from services.planner.core.request import Called, Request, ToolSpec, as_object, objects
from shared.domain.exact_json import Json, JsonObject, dumps, loads

_OUTCOMES_PATTERN = re.compile(r"<outcomes>\s*(?P<body>.*?)\s*</outcomes>", re.S)
_AGAIN_PATTERN = re.compile(r"\bpropose (?:it |them )?(?:again|once you)\b", re.I)
_AFTER_PATTERN = re.compile(r"\b(?:after|until)\b(?P<what>[^.;]+)", re.I)
_GOOD_WORDS = frozenset(("", *"verified sent unverified done made completed acknowledged scheduled".split()))
_TRIES = 2
REFUSED, NOT_MADE = "refused", "not made"  # statuses in the loop's words


class WriteState(StrEnum):
    OPEN = "open"  # not called yet, or to be called again
    HELD = "held"  # proposed, and the loop waits for the rest of the plan
    DONE = "done"
    FAILED = "failed"


class WriteOutcome(NamedTuple):
    """The outcome of a call. ``status``: in the loop's words; ``answer``: the server's answer; ``again``: the arguments
    of the call to try instead.
    """

    state: WriteState = WriteState.OPEN
    status: str = ""
    note: str = ""
    answer: JsonObject = {}
    again: JsonObject | None = None
    tries: int = 0  # replies that made the call


def outcome_of(tool: ToolSpec, arguments: JsonObject, request: Request) -> WriteOutcome:
    """The outcome of the last equal call; a failed call is tried once more without its optional arguments."""
    tried = [call for call in request.calls if call.has_asked(tool.name, arguments)]
    if not tried:
        return WriteOutcome()
    last, tries = _choose_last(tried), len({call.turn for call in tried})
    if not last.failed:
        return read_outcome(last, request)._replace(tries=tries)
    if _AGAIN_PATTERN.search(_result_text(last)):
        return WriteOutcome() if tries <= _TRIES else WriteOutcome(WriteState.FAILED, NOT_MADE, _result_text(last))
    slimmer = _without_optional(tool, arguments, _result_text(last))
    if slimmer != arguments:
        slimmer_outcome = outcome_of(tool, slimmer, request)
        return slimmer_outcome._replace(again=slimmer_outcome.again or slimmer)
    return WriteOutcome(WriteState.FAILED, "failed", _result_text(last), tries=tries)


def tools_required_first(outcome: WriteOutcome, tools: Collection[str]) -> frozenset[str]:
    """The tools that a refusal requires to be called before the refused call; none after too many tries."""
    if outcome.state != WriteState.FAILED or not 0 < outcome.tries <= _TRIES:
        return frozenset()
    words = {word for match in _AFTER_PATTERN.finditer(outcome.note) for word in re.findall(r"\w+", match["what"])}
    return frozenset(words & {*tools})


def _choose_last(tried: Sequence[Called]) -> Called:
    """Of equal calls of the last reply the one that was taken, else one that may be made again."""
    equal = [call for call in tried if call.turn == tried[-1].turn]
    return min(equal[::-1], key=lambda call: (call.failed, not _AGAIN_PATTERN.search(_result_text(call))))


def read_outcome(call: Called, request: Request) -> WriteOutcome:
    result = as_object(call.result)
    if "held" in result:
        outcomes = [one for one in _parse_outcomes_in_text(request) if one.get("proposal") == result["held"]]
        return _read_outcome(outcomes[-1]) if outcomes else WriteOutcome(WriteState.HELD, "held")
    is_told = request.loop_takes_proposals and "status" in result
    return _read_outcome(result) if is_told else WriteOutcome(WriteState.DONE, answer=result)


def _read_outcome(result: JsonObject) -> WriteOutcome:
    status, note = str(result.get("status") or ""), str(result.get("note") or "")
    state = WriteState.DONE if status in _GOOD_WORDS else WriteState.FAILED
    return WriteOutcome(state, status, note, as_object(result.get("answer")))


def _parse_outcomes_in_text(request: Request) -> list[JsonObject]:
    outcomes: list[JsonObject] = []
    for match in _OUTCOMES_PATTERN.finditer(request.said):
        try:
            outcomes += objects(loads(match["body"].replace("<\\/", "</")))
        except ValueError:
            continue
    return outcomes


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

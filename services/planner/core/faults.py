"""Deliberate faults: replies as an erring model would give them, to test that the guards hold."""

import re
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal

from services.planner.core.records import read_figure
from services.planner.core.request import CALL_NOTE, LOCAL, Call, PlannerReply, Request, objects
from services.planner.core.toolset import Toolset, toolset_of
from shared.domain.exact_json import Json, JsonObject, dumps

NAMES = frozenset(
    "wrong_arithmetic write_before_read wrong_record stale_column ignored_policy repeated_write invented_tool "
    "unasked_write truncated doubting_coverage stops_at".split()
)
_DIGITS_PATTERN = re.compile(r"\d+(?=\D*$)")

Faults = Mapping[str, str]


class UnknownFault(ValueError):
    """No fault has that name; the message lists the names that exist."""


def parse_faults(text: str) -> dict[str, str]:
    """``"repeated_write, write_before_read=some_tool"`` as names with their detail; ``UnknownFault`` otherwise."""
    pairs = [part.strip().partition("=") for part in text.split(",") if part.strip()]
    faults = {name.strip(): detail.strip() for name, _, detail in pairs}
    unknown = sorted(set(faults) - NAMES)
    if unknown:
        raise UnknownFault(f"unknown fault {unknown[0]!r}; known: {', '.join(sorted(NAMES))}")
    return faults


def apply_faults(reply: PlannerReply, request: Request, faults: Faults) -> PlannerReply:
    """The reply with the faults that apply to it. The transport applies ``truncated``."""
    if request.state == "COVERAGE" and "doubting_coverage" in faults:
        return _doubt_first_part(request)
    if not request.state and "stops_at" in faults and faults["stops_at"] in request.said:
        return PlannerReply("Nothing else is needed.")
    if request.state or not reply.calls or not faults:
        return reply
    toolset = toolset_of(request)
    if any(name in toolset.writer_names for name, _ in reply.calls):
        return PlannerReply(calls=_spoil_calls(reply.calls, request, faults, toolset))
    return PlannerReply(calls=_spoil_reads(reply.calls, faults, toolset)) if not request.turns else reply


def _spoil_reads(calls: Sequence[Call], faults: Faults, toolset: Toolset) -> tuple[Call, ...]:
    """The first reads, with or instead of them the calls of an erring model."""
    local = tuple(call for call in calls if call[0] in LOCAL)
    reads = tuple(call for call in calls if call[0] not in LOCAL)
    first_arguments = reads[0][1] if reads else {}
    if "write_before_read" in faults:
        named = faults["write_before_read"] or next((tool.name for tool in toolset.writers), "update_record")
        return (*local, (named, _add_call_note(first_arguments, toolset)), *reads)
    if "invented_tool" in faults:
        return (*local, (faults["invented_tool"] or "invented_look_up", first_arguments))
    if "stale_column" in faults and reads:
        return (*local, (reads[0][0], _rename_arguments(first_arguments)), *reads[1:])
    return tuple(calls)


def _spoil_calls(calls: Sequence[Call], request: Request, faults: Faults, toolset: Toolset) -> tuple[Call, ...]:
    spoilers: dict[str, Callable[[JsonObject], JsonObject]] = {
        "wrong_arithmetic": lambda arguments: {name: _add_one(value, request) for name, value in arguments.items()},
        "wrong_record": lambda arguments: {name: _next_record(value) for name, value in arguments.items()},
        "stale_column": _rename_arguments,
    }
    spoilt = [("invented_write" if "invented_tool" in faults else name, arguments) for name, arguments in calls]
    for spoil in (spoilers[fault] for fault in spoilers if fault in faults):
        spoilt = [(name, spoil(arguments)) for name, arguments in spoilt]
    if "repeated_write" in faults and not _has_failed_write(request, toolset):
        spoilt = [*spoilt, *spoilt]
    if "unasked_write" in faults:
        spoilt = [*spoilt, _unasked_write(spoilt, faults["unasked_write"], toolset)]
    return tuple(spoilt)


def _has_failed_write(request: Request, toolset: Toolset) -> bool:
    """Whether a write of an earlier reply failed: then this reply mends it, and nothing is repeated."""
    return any(call.failed and call.tool in toolset.writer_names for call in request.calls)


def _add_call_note(arguments: JsonObject, toolset: Toolset) -> JsonObject:
    return {**arguments, CALL_NOTE: {"part": 1}} if toolset.loop_takes_proposals else arguments


def _unasked_write(calls: Sequence[Call], named: str, toolset: Toolset) -> Call:
    """A write that nobody asked for, with the arguments of one that somebody did."""
    asked_tools = {name for name, _ in calls}
    other = next((tool.name for tool in toolset.writers if tool.name not in asked_tools), "update_record")
    return named or other, calls[0][1]


def _add_one(value: Json, request: Request) -> Json:
    """A figure that does not stand in the task, one too high."""
    amount = read_figure(value)
    if amount is None or format(amount, "f") in request.task.replace(",", ""):
        return value
    return format(amount + 1, "f") if isinstance(value, str) else _int_if_whole(amount + 1)


def _int_if_whole(amount: Decimal) -> int | Decimal:
    return int(amount) if amount == amount.to_integral_value() and amount.as_tuple().exponent == 0 else amount


def _next_record(value: Json) -> Json:
    """The identifier with a number that is greater by one, such as ``AB-7`` for ``AB-6``."""
    if not isinstance(value, str) or " " in value or not re.search(r"[A-Za-z]\W?\d+$", value):
        return value
    return _DIGITS_PATTERN.sub(lambda match: str(int(match[0]) + 1).zfill(len(match[0])), value)


def _rename_arguments(arguments: JsonObject) -> JsonObject:
    return {(name if name == CALL_NOTE else f"{name}_old"): value for name, value in arguments.items()}


def _doubt_first_part(request: Request) -> PlannerReply:
    """A check that objects to the first part that it is shown."""
    parts = objects(request.section("parts"))
    problems: list[Json] = [{"part": part.get("part"), "why": "it looks wrong"} for part in parts[:1]]
    return PlannerReply(dumps({"agrees": not problems, "problems": problems}))

"""Deliberate behavioural faults: what a model that errs would answer, so that the guards can be seen to hold."""

from collections.abc import Callable, Mapping
from decimal import Decimal

from services.planner.core.request import Request, objects
from services.planner.core.roles import Reply
from shared.domain.exact_json import Json, JsonObject, dumps, loads_object

NAMES = frozenset(
    {
        "wrong_arithmetic",
        "write_before_read",
        "stale_column",
        "ignored_policy",
        "repeated_write",
        "invented_tool",
        "truncated",
        "doubting_audit",
        "few_reads",
    }
)

Faults = Mapping[str, str]
Change = Callable[[list[JsonObject]], list[JsonObject]]


class UnknownFault(ValueError):
    """A fault of that name does not exist; the message names those that do."""


def parse(text: str) -> dict[str, str]:
    """``"repeated_write, write_before_read=some_tool"`` as names with their detail; ``UnknownFault`` otherwise."""
    pairs = [part.strip().partition("=") for part in text.split(",") if part.strip()]
    faults = {name.strip(): detail.strip() for name, _, detail in pairs}
    unknown = sorted(set(faults) - NAMES)
    if unknown:
        raise UnknownFault(f"unknown fault {unknown[0]!r}; known: {', '.join(sorted(NAMES))}")
    return faults


def spoil(reply: Reply, request: Request, faults: Faults) -> Reply:
    """The reply with the faults that concern the request's state. ``truncated`` is the transport's to apply."""
    match request.state:
        case "ASSESS":
            return _assess(reply, request, faults)
        case "COMPUTE" if "wrong_arithmetic" in faults:
            return Reply(_rewritten(reply.text, "values", _off_by_one))
        case "PLAN" if "few_reads" in faults and faults["few_reads"].lower() in request.task.lower():
            return Reply(dumps(_hasty(loads_object(reply.text))))
        case "AUDIT" if "doubting_audit" in faults:
            return _doubted(request)
        case "WRITE PLAN":
            return _planned(reply, faults)
        case _:
            return reply


def _assess(reply: Reply, request: Request, faults: Faults) -> Reply:
    if "write_before_read" in faults and not request.calls:
        return Reply(calls=((faults["write_before_read"] or "update_record", _first_arguments(reply)), *reply.calls))
    if "invented_tool" in faults and not request.calls:
        return Reply(calls=((faults["invented_tool"] or "invented_look_up", _first_arguments(reply)),))
    if "stale_column" in faults and reply.calls and not request.calls:
        tool, arguments = reply.calls[0]
        stale = {f"{name}_old": value for name, value in arguments.items()}
        return Reply(calls=((tool, stale), *reply.calls[1:]))
    return reply


def _first_arguments(reply: Reply) -> JsonObject:
    return reply.calls[0][1] if reply.calls else {}


def _planned(reply: Reply, faults: Faults) -> Reply:
    text = reply.text
    if "invented_tool" in faults:
        text = _rewritten(text, "calls", lambda calls: [{**call, "tool": "invented_write"} for call in calls])
    if "repeated_write" in faults:
        text = _rewritten(text, "calls", lambda calls: [*calls, *({**c, "call_id": f"{c['call_id']}b"} for c in calls)])
    if "stale_column" in faults:
        text = _rewritten(text, "calls", lambda calls: [_stale(call) for call in calls])
    return Reply(text)


def _hasty(planned: JsonObject) -> JsonObject:
    """One read is named, and no other look is wanted. The fault's detail is a word of the tasks that it concerns."""
    reads: list[Json] = [*objects(planned["reads"])[:1]]
    return {**planned, "reads": reads, "look_again": False}


def _doubted(request: Request) -> Reply:
    """An audit that objects to whatever it is shown first."""
    issues: list[Json] = [
        {"value": value["name"], "why": "it looks wrong"} for value in objects(request.section("values"))[:1]
    ]
    return Reply(dumps({"clean": not issues, "issues": issues}))


def _stale(call: JsonObject) -> JsonObject:
    given = loads_object(str(call["arguments_json"]))
    return {**call, "arguments_json": dumps({f"{name}_old": value for name, value in given.items()})}


def _off_by_one(values: list[JsonObject]) -> list[JsonObject]:
    return [{**value, "value": format(Decimal(str(value["value"])) + 1, "f")} for value in values]


def _rewritten(text: str, field: str, change: Change) -> str:
    answer = loads_object(text)
    changed: list[Json] = [*change(objects(answer[field]))]
    return dumps({**answer, field: changed})

"""Every other role: what a schema asks, or the sentence that a model is needed; and the faults on purpose."""

import pytest

from services.planner.core import faults
from services.planner.core.request import Call, PlannerReply, parse_request
from services.planner.core.roles import reply
from shared.domain.exact_json import Json, JsonObject, loads_object
from tests.each_row import each_row
from tests.unit.planner.planner_requests import asked, fact, said, tool, writer


def _with_schema(properties: JsonObject, text: str = "Judge this.") -> JsonObject:
    schema: JsonObject = {"type": "object", "properties": properties, "required": list(properties)}
    body: JsonObject = {
        "messages": [{"role": "user", "content": text}],
        "output_config": {"format": {"type": "json_schema", "schema": schema}},
    }
    return loads_object(reply(parse_request(body)).text)


@pytest.mark.promise("planner.unjudged")
def test_of_what_a_schema_asks_a_choice_is_the_one_that_is_named_and_judgement_and_advice_are_none() -> None:
    """Score 0, marked as unjudged, so that totals can be shown with and without it."""
    details: JsonObject = {"type": "object", "properties": {}}
    answer = _with_schema({"score": {"type": "number"}, "details": details, "why": {"type": "string"}})
    assert (answer["score"], answer["details"]) == (0, {"unjudged": True})
    assert "needs a model" in str(answer["why"])
    kinds: JsonObject = {"type": "string", "enum": ["invoice", "order", "general"]}
    assert _with_schema({"kind": kinds}, "This is about an order.") == {"kind": "order"}
    assert _with_schema({"kind": kinds}, "This is about nothing.") == {"kind": "general"}
    properties: JsonObject = {"tool": {"anyOf": [{"type": "string"}, {"type": "null"}]}, "why": {"type": "string"}}
    assert _with_schema(properties)["tool"] is None


def test_reading_follows_references_and_then_stops() -> None:
    """First what the task names, then what that refers to; no call twice."""
    tools: list[Json] = [tool("get_kite", kite_id="string"), tool("get_pilot", pilot_id="string")]
    task = "What is the pilot of kite KIT-7 called?"
    assert said({"task": task}, tools).calls == (("get_kite", {"kite_id": "KIT-7"}),)
    kite = fact("f1", "get_kite", {"kite_id": "KIT-7"}, {"id": "KIT-7", "pilot_id": "PIL-2"})
    assert said({"task": task, "so_far": [kite]}, tools).calls == (("get_pilot", {"pilot_id": "PIL-2"}),)
    pilot = fact("f2", "get_pilot", {"pilot_id": "PIL-2"}, {"id": "PIL-2", "name": "Ada"})
    assert "Ada" in said({"task": task, "so_far": [kite, pilot]}, tools).text


_READ: tuple[Call, ...] = (("get_kite", {"id": "KIT-7"}), ("get_pilot", {"id": "PIL-2"}))
_WRITE: tuple[Call, ...] = (("approve_kite", {"kite_id": "KIT-7", "fee": "2.50", "_call": {"part": 1}}),)
_TOOLS: list[Json] = [
    tool("get_kite", id="string"),
    tool("get_pilot", id="string"),
    writer("approve_kite", kite_id="string", fee="string"),
    writer("close_kite", kite_id="string"),
]


@each_row(
    ("calls", "fault", "spoiled"),
    (_WRITE, "wrong_arithmetic", (("approve_kite", {**_WRITE[0][1], "fee": "3.50"}),)),
    (_WRITE, "wrong_record", (("approve_kite", {**_WRITE[0][1], "kite_id": "KIT-8"}),)),
    (_WRITE, "repeated_write", (*_WRITE, *_WRITE)),
    (_WRITE, "invented_tool", (("invented_write", _WRITE[0][1]),)),
    (_WRITE, "unasked_write", (*_WRITE, ("close_kite", _WRITE[0][1]))),
    (_WRITE, "stale_column", (("approve_kite", {"kite_id_old": "KIT-7", "fee_old": "2.50", "_call": {"part": 1}}),)),
    (_READ, "stale_column", (("get_kite", {"id_old": "KIT-7"}), _READ[1])),
    (_READ, "stops_at=Approve kite", ()),
    (_READ, "stops_at=Approve boat", _READ),
    (_READ, "invented_tool", (("invented_look_up", {"id": "KIT-7"}),)),
    (_READ, "write_before_read", (("approve_kite", {"id": "KIT-7", "_call": {"part": 1}}), *_READ)),
)
def test_a_fault_spoils_the_replies_that_it_concerns(
    calls: tuple[Call, ...], fault: str, spoiled: tuple[Call, ...]
) -> None:
    """Each switch makes one known mistake; without it nothing is changed."""
    request = asked({"task": "Approve kite KIT-7."}, _TOOLS)
    assert faults.apply_faults(PlannerReply(calls=calls), request, faults.parse_faults(fault)).calls == spoiled
    assert faults.apply_faults(PlannerReply(calls=calls), request, {}).calls == calls


def test_ignored_policy_heeds_no_condition() -> None:
    """The condition does not hold, and the write is proposed all the same."""
    kite = fact("f1", "get_kite", {}, {"id": "KIT-7", "fee": "9.00"})
    sections: dict[str, Json] = {"task": "Approve kite KIT-7 if its fee is under 1.00.", "so_far": [kite]}
    request = asked(sections, [writer("approve_kite", kite_id="string")])
    assert reply(request).calls == ()
    assert reply(request, heedless=True).calls


_PARTS: list[Json] = [{"part": 1, "kind": "do", "quote": "Approve kite KIT-7"}]


@each_row(
    ("name", "arguments", "agrees"),
    [("approve_kite", {"kite_id": "KIT-7"}, True), ("delete_boat", {"boat_id": "BOA-1"}, False)],
)
def test_coverage_is_agreed_to_unless_a_call_does_plainly_something_else(
    name: str, arguments: JsonObject, agrees: bool
) -> None:
    made: Json = [{"part": 1, "tool": name, "arguments": arguments}]
    request = asked({"parts": _PARTS, "calls": made, "values": []}, state="COVERAGE")
    answer = loads_object(reply(request).text)
    assert answer["agrees"] is agrees
    assert bool(answer["problems"]) is not agrees
    doubted = faults.apply_faults(reply(request), request, {"doubting_coverage": ""})
    assert loads_object(doubted.text)["agrees"] is False


@each_row(
    ("quote", "agrees"),
    ("tell Oliver Grant that it was approved", True),
    ("tell Oliver Grant", True),
    ("Approve it", False),
    ("Approve it and say nothing about a grant", False),
)
def test_a_notice_does_what_a_part_asks_that_says_what_it_tells(quote: str, agrees: bool) -> None:
    parts: Json = [{"part": 1, "kind": "do", "quote": quote}]
    made: Json = [
        {"part": 1, "tool": "notify_pilot", "arguments": {"pilot_id": "PIL-2", "message": "It was approved."}}
    ]
    request = asked({"parts": parts, "calls": made, "values": []}, state="COVERAGE")
    assert loads_object(reply(request).text)["agrees"] is agrees


def test_a_read_stands_in_for_another_of_the_same_things_with_the_same_arguments() -> None:
    missing: Json = {"tool": "get_kite", "arguments": {"kite_id": "KIT-7"}}
    readers: list[Json] = [tool("show_boat", kite_id="string"), tool("read_kite", kite_id="string")]
    found = loads_object(reply(asked({"missing": missing, "read_tools": readers}, state="STAND IN")).text)
    none = loads_object(reply(asked({"missing": missing, "read_tools": readers[:1]}, state="STAND IN")).text)
    assert (found["tool"], found["arguments_json"]) == ("read_kite", '{"kite_id":"KIT-7"}')
    assert none["tool"] is None

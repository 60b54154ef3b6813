"""A tool for another kind of thing is no candidate, and a text is what stands behind its colon, never the order."""

import pytest

from services.planner.core.explained import unexplained_words
from services.planner.core.situation import observe_situation
from shared.domain.exact_json import Json
from tests.each_row import each_row
from tests.unit.planner.planner_requests import asked, calls, fact, planned, proposed, said, tool

pytestmark = pytest.mark.promise("planner.never_invents")

_SEEN: list[Json] = [
    fact("f1", "get_pilot", {"pilot_id": "PIL-2"}, {"id": "PIL-2", "name": "Ann Lee", "phone": "+1 555 0101"}),
    fact("f2", "get_club", {"club_id": "CLU-3"}, {"id": "CLU-3", "name": "Harbour", "pilot_id": "PIL-2"}),
]
_READS: list[Json] = [tool("get_pilot", pilot_id="string"), tool("get_club", club_id="string")]
_CALL: Json = tool("update_pilot_phone", pilot_id="string", phone="string")
_NOTE: Json = tool("create_note", pilot_id="string", subject="string")
_TELL: Json = tool("notify_pilot", pilot_id="string", message="string")


@each_row(
    ("task", "said"),
    ("Change the phone of club CLU-3 to +1 555 0102.", "no tool that is offered changes that of a club"),
    ("Change club CLU-3's phone to +1 555 0102.", "no tool that is offered changes that of a club"),
    ("Change the phone of the club Harbour to +1 555 0102.", "no tool that is offered changes that of a club"),
    ("Change the address of pilot PIL-2 to Main Street.", "no tool that is offered does it"),
)
def test_what_is_asked_of_one_kind_is_not_done_to_another(task: str, said: str) -> None:
    plan = planned(task, _SEEN, [_CALL], _READS)
    assert (calls(plan), said in plan.text, "pilot_id" in plan.text) == ([], True, False), plan.text


def test_a_thing_that_is_not_there_is_said_not_to_be_found_whatever_the_tools_are_for() -> None:
    seen: list[Json] = [fact("f1", "get_club", {"club_id": "CLU-9"}, {"found": False, "error": "no such club"})]
    plan = planned("Change the phone of club CLU-9 to +1 555 0102.", seen, [_CALL], _READS)
    assert "CLU-9 was not found" in plan.text


@each_row(
    ("task", "tool_name", "text"),
    ("Open a note for pilot PIL-2: their kite leaks", "create_note", "their kite leaks"),
    ("Create a note for pilot PIL-2 saying that their kite leaks.", "create_note", "their kite leaks"),
    ('Create a note for pilot PIL-2: "Kite leaks"', "create_note", "Kite leaks"),
    ("Notify pilot PIL-2: the hill is closed", "notify_pilot", "the hill is closed"),
)
def test_a_text_is_what_stands_behind_its_colon(task: str, tool_name: str, text: str) -> None:
    plan = planned(task, _SEEN, [_NOTE, _TELL], _READS)
    field = "subject" if tool_name == "create_note" else "message"
    assert calls(plan) == [(tool_name, {"pilot_id": "PIL-2", field: text})], plan.text


_TRAINER: Json = {"id": "PIL-2", "name": "Ann Lee", "phone": "+1 555 0101", "trainer_id": "PIL-4"}


@each_row(
    "task",
    "Notify the trainer of pilot PIL-2 that the hill is closed.",
    "Notify PIL-2's trainer that the hill is closed.",
    "Notify the mentor of pilot PIL-2 that the hill is closed.",
    "Change the phone of the trainer of pilot PIL-2 to +1 555 0102.",
)
def test_what_is_meant_for_another_is_not_done_to_the_one_that_is_named(task: str) -> None:
    plan = planned(task, [fact("f1", "get_pilot", {"pilot_id": "PIL-2"}, _TRAINER)], [_CALL, _TELL], _READS)
    assert (calls(plan), "not understood: " in plan.text) == ([], True), plan.text


def test_what_is_meant_for_another_is_done_to_that_one_where_a_record_names_it() -> None:
    plan = planned("Notify the pilot of club CLU-3 that the hill is closed.", _SEEN, [_TELL], _READS)
    assert calls(plan) == [("notify_pilot", {"pilot_id": "PIL-2", "message": "The hill is closed."})]


_CRATE: Json = {"id": "CRA-7", "keeper_id": "KEE-2", "keeper_name": "Ann Lee", "shop_name": "Blue Cafe"}
_WRITERS: list[Json] = [
    tool("close_crate", crate_id="string"),
    tool("notify_keeper", keeper_id="string", message="string"),
    tool("notify_shop", shop_id="string", message="string"),
]


@each_row(
    ("task", "told"),
    ("Close crate CRA-7 and tell Ann Lee about it.", [("notify_keeper", "KEE-2")]),
    ("Close crate CRA-7 and notify Blue Cafe.", [("notify_shop", "SHO-5")]),
    ("Close crate CRA-7 and notify Bob Ray.", []),
)
def test_a_notice_goes_to_whom_a_clause_calls_by_name(task: str, told: list[tuple[str, str]]) -> None:
    seen = [
        fact("f1", "get_crate", {"crate_id": "CRA-7"}, _CRATE),
        fact("f2", "search_shops", {"query": "Blue Cafe"}, [{"id": "SHO-5", "name": "Blue Cafe"}]),
    ]
    made = calls(planned(task, seen, _WRITERS))
    assert [(name, next(iter(given.values()))) for name, given in made] == [("close_crate", "CRA-7"), *told]


def test_whom_a_record_names_without_an_identifier_is_searched_for_where_a_notice_goes_there() -> None:
    tools: list[Json] = [
        tool("search_shops", query="string"),
        *(proposed(one) for one in _WRITERS if isinstance(one, dict)),
    ]
    seen = [fact("f1", "get_crate", {"crate_id": "CRA-7"}, _CRATE)]
    task = "Close crate CRA-7 and notify Blue Cafe."
    assert said({"task": task, "so_far": seen}, tools).calls == (("search_shops", {"query": "Blue Cafe"}),)


@each_row(
    ("task", "described", "text"),
    ("Which hill trips are open?", ("trips", "trip"), "Which hill ride trips are open?"),
    (
        "Which trips are open?",
        ("Ride trips, by day.", "One ride trip by id."),
        "Which ride trips are open?",
    ),
    ("Close trip T-1.", ("trips", "trip"), "Close ride trip T-1."),
    ("Which hill rides are open?", ("trips", "trip"), "Which hill rides are open?"),
    ("Which ride trips are open?", ("trips", "trip"), "Which ride trips are open?"),
    ("Which trips are open?", ("trips", "places"), "Which trips are open?"),  # tools agree on no name
    ("Ann trips that RID-1 is open.", ("trips", "trip"), "Ann trips that RID-1 is open."),  # a verb
    ("What is the price of RID-1?", ("prices", "price"), "What is the price of RID-1?"),  # a measure of rides
    ("Which pilots are open?", ("pilots", "pilot"), "Which pilots are open?"),  # a kind of its own
)
def test_a_kind_has_its_full_name_where_the_tools_call_it_so(task: str, described: tuple[str, str], text: str) -> None:
    names = zip(("list_rides", "get_ride"), described, strict=True)
    tools: list[Json] = [_READS[0], *({**tool(name), "description": words} for name, words in names)]
    situation = observe_situation(asked({"task": task}, tools))
    assert situation.text == text
    assert situation.as_said(situation.text) == task


@each_row(
    ("field", "value", "is_explained"),
    ("available", "600.00", True),
    ("remaining", 4, True),
    ("status", "available", False),  # a bike that is available is none that was left
    ("amount", "600.00", False),
)
def test_what_is_left_is_a_figure_that_is_available(field: str, value: Json, is_explained: bool) -> None:
    tools: list[Json] = [tool("list_bikes")]
    seen = [fact("r1", "list_bikes", {}, [{"id": "BIK-1", field: value}])]
    situation = observe_situation(asked({"task": "Which bikes are left?", "so_far": seen}, tools))
    assert ("left" not in unexplained_words("Which bikes are left?", situation.records)) is is_explained

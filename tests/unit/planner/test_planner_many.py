"""A write for each of many, things known by name, portions said in words, yes or no, and refused answers."""

import pytest

from services.planner.core.request import PlannerReply
from shared.domain.exact_json import Json, JsonObject
from tests.unit.planner.planner_requests import calls, fact, planned, tool

_KITES: list[Json] = [
    {"id": "KIT-1", "pilot_id": "PIL-2", "state": "open", "rank": 2},
    {"id": "KIT-2", "pilot_id": "PIL-2", "state": "open", "rank": 1},
    {"id": "KIT-3", "pilot_id": "PIL-9", "state": "open", "rank": 1},
    {"id": "KIT-4", "pilot_id": "PIL-2", "state": "torn", "rank": 3},
]
_PILOTS: list[Json] = [{"id": "PIL-2", "name": "Ada Berg"}, {"id": "PIL-9", "name": "Bo Lind"}]
_LISTS: list[Json] = [fact("f1", "list_kites", {}, _KITES), fact("f2", "list_pilots", {}, _PILOTS)]
_CLOSE: Json = tool("close_kite", kite_id="string")


@pytest.mark.promise("planner.each_of_many")
@pytest.mark.parametrize(
    ("task", "closed"),
    [
        ("Close every open kite of pilot PIL-2.", ["KIT-1", "KIT-2"]),
        ("Retire pilot PIL-2: close all open kites in order of their rank.", ["KIT-2", "KIT-1"]),
        ("Close all open kites of Ada Berg.", ["KIT-1", "KIT-2"]),
        ("Close every open kite.", ["KIT-1", "KIT-2", "KIT-3"]),
    ],
)
def test_every_means_each_listed_thing_that_fits_in_the_order_asked(task: str, closed: list[str]) -> None:
    """Whose they are is said by an identifier, before a colon, or by a name that another record bears."""
    assert [given["kite_id"] for _, given in calls(planned(task, _LISTS, [_CLOSE]))] == closed


@pytest.mark.promise("planner.each_of_many")
def test_every_one_of_somebody_unknown_is_nobodys() -> None:
    """A name that no record bears narrows nothing, so nothing is written."""
    plan = planned("Close every open kite of Cy Dorn.", _LISTS, [_CLOSE])
    assert calls(plan) == []
    assert "Cy Dorn" in plan.text


_FINE: JsonObject = {"id": "FIN-1", "kite_id": "KIT-7", "amount": "120.50"}


@pytest.mark.parametrize(
    ("task", "amount"),
    [("Refund fine FIN-1 in full.", "120.50"), ("Refund half of fine FIN-1.", "60.25")],
)
def test_the_whole_and_the_half_are_figures_too(task: str, amount: str) -> None:
    """Said in words, traced to the record."""
    refund: Json = tool("refund_fine", fine_id="string", amount="string")
    plan = planned(task, [fact("f1", "get_fine", {"id": "FIN-1"}, _FINE)], [refund])
    assert calls(plan) == [("refund_fine", {"fine_id": "FIN-1", "amount": amount})]


def test_one_record_reconciled_with_another_gives_the_figure_that_a_later_clause_names() -> None:
    """The argument is called as the clause calls it; the figure is the difference of both amounts."""
    kite: JsonObject = {"id": "KIT-7", "amount": "100.00"}
    facts = [fact("f1", "get_fine", {"id": "FIN-1"}, _FINE), fact("f2", "get_kite", {"id": "KIT-7"}, kite)]
    flag: Json = tool("flag_fine", fine_id="string", excess="string")
    plan = planned("Reconcile fine FIN-1 against its kite and flag it with the exact excess.", facts, [flag])
    assert calls(plan) == [("flag_fine", {"fine_id": "FIN-1", "excess": "20.50"})]


@pytest.mark.promise("planner.yes_or_no")
@pytest.mark.parametrize(
    ("question", "start"),
    [
        ("Is kite KIT-7 open?", "Yes: it is open"),
        ("Is kite KIT-7 closed?", "No: it is open"),
        ("Is the fee of kite KIT-7 over 100.00?", "Yes: 120.00 is more than 100.00"),
        ("Does the fee of kite KIT-7 exceed 500.00?", "No: 120.00 is within 500.00"),
    ],
)
def test_a_question_for_yes_or_no_gets_one_with_its_ground(question: str, start: str) -> None:
    """The state that it is in, or the figures compared."""
    kite: JsonObject = {"id": "KIT-7", "fee": "120.00", "state": "open"}
    reply = planned(question, [fact("f1", "get_kite", {"id": "KIT-7"}, kite)], [])
    assert reply.text.startswith(start)


_TASK = "Close kite KIT-1 with note RED-5."


@pytest.mark.promise("planner.heeds_corrections")
def test_a_refused_plan_is_changed_or_given_up_and_never_put_again() -> None:
    """An optional argument without a source goes; what cannot be mended is said."""
    close: JsonObject = tool("close_kite", kite_id="string", note="string")
    optional: Json = {**close, "input_schema": {**_schema(close), "required": ["kite_id"]}}
    first = planned(_TASK, _LISTS, [optional])
    refused = "no source for: RED-5"
    again = planned(_TASK, [*_LISTS, _refused(first, refused)], [optional])
    given_up = planned(_TASK, [*_LISTS, _refused(first, refused), _refused(again, "it flies")], [optional])
    assert calls(first) == [("close_kite", {"kite_id": "KIT-1", "note": "RED-5"})]
    assert calls(again) == [("close_kite", {"kite_id": "KIT-1"})]
    assert (given_up.calls, "Not done" in given_up.text, "it flies" in given_up.text) == ((), True, True)


def _refused(plan: PlannerReply, why: str) -> Json:
    ((name, given),) = calls(plan)
    return {"tool": name, "arguments": given, "result": why, "is_error": True}


def _schema(given: JsonObject) -> JsonObject:
    schema = given["input_schema"]
    assert isinstance(schema, dict)
    return schema

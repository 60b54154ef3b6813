"""What the executor tells of a process: figures known by name, and the ways that listed things go by their age."""

from collections.abc import Sequence

import pytest

from services.planner.core.process import process_name
from services.planner.core.request import PlannerReply
from shared.domain.exact_json import Json, JsonObject
from tests.each_row import each_row
from tests.unit.planner.planner_requests import calls, fact, planned, tool

_LEASE: JsonObject = {"id": "LEA-4", "state": "open", "rent": "80.00"}
_BOOK: Json = tool("record_earned_rent", lease_id="string", amount="number")


def _value(name: str, value: str) -> Json:
    given: JsonObject = {"name": name, "operation": "sum", "operands": []}
    return fact(name, "calculate", given, {"name": name, "value": value})


def _plan(
    task: str, facts: list[Json], writers: list[Json], values: Sequence[Json] = (), **sections: Json
) -> PlannerReply:
    return planned(task, [*facts, *values], writers, None, **sections)


@pytest.mark.promise("planner.known_figures")
def test_a_missing_figure_is_the_value_that_the_clause_names_by_all_its_words_or_is_said_to_be_missing() -> None:
    """Of two that fit the longer name counts; one of which a word is missing is another figure."""
    values = [_value("rent", "80.00"), _value("earned_rent", "64.50"), _value("earned_rent_after_tax", "50.00")]
    facts = [fact("f1", "get_lease", {"lease_id": "LEA-4"}, _LEASE)]
    plan = _plan("Record the earned rent of lease LEA-4.", facts, [_BOOK], values=values)
    assert [(name, str(given["amount"])) for name, given in calls(plan)] == [("record_earned_rent", "64.50")]
    facts = [fact("f1", "get_lease", {"lease_id": "LEA-4"}, _LEASE)]
    plan = _plan("Record the earned rent of lease LEA-4.", facts, [_BOOK], values=[_value("taxes", "1.00")])
    assert calls(plan) == []
    assert "amount" in plan.text


@pytest.mark.promise("planner.known_figures")
def test_what_a_record_announces_as_new_is_the_figure_of_a_call_about_the_same_things() -> None:
    """``new_total`` for ``total``, of the offer that names both things of the call; that of another one is not it."""
    swap: Json = tool("modify_seat", seat_id="string", cover_id="string", total="number")
    offers = [
        fact(f"f{place}", "get_offer", {}, {"seat_id": "SEA-1", "cover_id": cover, "new_total": total})
        for place, (cover, total) in enumerate((("COV-8", "12.00"), ("COV-9", "15.50")), 1)
    ]
    plan = _plan("Modify seat SEA-1 to cover COV-9.", offers, [swap])
    assert [str(given["total"]) for _, given in calls(plan)] == ["15.50"]


@each_row(
    ("task", "process"),
    ("Move subscription SBS-1203 to the Growth plan.", "subscription_migration"),
    ("Move Contoso from the monthly to the yearly plan", "subscription_migration"),
    ("Migrate subscription SBS-1204 from Starter to Growth", "subscription_migration"),
    ("Move the meeting to Friday.", "general"),
    ("Put v1.2 of it on the Growth plan.", "subscription_migration"),
    ("Move the desk. Contoso keeps to the Growth plan.", "general"),
    ("Which plan is Contoso on?", "general"),
)
def test_a_move_to_another_plan_is_a_migration_whatever_its_verb(task: str, process: str) -> None:
    assert process_name(task) == process


_FINES: list[Json] = [
    {"id": f"FIN-{number}", "pilot_id": f"PIL-{number}", "days_overdue": days, "step": step}
    for number, days, step in ((1, 12, "none"), (2, 30, "none"), (3, 31, "none"), (4, 95, "none"), (5, 99, "court"))
]
_ROUTES: Json = [
    {"name": "letter", "way": "send a friendly letter", "over": 0, "up_to": 30},
    {"name": "instalments", "way": "offer instalments", "over": 30, "up_to": 60},
    {"name": "court", "way": "give the fine to the court", "over": 60, "up_to": None},
]
_STEPS: list[Json] = [
    tool("send_letter", fine_id="string"),
    tool("create_instalments", fine_id="string"),
    tool("give_to_court", fine_id="string"),
    tool("close_fine", fine_id="string"),
]
_TASK = "Take the step of its age for every overdue fine."


@pytest.mark.promise("planner.routes")
def test_each_listed_thing_goes_the_way_of_its_age_unless_there_are_none_or_the_task_names_its_own_step() -> None:
    """A bound belongs to the younger range; letters, which are notices, come last; who is there already is named."""
    plan = _plan(_TASK, [fact("f1", "list_fines", {}, _FINES)], _STEPS, process={"routes": _ROUTES})
    assert calls(plan) == [
        ("create_instalments", {"fine_id": "FIN-3"}),
        ("give_to_court", {"fine_id": "FIN-4"}),
        ("send_letter", {"fine_id": "FIN-1"}),
        ("send_letter", {"fine_id": "FIN-2"}),
    ]
    plan = _plan(_TASK, [fact("f1", "list_fines", {}, _FINES)], _STEPS)
    assert calls(plan) == []
    assert "no tool" in plan.text
    facts = [fact("f1", "get_fine", {"fine_id": "FIN-4"}, _FINES[3])]
    plan = _plan("Close fine FIN-4.", facts, _STEPS, process={"routes": _ROUTES})
    assert [name for name, _ in calls(plan)] == ["close_fine"]

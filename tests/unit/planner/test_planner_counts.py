"""What is counted is what a list has, told in the words of the question."""

import pytest

from shared.domain.exact_json import Json
from tests.each_row import each_row
from tests.unit.planner.planner_requests import fact, optional, planned, said, tool

pytestmark = pytest.mark.promise("planner.answers_each_question")

_ROWS: list[Json] = [
    {"id": "KIT-1", "state": "torn", "owner": "Ann Lee", "pilot_id": "PIL-2"},
    {"id": "KIT-2", "state": "torn", "owner": "Bob Ray", "pilot_id": "PIL-2"},
    {"id": "KIT-3", "state": "whole", "owner": "Bob Ray", "pilot_id": "PIL-4"},
]
_LISTED: list[Json] = [fact("f1", "list_kites", {}, _ROWS)]


@each_row(
    ("question", "answer"),
    ("How many kites are torn?", "2 kites are torn."),
    ("How many torn kites are there?", "There are 2 torn kites."),
    ("How many kites are not torn?", "1 in all."),
    ("How many kites does pilot PIL-2 have?", "2 in all."),
)
def test_a_count_is_told_in_the_words_of_its_question(question: str, answer: str) -> None:
    assert planned(question, _LISTED, []).text == answer


@each_row(
    ("question", "seen"),
    ("How many kites are torn?", fact("f1", "search_kites", {"query": "torn"}, _ROWS[:1])),
    ("How many kites are called Bob?", _LISTED[0]),
    ("Which kites are called Bob?", _LISTED[0]),
)
def test_what_was_not_listed_or_not_understood_is_not_counted(question: str, seen: Json) -> None:
    assert planned(question, [seen], []).text.startswith(f'Could not be found out: "{question}"')


def test_the_thing_that_has_what_is_counted_is_none_of_it() -> None:
    """No kite is called PIL-2; and where no kite was listed, there are not none."""
    readers: list[Json] = [tool("get_kite", kite_id="string"), tool("get_pilot", pilot_id="string")]
    question = "How many kites does pilot PIL-2 have?"
    assert said({"task": question}, readers).calls == (("get_pilot", {"pilot_id": "PIL-2"}),)
    seen = [fact("f1", "get_pilot", {"pilot_id": "PIL-2"}, {"id": "PIL-2", "name": "Ann Lee"})]
    assert said({"task": question, "so_far": seen}, readers).text.startswith("Could not be found out")


def test_whose_something_is_is_looked_for_among_what_all_of_it_refers_to() -> None:
    rows: list[Json] = [
        {"id": "KIT-1", "pilot_id": "PIL-2", "mender_id": "MEN-1"},
        {"id": "KIT-2", "pilot_id": "PIL-4"},
    ]
    readers: list[Json] = [tool("list_kites"), tool("list_menders"), tool("list_pilots")]
    seen = [fact("f1", "list_kites", {}, rows)]
    assert said({"task": "How many kites does Ann Lee have?", "so_far": seen}, readers).calls == (("list_pilots", {}),)


_PRICED: list[Json] = [
    fact("f1", "list_products", {}, [{"id": "PRO-1", "price": "5.00"}, {"id": "PRO-2", "price": "7.00"}]),
    fact("f2", "list_refunds", {}, [{"id": "REF-1", "amount": "3.00"}, {"id": "REF-2", "amount": "4.00"}]),
    fact("f3", "list_budgets", {}, [{"id": "BUD-1", "team": "Product", "limit": "90.00", "used": "20.00"},
                                    {"id": "BUD-2", "team": "Sales", "limit": "80.00", "used": "20.00"}]),
]  # fmt: skip
_SPENDING: list[Json] = [optional({**tool("list_budgets"), "description": "What teams have spent."})]


@each_row(
    ("question", "answer"),
    ("How much do the products cost in total?", "12.00 in total."),
    ("How much has Product left in its budget?", "Product has 70.00 left in its budget."),
    ("How much has Product spent?", "Could not be found out"),
    ("What is the total of all refunds and products?", "Could not be found out"),
    ("Which refunds and products are there?", "Could not be found out"),
    ("How many refunds and products are there?", "Could not be found out"),
)
def test_things_of_two_kinds_are_not_added_up_and_none_of_them_is_passed_over(question: str, answer: str) -> None:
    assert planned(question, _PRICED, [], _SPENDING).text.startswith(answer)

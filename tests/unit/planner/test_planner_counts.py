"""What is counted is what a list has, told in the words of the question."""

import pytest

from shared.domain.exact_json import Json
from tests.each_row import each_row
from tests.unit.planner.planner_requests import fact, planned, said, tool

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
    ("How many kites are not torn?", "Count kites not torn: 1."),
    ("How many kites does pilot PIL-2 have?", "Count kites pilot pil: 2."),
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

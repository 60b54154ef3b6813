"""Questions: each half has its answer or is said to have none, and nobody's record answers for another's."""

import pytest

from services.planner.core.intents import understand
from shared.domain.exact_json import Json
from tests.unit.planner.planner_requests import fact, planned

_PERSON: Json = {
    "id": "PIL-2",
    "name": "Ann Lee",
    "email": "ann@example.org",
    "phone": "+1 555 0101",
    "club": "Harbour",
}


@pytest.mark.promise("planner.answers_each_question")
def test_a_question_with_two_halves_is_two_questions() -> None:
    asked = understand("Which kites are open, and how much is left in the budget?").questions
    assert asked == ("Which kites are open", "how much is left in the budget?")


@pytest.mark.promise("planner.answers_each_question")
def test_the_half_that_could_not_be_found_out_is_said() -> None:
    facts = [fact("f1", "get_kite", {"id": "KIT-7"}, {"id": "KIT-7", "status": "open", "submitted_at": "2026-03-03"})]
    text = planned("What is the status of KIT-7, and who submitted it?", facts, []).text
    assert text == 'The status of KIT-7 is open. Could not be found out: "who submitted it?".'


@pytest.mark.promise("planner.answers_each_question")
@pytest.mark.parametrize(
    ("question", "is_told"),
    [
        ("What is the email of Bob Ray?", False),
        ("What is the email of Ann Lee?", True),
        ("Who heads the Harbour club?", False),
    ],
)
def test_a_persons_record_answers_only_for_that_person(question: str, is_told: bool) -> None:
    text = planned(question, [fact("f1", "get_pilot", {"id": "PIL-2"}, _PERSON)], []).text
    assert ("ann@example.org" in text) is is_told

"""Facts without a model: what a sentence says in the present tense of something that is named."""

import pytest

from services.planner.core.facts import facts
from services.planner.core.request import Request, objects
from shared.domain.exact_json import dumps


def _found(task: str, answer: str = "", *entities: str) -> list[tuple[str, str, str]]:
    sections = {"task": task, "answer": answer, "entities": dumps(list(entities))}
    said = facts(Request("FACTS", sections, "", (), None, ()))
    return [(str(one["subject"]), str(one["attribute"]), str(one["value"])) for one in objects(said["facts"])]


@pytest.mark.promise("knowledge.good_tasks")
@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Pay it. Initech's payment terms are net 30.", ("Initech", "payment terms", "net 30")),
        ("The account manager for Initech is Dana Miller", ("Initech", "account manager", "Dana Miller")),
        ("The credit limit of Initech is now EUR 10,000.", ("Initech", "credit limit", "EUR 10,000")),
        ("Initech pays within 45 days", ("Initech", "pays", "within 45 days")),
    ],
)
def test_what_holds_of_somebody_is_a_fact(text: str, found: tuple[str, str, str]) -> None:
    assert _found(text, "Done.", "Initech", "INV-7") == [found]
    assert _found("Do it", text, "Initech", "INV-7") == [found]


@pytest.mark.promise("knowledge.good_tasks")
@pytest.mark.parametrize(
    "text", ["Pay invoice INV-7 of Initech for $1,200.", "Initech was paid $1,200.", "Which claims are pending?", ""]
)
def test_what_was_done_or_is_to_be_done_is_none(text: str) -> None:
    assert _found(text, "Paid $1,200 to Initech.", "Initech", "INV-7") == []

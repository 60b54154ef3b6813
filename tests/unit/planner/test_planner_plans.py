"""Plans from facts: the right call with true origins, or none and the reason; over nouns of no company at all."""

import pytest

from shared.domain.exact_json import Json, JsonObject
from tests.unit.planner.planner_requests import calls, fact, planned, tool

_KITE: JsonObject = {"id": "KIT-7", "fee": "120.00", "state": "open", "owner_id": "PIL-2"}
_FACTS: list[Json] = [fact("f1", "get_kite", {"id": "KIT-7"}, _KITE)]
_GET: Json = tool("get_kite", id="string")
_APPROVE: Json = tool("approve_kite", kite_id="string")
_REJECT: Json = tool("reject_kite", kite_id="string", reason="string")


@pytest.mark.promise("planner.heeds_not")
def test_nothing_forbidden_is_planned() -> None:
    """``do not`` gives no call, and a reason."""
    plan = planned("Do not approve kite KIT-7.", _FACTS, [_APPROVE, _REJECT])
    assert calls(plan) == []
    assert "approve" not in plan.text.lower()


@pytest.mark.promise("planner.never_invents")
@pytest.mark.parametrize(
    ("task", "missing"),
    [
        ("Approve the kite.", "kite_id"),
        ("Approve kite KIT-9.", "KIT-9 was not found"),
        ("Repaint kite KIT-7.", "no tool"),
        ("Approve kite KIT-7 if the moon is full.", "is not known"),
    ],
)
def test_what_cannot_be_planned_is_said_and_nothing_is_invented(task: str, missing: str) -> None:
    """An unknown thing, a missing identifier, a missing tool, a condition nobody can check: no call, and why."""
    facts: list[Json] = [] if "the kite." in task else _FACTS
    plan = planned(task, facts, [_APPROVE, _REJECT], [_GET])
    assert calls(plan) == []
    assert missing in plan.text


@pytest.mark.promise("planner.never_invents")
def test_two_tools_that_fit_alike_are_not_chosen_between() -> None:
    """An ambiguity is said, not guessed away."""
    twin: Json = tool("accept_kite", kite_id="string")
    plan = planned("Endorse kite KIT-7.", _FACTS, [_APPROVE, twin], [_GET])
    assert calls(plan) == []
    assert "approve_kite" in plan.text
    assert "accept_kite" in plan.text


def test_what_is_settled_already_is_not_done_again() -> None:
    """A kite that is approved is not approved once more."""
    facts: list[Json] = [fact("f1", "get_kite", {"id": "KIT-7"}, {**_KITE, "state": "approved"})]
    plan = planned("Approve kite KIT-7.", facts, [_APPROVE], [_GET])
    assert (plan.calls, "KIT-7 is already approved" in plan.text) == ((), True)


@pytest.mark.parametrize(
    ("task", "answer"),
    [
        ("Which kites are torn? Answer with a JSON list of kite ids.", '["K-2","K-3"]'),
        ("Which kites cost over 60.00? Answer with a JSON list of ids.", '["K-1","K-3"]'),
        ("Which kites are lost? Answer with a JSON list of ids.", "[]"),
        ("List all kites as a JSON list of ids, sorted by fee descending.", '["K-3","K-1","K-2"]'),
    ],
)
def test_a_list_is_bare_filtered_and_in_a_stable_order(task: str, answer: str) -> None:
    """One JSON list and nothing else; what fits no record is an empty list, not a guess."""
    rows: list[Json] = [
        {"id": "K-3", "fee": 90, "state": "torn"},
        {"id": "K-1", "fee": 70, "state": "whole"},
        {"id": "K-2", "fee": 50, "state": "torn"},
    ]
    facts: list[Json] = [fact("f1", "list_kites", {}, rows)]
    assert planned(task, facts, []).text == answer


@pytest.mark.promise("planner.several")
@pytest.mark.parametrize(
    ("task", "answer"),
    [
        ("Which torn kites are there?", "K-2 (fee 50), K-3 (fee 90)."),
        ("Show me all kites over 60.", "K-1 (fee 70), K-3 (fee 90)."),
        ("Which kites are lost?", "None of those that were read fits."),
    ],
)
def test_a_question_about_several_things_is_answered_with_their_names(task: str, answer: str) -> None:
    """In prose as in a list; that nothing fits is said only of what was read."""
    rows: list[Json] = [
        {"id": "K-1", "fee": 70, "state": "whole"},
        {"id": "K-2", "fee": 50, "state": "torn"},
        {"id": "K-3", "fee": 90, "state": "torn"},
    ]
    facts: list[Json] = [fact("f1", "list_kites", {}, rows)]
    assert planned(task, facts, []).text.startswith(answer)
    assert "Could not be found out" in planned(task, [], []).text

"""Plans from facts: the right call with true origins, or none and the reason; over nouns of no company at all."""

import pytest

from shared.domain.exact_json import Json, JsonObject
from tests.unit.planner.planner_requests import calculated, calls, fact, links, planned, tool

_KITE: JsonObject = {"id": "KIT-7", "fee": "120.00", "state": "open", "owner_id": "PIL-2"}
_FACTS: list[Json] = [fact("f1", "get_kite", {"id": "KIT-7"}, _KITE)]
_GET: Json = tool("get_kite", id="string")
_APPROVE: Json = tool("approve_kite", kite_id="string")
_REJECT: Json = tool("reject_kite", kite_id="string", reason="string")


def test_a_proposal_names_its_tool_its_arguments_and_the_part_that_it_carries_out() -> None:
    """Everything comes from the request."""
    plan = planned("Approve kite KIT-7.", _FACTS, [_APPROVE, _REJECT], [_GET])
    assert calls(plan) == [("approve_kite", {"kite_id": "KIT-7"})]
    assert links(plan) == [{"part": 1}]


@pytest.mark.parametrize("verb", ["Approve", "Accept", "Authorize"])
def test_synonyms_of_a_verb_find_its_tool(verb: str) -> None:
    """A task need not use the tool's own word."""
    assert calls(planned(f"{verb} kite KIT-7.", _FACTS, [_APPROVE, _REJECT])) == [
        ("approve_kite", {"kite_id": "KIT-7"})
    ]


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


@pytest.mark.parametrize(("limit", "chosen"), [("200.00", "approve_kite"), ("100.00", "reject_kite")])
def test_a_condition_decides_between_an_action_and_its_alternative(limit: str, chosen: str) -> None:
    """The figure of the record is compared with the figure of the task."""
    task = f"Approve kite KIT-7 if its fee is under {limit}, otherwise reject it because it is too dear."
    assert [name for name, _ in calls(planned(task, _FACTS, [_APPROVE, _REJECT], [_GET]))] == [chosen]


def test_a_reason_goes_where_a_reason_is_asked() -> None:
    """``because ...`` fills the reason."""
    plan = planned("Reject kite KIT-7 because it is torn.", _FACTS, [_APPROVE, _REJECT])
    assert calls(plan) == [("reject_kite", {"kite_id": "KIT-7", "reason": "it is torn"})]


def test_several_things_of_one_clause_are_several_calls() -> None:
    """Each identifier gets a call of its own, in the task's order."""
    facts = [*_FACTS, fact("f2", "get_kite", {"id": "KIT-8"}, {**_KITE, "id": "KIT-8"})]
    plan = planned("Approve kites KIT-7 and KIT-8.", facts, [_APPROVE], [_GET])
    assert [arguments for _, arguments in calls(plan)] == [{"kite_id": "KIT-7"}, {"kite_id": "KIT-8"}]


@pytest.mark.parametrize(
    ("condition", "holds"), [("it is open", True), ("the kite is torn", None), ("it is returned", False)]
)
def test_a_state_is_a_condition_too(condition: str, holds: bool | None) -> None:
    """A state that the record shows holds; another state does not; what is no state it knows is not decided."""
    plan = planned(f"Approve kite KIT-7 if {condition}.", _FACTS, [_APPROVE], [_GET])
    assert bool(plan.calls) is bool(holds)
    assert ("is not known" in plan.text) is (holds is None)


def test_what_is_settled_already_is_not_done_again() -> None:
    """A kite that is approved is not approved once more."""
    facts: list[Json] = [fact("f1", "get_kite", {"id": "KIT-7"}, {**_KITE, "state": "approved"})]
    plan = planned("Approve kite KIT-7.", facts, [_APPROVE], [_GET])
    assert (plan.calls, "KIT-7 is already approved" in plan.text) == ((), True)


def test_a_thing_known_by_description_is_found_among_the_records() -> None:
    """No identifier in the task, but exactly one record with its figure and its words."""
    rows: list[Json] = [
        {"id": "KIT-1", "fee": "50.00", "note": "Red box kite"},
        {"id": "KIT-2", "fee": "75.00", "note": "Blue delta kite"},
    ]
    facts = [fact("f1", "list_kites", {}, {"items": rows})]
    plan = planned("Approve the kite of $75.00, the blue delta.", facts, [_APPROVE], [_GET])
    assert calls(plan) == [("approve_kite", {"kite_id": "KIT-2"})]


def test_a_notice_comes_last() -> None:
    """A message speaks of what was done before it."""
    notify: Json = tool("notify_pilot", pilot_id="string", message="string")
    facts = [*_FACTS, fact("f2", "get_pilot", {"id": "PIL-2"}, {"id": "PIL-2", "name": "Ada"})]
    task = "Notify pilot PIL-2 that the kite is approved and approve kite KIT-7."
    plan = planned(task, facts, [notify, _APPROVE], [_GET, tool("get_pilot", id="string")])
    assert [name for name, _ in calls(plan)] == ["approve_kite", "notify_pilot"]


def test_figures_are_computed_exactly_and_named() -> None:
    """A sum over listed things, with an operand for each of them."""
    rows: list[Json] = [{"id": "A-1", "weight": "0.10"}, {"id": "A-2", "weight": "0.20"}]
    facts: list[Json] = [fact("f1", "list_crates", {}, rows)]
    (asked,) = calculated("What is the total weight of the crates?", facts)
    assert (asked["operation"], asked["operands"]) == ("sum", ["f1[0].weight", "f1[1].weight"])
    assert "0.30" in planned("What is the total weight of the crates?", facts, []).text


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


def test_things_under_a_plural_key_are_called_as_those_of_a_tool_are() -> None:
    """``{"purchase_orders": [...]}`` holds purchase orders, which no list of plain orders outdoes."""
    bought: Json = {"total": 1, "purchase_orders": [{"id": "PO-1", "amount": 90}]}
    facts: list[Json] = [
        fact("f1", "list_orders", {}, [{"id": "ORD-1", "amount": 80}]),
        fact("f2", "list_purchase_orders", {}, bought),
    ]
    task = "Show me all purchase orders. Answer with a JSON list of ids."
    assert planned(task, facts, []).text == '["PO-1"]'


_BILL: JsonObject = {"id": "BIL-3", "amount": "104.37", "kite_id": "KIT-7", "pilot_id": "PIL-2"}


def test_the_difference_of_two_records_that_belong_together_is_computed_and_used() -> None:
    """A bill and the kite that it refers to; another kite of the same pilot is not meant."""
    facts: list[Json] = [
        fact("f1", "get_bill", {"id": "BIL-3"}, _BILL),
        fact("f2", "get_kite", {"id": "KIT-7"}, _KITE),
        fact("f3", "list_kites", {}, [{"id": "KIT-9", "fee": "1.00", "pilot_id": "PIL-2"}]),
    ]
    task = "Flag bill BIL-3 with the difference between the bill and its kite."
    (asked,) = calculated(task, facts)
    assert (asked["operation"], asked["operands"]) == ("difference", ["f1.amount", "f2.fee"])


def test_a_share_is_of_the_record_that_has_the_figure() -> None:
    """The task names two things; only one of them has a yearly fee."""
    facts: list[Json] = [
        fact("f1", "get_flight", {"id": "FLY-1"}, {"id": "FLY-1", "late_minutes": 90, "club_id": "CLB-4"}),
        fact("f2", "get_club", {"id": "CLB-4"}, {"id": "CLB-4", "yearly_fee": "310.50", "members": 12}),
    ]
    task = "Grant 10% of the yearly fee for flight FLY-1 to club CLB-4."
    (asked,) = calculated(task, facts)
    assert (asked["operation"], asked["operands"]) == ("percentage", ["f2.yearly_fee", "10"])


def test_what_describes_the_columns_of_a_table_is_no_row_of_it() -> None:
    """A description of columns was read beside the rows: its words are no criteria, and it has no identifier."""
    columns: list[Json] = [{"name": "id", "type": "text"}, {"name": "state", "type": "text"}]
    rows: list[Json] = [{"id": "K-1", "state": "torn"}, {"id": "K-2", "state": "whole"}]
    facts: list[Json] = [
        fact("f1", "describe_table", {"table": "kites"}, {"table": "kites", "columns": columns}),
        fact("f2", "query_table", {"table": "kites"}, {"rows": rows, "total": 2}),
    ]
    task = (
        'Query table "kites" with filter column "state" and filter value "torn". Answer with a JSON list of their ids.'
    )
    assert planned(task, facts, []).text == '["K-1"]'


def test_a_list_is_of_the_records_own_ids_whatever_they_are_called_now() -> None:
    rows: list[Json] = [{"owner_id": "EM-17", "tag": f"CL-{number}", "status": "open"} for number in (11, 12)]
    facts: list[Json] = [{"ref": "f1", "tool": "list_claims", "arguments": {}, "result": rows}]
    task = "Which claims are open? Answer with a JSON list of their ids."
    assert planned(task, facts, []).text == '["CL-11","CL-12"]'


@pytest.mark.parametrize(
    ("tool", "result", "answer"),
    [
        ("list_claims", [], "[]"),
        ("list_claims", "The list is out of order.", "Nothing about what the task asks for could be read"),
        ("search_people", [], "Nothing about what the task asks for could be read"),
    ],
)
def test_an_empty_list_is_an_answer_only_if_the_list_was_read(tool: str, result: Json, answer: str) -> None:
    """What could not be read is not said to be empty: a list that is none makes the task fail."""
    facts: list[Json] = [{"ref": "f1", "tool": tool, "arguments": {"query": "claims"}, "result": result}]
    task = "Which claims are open? Answer with a JSON list of their ids."
    assert planned(task, facts, []).text.startswith(answer)

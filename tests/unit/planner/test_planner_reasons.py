"""Where a reason begins and ends, whose it is, and that neither a part nor a reason is lost or made up."""

import pytest

from services.planner.core.foreign import in_english
from services.planner.core.intents import understand
from shared.domain.exact_json import Json
from tests.each_row import each_row
from tests.unit.planner.planner_requests import calls, fact, planned, tool

_APPROVE: Json = tool("approve_kite", kite_id="string")
_REJECT: Json = tool("reject_kite", kite_id="string", reason="string")
_TELL: Json = tool("notify_pilot", pilot_id="string", message="string")
_FACTS: list[Json] = [
    fact(f"f{n}", "get_kite", {"id": f"KIT-{n}"}, {"id": f"KIT-{n}", "amount": "120.00", "state": "open"})
    for n in (7, 8)
]


def _read(text: str) -> list[tuple[str, str, str]]:
    return [(intent.clause, intent.reason, intent.condition) for intent in understand(text).actions]


@pytest.mark.promise("planner.loses_no_part")
@each_row(
    ("text", "read"),
    (
        "Reject KIT-7 because wings are not covered, and approve KIT-8.",
        [("Reject KIT-7", "wings are not covered", ""), ("approve KIT-8", "", "")],
    ),
    (
        "Reject KIT-7 with the reason 'no money' unless more than 20,000 is available.",
        [("Reject KIT-7", "no money", "more than 20,000 is available")],
    ),
    (
        "Reject KIT-7 because it is torn and close their tickets.",
        [("Reject KIT-7", "it is torn", ""), ("close their tickets", "", "")],
    ),
    ("Because the hill is closed, cancel KIT-7.", [("cancel KIT-7", "the hill is closed", "")]),
    ("Reject KIT-7; the reason is 'not this year'.", [("Reject KIT-7", "not this year", "")]),
    (
        "Approve KIT-7 if it is under 50, and approve KIT-8.",
        [("Approve KIT-7", "", "it is under 50"), ("approve KIT-8", "", "it is under 50")],
    ),
)
def test_a_reason_ends_before_the_next_part_and_the_condition(text: str, read: list[tuple[str, str, str]]) -> None:
    assert _read(text) == read


@pytest.mark.promise("planner.never_invents")
def test_a_reason_that_nobody_gave_is_missing_and_one_ends_where_somebody_is_to_be_told() -> None:
    """The order itself is no reason, nor is the rest of a list of identifiers."""
    for task in ("Reject kite KIT-7.", "Reject kites KIT-7, KIT-8 and KIT-8."):
        plan = planned(task, _FACTS, [_APPROVE, _REJECT])
        assert (calls(plan), "needs reason" in plan.text) == ([], True)
    plan = planned("Reject kite KIT-7 because it is torn, then tell the pilot why.", _FACTS, [_APPROVE, _REJECT])
    assert [given["reason"] for _, given in calls(plan)] == ["it is torn"]


@pytest.mark.promise("planner.loses_no_part")
@each_row(
    ("task", "reason"),
    ("Reject KIT-7 as a duplicate.", "a duplicate"),
    ("Reject KIT-7 as a duplicate of KIT-8.", "a duplicate of KIT-8"),
    ("Reject KIT-7 as a duplicate kite would be.", None),
)
def test_what_a_thing_is_rejected_as_is_the_reason(task: str, reason: str | None) -> None:
    given = [arguments["reason"] for _, arguments in calls(planned(task, _FACTS, [_APPROVE, _REJECT]))]
    assert given == ([] if reason is None else [reason])


@pytest.mark.promise("planner.loses_no_part")
@each_row("task", ["Approve KIT-7 and frobnicate KIT-8.", "Approve KIT-7 and frobnicate kite KIT-8."])
def test_a_clause_with_an_unknown_verb_is_not_understood(task: str) -> None:
    """It is not joined to the clause before it."""
    plan = planned(task, _FACTS, [_APPROVE, _REJECT])
    assert calls(plan) == [("approve_kite", {"kite_id": "KIT-7"})]


@pytest.mark.promise("planner.loses_no_part")
@each_row(
    "task", ["Approve KIT-7 without notifying PIL-2.", "Without delay approve KIT-7.", "Approve KIT-7 without a fee."]
)
def test_without_forbids_an_act_and_not_the_clause(task: str) -> None:
    plan = planned(task, _FACTS, [_APPROVE, _TELL])
    assert calls(plan) == [("approve_kite", {"kite_id": "KIT-7"})]


@each_row("state", ["rejected", "declined"])
def test_what_was_decided_otherwise_is_not_proposed(state: str) -> None:
    facts: list[Json] = [fact("f1", "get_kite", {"id": "KIT-7"}, {"id": "KIT-7", "status": state})]
    plan = planned("Approve kite KIT-7.", facts, [_APPROVE])
    assert (calls(plan), f"KIT-7 is already {state}" in plan.text) == ([], True)


def test_things_for_which_a_condition_differs_are_not_decided_together() -> None:
    rows = {"KIT-7": "120.00", "KIT-8": "80.00"}
    facts = [fact(f"f-{one}", "get_kite", {"id": one}, {"id": one, "amount": amount}) for one, amount in rows.items()]
    plan = planned("Approve kites KIT-7 and KIT-8 if they are under 100.", [*facts], [_APPROVE])
    assert (calls(plan), "not the same" in plan.text) == ([], True)


@pytest.mark.promise("planner.loses_no_part")
def test_a_clause_that_names_a_thing_for_which_no_call_is_found_is_not_done_in_part() -> None:
    pilots: list[Json] = [{"id": "PIL-1", "name": "Ann Lee"}, {"id": "PIL-2", "name": "Bob Ray"}]
    kites = [fact(f"k{n}", "get_kite", {"kite_id": f"KIT-{n}"}, {"id": f"KIT-{n}", "state": "open"}) for n in (7, 8)]
    give = tool("assign_kite", kite_id="string", pilot_id="string")
    plan = planned(
        "Assign KIT-7 to Ann Lee and KIT-8 to Bob Ray.", [fact("p", "list_pilots", {}, pilots), *kites], [give]
    )
    made = {(given["kite_id"], given["pilot_id"]) for _, given in calls(plan)}
    assert made in (set(), {("KIT-7", "PIL-1"), ("KIT-8", "PIL-2")})


@pytest.mark.promise("planner.loses_no_part")
@each_row(
    "link",
    [
        "if",
        ", if",
        "when",
        "in case",
        "as long as",
        "provided",
        ", provided that",
        "unless",
        "only if",
        "once",
        "after",
        "whenever",
        "on condition that",
        "assuming",
    ],
)
def test_a_condition_behind_a_reason_is_no_part_of_it(link: str) -> None:
    ((clause, reason, condition),) = _read(f"Reject KIT-7 because of a mistake {link} it is torn.".replace(" ,", ","))
    assert (clause, reason, condition) == ("Reject KIT-7", "a mistake", "it is torn")
    read = _read(f'Reject KIT-7 with the reason "no money if wet" {link} it is torn.'.replace(" ,", ","))
    assert read == [("Reject KIT-7", "no money if wet", "it is torn")]


@pytest.mark.promise("planner.loses_no_part")
@each_row(
    ("text", "reason"),
    ("Reject KIT-7 because it broke when it fell.", "it broke when it fell"),
    ("Reject KIT-7 because it tore after it was mended.", "it tore after it was mended"),
    ("Reject KIT-7 because it looks as if it is torn.", "it looks as if it is torn"),
    ("Reject KIT-7 because the hill is shut while the road is mended.", "the hill is shut while the road is mended"),
    ('Reject KIT-7 because "it is no good if it is wet".', "it is no good if it is wet"),
)
def test_when_something_happened_is_a_part_of_a_reason(text: str, reason: str) -> None:
    assert _read(text) == [("Reject KIT-7", reason, "")]


@pytest.mark.promise("planner.loses_no_part")
@each_row(
    ("text", "condition", "holds"),
    ("Lehne KIT-7 ab, weil es ein Irrtum ist, wenn er offen ist.", "it is open", True),
    ("Lehne KIT-7 ab, weil es ein Irrtum ist, falls er offen ist.", "it is open", True),
    ("Lehne den Antrag KIT-7 ab, es sei denn, er ist offen.", "it is open", False),
    ("Rejette la facture KIT-7 parce que c'est une erreur si elle est ouverte.", "it is open", True),
    ("Rejette la facture KIT-7 parce que c'est une erreur, à condition qu'elle soit ouverte.", "it is open", True),
    ("Rejette la facture KIT-7, sauf si elle est ouverte.", "it is open", False),
)
def test_a_condition_behind_a_foreign_reason_is_no_part_of_it(text: str, condition: str, holds: bool) -> None:
    (intent,) = understand(in_english(text)).actions
    assert (intent.condition, intent.holds, "if" in intent.reason.split()) == (condition, holds, False)


@pytest.mark.promise("planner.loses_no_part")
@each_row("link", "before", "until", "where", "subject to")
def test_what_nobody_can_judge_behind_a_reason_is_said_and_nothing_is_done(link: str) -> None:
    plan = planned(f"Reject kite KIT-7 because of a mistake {link} it is open.", _FACTS, [_REJECT])
    assert (calls(plan), f'"{link} it is open"' in plan.text) == ([], True), plan.text


@pytest.mark.promise("planner.loses_no_part")
@each_row(
    ("text", "reason", "clauses"),
    ("Reject KIT-7 because it is torn, and let Ann Lee know.", "it is torn", ["let Ann Lee know"]),
    (
        "Reject KIT-7 because it is torn and make sure Ann Lee hears of it.",
        "it is torn",
        ["make sure Ann Lee hears of it"],
    ),
    ("Lehne KIT-7 ab, weil er zu teuer ist, und informiere den Piloten.", "er zu teuer ist", ["inform the Piloten"]),
    ("Lehne KIT-7 ab, weil er zu teuer ist, und sag Ann Lee Bescheid.", "er zu teuer ist", ["notify Ann Lee"]),
    ("Lehne KIT-7 ab, weil er zu teuer ist, und genehmige KIT-8.", "er zu teuer ist", ["approve KIT-8"]),
    ("Lehne KIT-7 ab, weil er zu teuer ist und niemand ihn braucht.", "er zu teuer ist und niemand ihn braucht", []),
    ("Refuse KIT-7 parce qu'elle est trop chère et préviens le pilote.", "elle est trop chère", ["notify the pilote"]),
    ("Reject KIT-7 because it is torn and Ann Lee let it go.", "it is torn and Ann Lee let it go", []),
)
def test_another_order_behind_a_reason_is_a_part_of_its_own(text: str, reason: str, clauses: list[str]) -> None:
    first, *others = understand(in_english(text)).actions
    assert (first.reason, [other.clause for other in others]) == (reason, clauses)


@pytest.mark.promise("planner.loses_no_part")
def test_each_of_several_things_has_the_reason_given_for_it() -> None:
    plan = planned("Reject KIT-7 because it is torn, KIT-8 because it is wet.", _FACTS, [_REJECT])
    assert [(given["kite_id"], given["reason"]) for _, given in calls(plan)] == [
        ("KIT-7", "it is torn"),
        ("KIT-8", "it is wet"),
    ]


@pytest.mark.promise("planner.loses_no_part")
@each_row(
    ("text", "reason", "others"),
    ("Reject KIT-7 because it is wet and dye KIT-8.", "it is wet", ["dye KIT-8"]),
    ("Reject KIT-7 because it is wet, and frobnicate KIT-8.", "it is wet", ["frobnicate KIT-8"]),
    ("Reject KIT-7 because it repeats KIT-8, and kite KIT-9.", "it repeats KIT-8, and kite KIT-9", []),
    ("Reject KIT-7 because it is wet, and yesterday KIT-8 was torn.", "it is wet, and yesterday KIT-8 was torn", []),
)
def test_a_verb_that_a_tool_alone_or_nothing_has_ends_a_reason(text: str, reason: str, others: list[str]) -> None:
    reading = understand(text, frozenset({"kit"}), frozenset({"dye", "reject"}))
    first, *rest = (*reading.actions, *reading.unnamed)
    assert (first.reason, [other.clause for other in rest]) == (reason, others)


@pytest.mark.promise("planner.never_invents")
@each_row(
    "task",
    [
        "Reject KIT-7 because it is late, and dye kite KIT-8 but not KIT-9.",
        "Reject KIT-7 because it is late, and dye kite KIT-8, except KIT-9.",
    ],
)
def test_what_an_order_behind_a_reason_excepts_is_left_alone(task: str) -> None:
    facts = [*_FACTS, fact("f9", "get_kite", {"id": "KIT-9"}, {"id": "KIT-9", "amount": "1.00", "state": "open"})]
    made = calls(planned(task, facts, [_REJECT, tool("dye_kite", kite_id="string")]))
    assert [given["kite_id"] for name, given in made if name == "dye_kite"] == ["KIT-8"]

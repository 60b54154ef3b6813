"""Questions have their answers or are said to have none; lists are read to their end; facts are what holds."""

import pytest

from services.planner.core.facts import extract_facts
from services.planner.core.pages import lists_read_in_part, next_parts
from services.planner.core.records import ToolFact
from services.planner.core.request import Request, ToolSpec, objects
from shared.domain.exact_json import Json, JsonObject, dumps
from tests.each_row import each_row
from tests.unit.planner.planner_requests import calls, fact, planned, said, tool

_PERSON: Json = {
    "id": "PIL-2",
    "name": "Ann Lee",
    "email": "ann@example.org",
    "phone": "+1 555 0101",
    "club": "Harbour",
}


@pytest.mark.promise("planner.answers_each_question")
def test_each_half_of_a_question_is_answered_or_said_to_have_no_answer() -> None:
    facts = [fact("f1", "get_kite", {"id": "KIT-7"}, {"id": "KIT-7", "status": "open", "submitted_at": "2026-03-03"})]
    text = planned("What is the status of KIT-7, and who submitted it?", facts, []).text
    assert text == 'The status of KIT-7 is open. Could not be found out: "who submitted it?".'
    text = planned("Which kites are grounded, and how much is that?", [fact("f1", "list_kites", {}, _KITES)], []).text
    assert "KIT-1" in text
    assert "KIT-2" in text


_KITES: list[Json] = [
    {"id": "KIT-1", "state": "grounded", "fee": "120.00"},
    {"id": "KIT-2", "state": "grounded", "fee": "30.50"},
    {"id": "KIT-3", "state": "flying", "fee": "7.00"},
]


@pytest.mark.promise("planner.points_back")
@each_row(
    ("question", "answered"),
    ("How many kites are grounded, and what do they come to in total?", "150.50"),
    ("Which kites are grounded, and how much is that altogether?", "150.50"),
    ("How many kites are grounded? What is the highest fee of them?", "120.00"),
    ("How many kites are grounded, and which of them are under 100?", "KIT-2"),
    ("How many kites are flying, and what is the total?", "7.00"),
)
def test_they_are_the_things_that_the_clause_before_names(question: str, answered: str) -> None:
    text = planned(question, [fact("f1", "list_kites", {}, _KITES)], []).text
    assert answered in text
    assert "Could not be found out" not in text
    assert "157.50" not in text


@pytest.mark.promise("planner.points_back")
def test_they_are_nothing_where_no_clause_before_names_a_thing_that_was_read() -> None:
    text = planned("What do they come to in total?", [fact("f1", "list_kites", {}, _KITES)], []).text
    assert "157.50" not in text


@pytest.mark.promise("planner.leaves_questions")
def test_a_question_that_nothing_answers_is_left_as_its_part_before_the_answer() -> None:
    question = "What is the status of KIT-7, and who submitted it?"
    parts: Json = [
        {"part": 1, "kind": "find out", "quote": "What is the status of KIT-7"},
        {"part": 2, "kind": "find out", "quote": "who submitted it?"},
    ]
    facts = [
        fact("f0", "understand", {}, {"parts": parts}),
        fact("f1", "get_kite", {"id": "KIT-7"}, {"id": "KIT-7", "status": "open", "submitted_at": "2026-03-03"}),
    ]
    leave = tool("leave_part", part="integer", because="string")
    reply = said({"task": question, "so_far": facts}, [tool("understand"), leave])
    (left,) = reply.calls
    assert left == ("leave_part", {"part": 2, "because": "nothing that was read answers it"})


@pytest.mark.promise("planner.answers_each_question")
@each_row(
    ("question", "is_told"),
    ("What is the email of Bob Ray?", False),
    ("What is the email of Ann Lee?", True),
    ("Who heads the Harbour club?", False),
)
def test_a_persons_record_answers_only_for_that_person(question: str, is_told: bool) -> None:
    text = planned(question, [fact("f1", "get_pilot", {"id": "PIL-2"}, _PERSON)], []).text
    assert ("ann@example.org" in text) is is_told


_LOAN: JsonObject = {"id": "LOA-3", "pilot_id": "PIL-2", "amount": "80.00", "paid": "30.00", "length_m": 9}


@pytest.mark.promise("planner.answers_each_question")
@each_row(
    "question",
    "What is left to pay on LOA-3?",
    "Is there still enough in the purse for LOA-3?",
    "Is LOA-3 a duplicate of another one?",
    "Who reports to LOA-3?",
    "How long is the runway of LOA-3?",
)
def test_a_record_that_says_nothing_of_what_is_asked_is_no_answer(question: str) -> None:
    text = planned(question, [fact("f1", "get_loan", {"id": "LOA-3"}, _LOAN)], []).text
    assert text == f'Could not be found out: "{question}".'


@pytest.mark.promise("planner.yes_or_no")
def test_a_list_decides_no_question_for_yes_or_no_and_each_of_two_things_gets_one() -> None:
    rows: list[Json] = [{"id": "KIT-1", "state": "open"}, {"id": "KIT-2", "state": "closed"}]
    seen = [fact("f1", "list_kites", {}, rows)]
    assert planned("Are all kites closed?", seen, []).text == 'Could not be found out: "Are all kites closed?".'
    each = [fact(f"g{row}", "get_kite", {"kite_id": f"KIT-{row + 1}"}, rows[row]) for row in (0, 1)]
    assert planned("Are KIT-1 and KIT-2 closed?", each, []).text == "KIT-1: No: it is open. KIT-2: Yes: it is closed."


@pytest.mark.promise("planner.answers_each_question")
@each_row("question", ["Which kites on the north pier are free?", "Which kite ends first?"])
def test_a_list_is_no_answer_to_what_its_records_say_nothing_of(question: str) -> None:
    rows: list[Json] = [{"id": "KIT-1", "taken": True}, {"id": "KIT-2", "taken": False}]
    text = planned(question, [fact("f1", "list_kites", {}, rows)], []).text
    assert text.startswith(f'Could not be found out: "{question}": not understood: ')


_LAND = tool("land_kite", kite_id="string", day="string")


@pytest.mark.promise("planner.spoken_days")
@each_row(
    ("task", "day"),
    ("Land kite KIT-7 on March 12.", "2026-03-12"),
    ("Land kite K-1 March 12", "2026-03-12"),
    ("Land kite KIT-7 on 12 March 2027.", "2027-03-12"),
    ("Land kite KIT-7 on 3 January.", "2027-01-03"),
)
def test_a_day_without_a_year_is_the_next_one_and_takes_no_number_from_an_identifier(task: str, day: str) -> None:
    now: Json = {"current_time": "2026-03-05T09:00+00:00"}
    identifier = next(word for word in task.split() if "-" in word)
    kite: Json = {"id": identifier, "state": "flying"}
    answer = planned(task, [fact("f1", "get_kite", {"kite_id": identifier}, kite)], [_LAND], now=now)
    assert calls(answer) == [("land_kite", {"kite_id": identifier, "day": day})]


@pytest.mark.promise("planner.answers_each_question")
@each_row(
    ("result", "is_absent"),
    [({"found": False, "error": "no such kite"}, True), ({"id": "KIT-7", "note": "no such sail was found"}, False)],
)
def test_nothing_found_is_an_answer_and_a_record_that_speaks_of_it_is_something(result: Json, is_absent: bool) -> None:
    text = planned("Who owns KIT-7?", [fact("f1", "get_kite", {"id": "KIT-7"}, result)], []).text
    assert ("KIT-7 was not found." in text) is is_absent


_ROWS: list[Json] = [{"id": f"KIT-{number}", "state": "open"} for number in range(1, 4)]


def _lister(*places: str) -> ToolSpec:
    properties: dict[str, JsonObject] = {name: {"type": "integer"} for name in places}
    return ToolSpec("list_kites", "", properties, ())


@pytest.mark.promise("planner.reads_all_parts")
@each_row(
    ("around", "places", "arguments", "further"),
    ({"page": 1, "limit": 3, "total": 7}, ("page", "limit"), {}, {"page": 2}),
    ({"page": 2, "per_page": 3, "total_pages": 3}, ("page", "per_page"), {"page": 2}, {"page": 3}),
    ({"offset": 3, "limit": 3, "has_more": True}, ("offset", "limit"), {"offset": 3}, {"offset": 6}),
    ({"hasMore": True}, ("skip",), {"state": "open"}, {"state": "open", "skip": 3}),
    ({"next_cursor": "abc"}, ("cursor", "limit"), {}, {"cursor": "abc"}),
    ({"nextPageToken": "t"}, ("pageToken",), {}, {"pageToken": "t"}),
)
def test_what_follows_a_part_is_asked_for_in_the_tools_own_way(
    around: JsonObject, places: tuple[str, ...], arguments: JsonObject, further: JsonObject
) -> None:
    """By page and total, by offset and whether there is more, or by an opaque mark; the criteria stay."""
    part = ToolFact("f1", "list_kites", arguments, {"items": _ROWS, **around})
    assert [given for _, given in next_parts([part], [_lister(*places)])] == [further]
    assert lists_read_in_part((part,)) == ("list_kites",)


@pytest.mark.promise("planner.reads_all_parts")
@each_row(
    "around",
    [{"page": 3, "limit": 3, "total": 9}, {"has_more": False, "offset": 0}, {"next_cursor": None}, {"count": 3}],
)
def test_a_list_at_its_end_is_not_asked_for_more(around: JsonObject) -> None:
    """The last part, and a list that is whole."""
    part = ToolFact("f1", "list_kites", {}, {"items": _ROWS, **around})
    assert not [*next_parts([part], [_lister("page", "offset", "cursor")])]
    assert lists_read_in_part((part,)) == ()


@pytest.mark.promise("planner.reads_all_parts")
def test_every_one_of_a_list_that_was_not_read_to_its_end_is_not_planned() -> None:
    """``every`` means the whole list: with a part of it, nothing is written and the reason is said."""
    approve: Json = tool("approve_kite", kite_id="string")
    seen: JsonObject = {"items": _ROWS, "next_cursor": "abc"}
    plan = planned("Approve every open kite.", [fact("f1", "list_kites", {}, seen)], [approve])
    assert calls(plan) == []
    assert "not read to its end" in plan.text
    whole = fact("f2", "list_kites", {"cursor": "abc"}, {"items": [], "next_cursor": None})
    assert len(calls(planned("Approve every open kite.", [fact("f1", "list_kites", {}, seen), whole], [approve]))) == 3


def _found(task: str, answer: str = "", *entities: str) -> list[tuple[str, str, str]]:
    sections = {"task": task, "answer": answer, "entities": dumps(list(entities))}
    said = extract_facts(Request("FACTS", sections, "", (), None, ()))
    return [(str(one["subject"]), str(one["attribute"]), str(one["value"])) for one in objects(said["facts"])]


@pytest.mark.promise("knowledge.good_tasks")
@each_row(
    ("text", "found"),
    ("Pay it. Initech's payment terms are net 30.", ("Initech", "payment terms", "net 30")),
    ("The account manager for Initech is Dana Miller", ("Initech", "account manager", "Dana Miller")),
    ("The credit limit of Initech is now EUR 10,000.", ("Initech", "credit limit", "EUR 10,000")),
    ("Initech pays within 45 days", ("Initech", "pays", "within 45 days")),
)
def test_what_holds_of_somebody_is_a_fact(text: str, found: tuple[str, str, str]) -> None:
    assert _found(text, "Done.", "Initech", "INV-7") == [found]
    assert _found("Do it", text, "Initech", "INV-7") == [found]


@pytest.mark.promise("knowledge.good_tasks")
@each_row("text", ["Pay invoice INV-7 of Initech for $1,200.", "Initech was paid $1,200.", "Which claims are pending?"])
def test_what_was_done_or_is_to_be_done_is_none(text: str) -> None:
    assert _found(text, "Paid $1,200 to Initech.", "Initech", "INV-7") == []


@each_row("question", "Which kites are torn or have a fee under 60?", "How many kites have a fee over 60 or are torn?")
def test_an_or_between_two_kinds_of_criteria_is_answered_by_no_single_record(question: str) -> None:
    rows: list[Json] = [{"id": "KIT-1", "fee": 50, "state": "open"}, {"id": "KIT-3", "fee": 150, "state": "torn"}]
    seen: list[Json] = [fact("f1", "list_kites", {}, rows), fact("f2", "get_kite", {"kite_id": "KIT-3"}, rows[1])]
    text = planned(question, seen, [], [tool("list_kites")]).text
    assert text.startswith("Could not be found out"), text


@pytest.mark.promise("planner.answers_each_question")
@each_row(
    ("question", "answer"),
    ("Which loans of suspended pilots are open?", "LOA-2 (amount 100)."),
    ("Which open loans have a suspended pilot?", "LOA-2 (amount 100)."),
    ("How many loans of suspended pilots are open?", "1 in all."),
    ("How much are the open loans of suspended pilots?", "The open loans of suspended pilots come to 100."),
    ("What is the total amount of the open loans of suspended pilots?", "suspended pilots is 100."),
    ("Which loans of grounded pilots are open?", ""),
    ("How many loans of grounded pilots are open?", ""),
    ("Which loans are suspended and open?", ""),
    ("Which pilots are suspended?", "PIL-2"),
    ("How many loans are open?", "2"),
    ("How much money are the open loans?", "The open loans come to 170."),
)
def test_a_state_of_things_of_another_kind_chooses_only_those_that_are_linked_with_them(
    question: str, answer: str
) -> None:
    loans: list[Json] = [
        {"id": "LOA-1", "pilot_id": "PIL-1", "amount": 70, "state": "open"},
        {"id": "LOA-2", "pilot_id": "PIL-2", "amount": 100, "state": "open"},
        {"id": "LOA-3", "pilot_id": "PIL-2", "amount": 5, "state": "paid"},
    ]
    pilots: list[Json] = [{"id": "PIL-1", "state": "active"}, {"id": "PIL-2", "state": "suspended"}]
    seen = [fact("f1", "list_loans", {}, loans), fact("f2", "list_pilots", {}, pilots)]
    told = planned(question, seen, []).text
    state = "grounded" if "grounded" in question else "suspended"
    assert answer in told if answer else told.startswith("Could not be found out") and state in told, told
    assert "LOA-1" not in told

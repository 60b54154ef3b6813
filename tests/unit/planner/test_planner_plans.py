"""Plans from facts: the right call with true origins for one thing or many, or none and the reason."""

from decimal import Decimal

import pytest

from services.planner.core.request import PlannerReply
from shared.domain.exact_json import Json, JsonObject
from tests.each_row import each_row
from tests.unit.planner.planner_requests import calls, fact, optional, planned, tool

_KITE: JsonObject = {"id": "KIT-7", "fee": "120.00", "state": "open", "owner_id": "PIL-2"}
_FACTS: list[Json] = [fact("f1", "get_kite", {"id": "KIT-7"}, _KITE)]
_GET: Json = tool("get_kite", id="string")
_APPROVE: Json = tool("approve_kite", kite_id="string")
_REJECT: Json = tool("reject_kite", kite_id="string", reason="string")
_ROWS: list[Json] = [
    {"id": "K-3", "fee": 90, "state": "torn"},
    {"id": "K-1", "fee": 70, "state": "whole"},
    {"id": "K-2", "fee": 50, "state": "torn"},
]
_CLOSE_LOST: Json = {**tool("close_kite", kite_id="string"), "description": "Closes a lost kite."}
_LISTED: list[Json] = [fact("f1", "list_kites", {}, _ROWS)]


@pytest.mark.promise("planner.heeds_not")
def test_nothing_forbidden_is_planned_and_nothing_settled_is_done_again() -> None:
    """``do not`` gives no call, and a reason."""
    plan = planned("Do not approve kite KIT-7.", _FACTS, [_APPROVE, _REJECT])
    assert calls(plan) == []
    assert "approve" not in plan.text.lower()
    facts: list[Json] = [fact("f1", "get_kite", {"id": "KIT-7"}, {**_KITE, "state": "approved"})]
    plan = planned("Approve kite KIT-7.", facts, [_APPROVE], [_GET])
    assert (plan.calls, "KIT-7 is already approved" in plan.text) == ((), True)


@pytest.mark.promise("planner.never_invents")
@each_row(
    ("task", "missing"),
    ("Approve the kite.", "kite_id"),
    ("Approve kite KIT-9.", "KIT-9 was not found"),
    ("Repaint kite KIT-7.", "no tool"),
    ("Approve kite KIT-7 if the moon is full.", "is not known"),
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


@each_row(
    ("task", "answer"),
    ("Which kites are torn? Answer with a JSON list of kite ids.", '["K-2","K-3"]'),
    ("Which kites cost over 60.00? Answer with a JSON list of ids.", '["K-1","K-3"]'),
    ("Which kites are lost? Answer with a JSON list of ids.", "[]"),
    ("List all kites as a JSON list of ids, sorted by fee descending.", '["K-3","K-1","K-2"]'),
)
def test_a_list_is_bare_filtered_and_in_a_stable_order(task: str, answer: str) -> None:
    """One JSON list and nothing else; what fits no record is an empty list, not a guess."""
    assert planned(task, _LISTED, [_CLOSE_LOST]).text == answer


@each_row(
    ("task", "answer"),
    ("Which kites are torn?", '["K-2","K-3"]'),
    ("What is the fee of kite K-1?", '["The fee of K-1 is 70."]'),
    ("Repaint kite K-1.", r'["Not done: \"Repaint kite K-1\": no tool that is offered does it."]'),
)
def test_who_reads_a_list_alone_is_given_one_whatever_the_task_asks(task: str, answer: str) -> None:
    """What fits, where the task asks for that; else a list of what would have been said."""
    assert planned(task, _LISTED, [_APPROVE], answer_format="list").text == answer


@pytest.mark.promise("planner.several")
@each_row(
    ("task", "answer"),
    ("Which torn kites are there?", "K-3 (fee 90), K-2 (fee 50)."),
    ("Show me all kites over 60.", "K-3 (fee 90), K-1 (fee 70)."),
    ("Which kites are lost?", "None of those that were read fits."),
    ("How many kites are lost?", "0 kites are lost."),
    ("Which kites are pawned?", 'Could not be found out: "Which kites are pawned?": not understood: pawned.'),
    ("How many kites are pending?", 'Could not be found out: "How many kites are pending?": not understood: pending.'),
    ("How many kites are pawned?", 'Could not be found out: "How many kites are pawned?": not understood: pawned.'),
)
def test_a_question_about_several_things_is_answered_with_their_names(task: str, answer: str) -> None:
    """In prose, in the order in which they were read; that nothing fits is said only of what was read."""
    assert planned(task, _LISTED, [_CLOSE_LOST]).text.startswith(answer)
    assert "Could not be found out" in planned(task, [], []).text


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
@each_row(
    ("task", "closed"),
    ("Close every open kite of pilot PIL-2.", ["KIT-1", "KIT-2"]),
    ("Retire pilot PIL-2: close all open kites in order of their rank.", ["KIT-2", "KIT-1"]),
    ("Close all open kites of Ada Berg.", ["KIT-1", "KIT-2"]),
    ("Close every open kite.", ["KIT-1", "KIT-2", "KIT-3"]),
)
def test_every_means_each_listed_thing_that_fits_in_the_order_asked(task: str, closed: list[str]) -> None:
    """Whose they are is said by an identifier, before a colon, or by a name that another record bears."""
    assert [given["kite_id"] for _, given in calls(planned(task, _LISTS, [_CLOSE]))] == closed


_FREE: list[Json] = [*_KITES, {"id": "KIT-5", "state": "whole", "rank": 4}]


@pytest.mark.promise("planner.several")
@each_row(
    ("question", "answer"),
    ("Which kites does Bo Lind have?", "KIT-3 (rank 1)."),
    ("Which kites of PIL-2 and PIL-9 are open?", "PIL-2: KIT-1 (rank 2), KIT-2 (rank 1). PIL-9: KIT-3 (rank 1)."),
    ("Which kites do PIL-2 and PIL-9 have? Answer with a JSON list of ids.", '["KIT-1","KIT-2","KIT-3","KIT-4"]'),
)
def test_what_is_nobodys_is_not_told_to_be_somebodys(question: str, answer: str) -> None:
    assert planned(question, [fact("f1", "list_kites", {}, _FREE), _LISTS[1]], []).text == answer


@pytest.mark.promise("planner.each_of_many")
@each_row(
    ("task", "closed"),
    ("Close the kites of PIL-2.", ["KIT-1", "KIT-2", "KIT-4"]),
    ("Close the open kites of Ada Berg.", ["KIT-1", "KIT-2"]),
    ("Close PIL-9's kites.", ["KIT-3"]),
    ("Close the kite of PIL-9.", ["KIT-3"]),
    ("Close the torn kite of PIL-2.", ["KIT-4"]),
    ("Close kite KIT-1 of PIL-2.", ["KIT-1"]),
    ("Look at KIT-1. Close the kite, and then tell me the rank of KIT-3.", ["KIT-1"]),
)
def test_things_are_meant_together_where_they_are_named_by_whose_they_are(task: str, closed: list[str]) -> None:
    assert [given["kite_id"] for _, given in calls(planned(task, _LISTS, [_CLOSE]))] == closed


_TELL: Json = tool("notify_pilot", pilot_id="string", message="string")


@pytest.mark.promise("planner.each_of_many")
@each_row(
    ("task", "told"),
    ("Close KIT-1 and KIT-3 and tell each pilot.", ["PIL-2", "PIL-9"]),
    ("Close KIT-3 and tell every pilot that it is closed.", ["PIL-9"]),
    ("Close KIT-1 and KIT-3 and notify all pilots.", []),
    ("Close KIT-5 and tell each pilot.", []),
)
def test_of_a_whole_list_those_are_told_to_whom_the_things_before_refer(task: str, told: list[str]) -> None:
    """Where nothing refers to them, or all are to be told, nothing says who has to do with what was done."""
    pilots: list[Json] = [{"id": f"PIL-{number}", "name": f"Pilot {number}"} for number in (2, 7, 9)]
    kites: list[Json] = [*_KITES, {"id": "KIT-5", "state": "open", "rank": 4}]
    plan = planned(task, [fact("f1", "list_kites", {}, kites), fact("f2", "list_pilots", {}, pilots)], [_CLOSE, _TELL])
    assert [given["pilot_id"] for name, given in calls(plan) if name == "notify_pilot"] == told


@pytest.mark.promise("planner.each_of_many")
def test_a_thing_with_a_number_beside_its_id_is_still_that_thing() -> None:
    kites: list[Json] = [{"id": f"KIT-{row}", "kite_number": f"N-{row}", "state": "open"} for row in (1, 2)]
    plan = planned("Close all open kites.", [fact("f1", "list_kites", {}, kites)], [_CLOSE])
    assert [given["kite_id"] for _, given in calls(plan)] == ["KIT-1", "KIT-2"]


@pytest.mark.promise("planner.each_of_many")
@each_row(
    ("task", "why"),
    ("Close every borrowed blue kite.", "not understood: borrowed"),
    ("Close every open kite of rank over 7.", "none of those that were read fits"),
)
def test_where_none_fits_the_words_that_chose_nothing_are_named_first(task: str, why: str) -> None:
    seen: list[Json] = [fact("f1", "list_kites", {}, [*_KITES, {"id": "KIT-5", "state": "sold", "colour": "blue"}])]
    plan = planned(task, seen, [_CLOSE])
    assert calls(plan) == []
    assert why in plan.text


@pytest.mark.promise("planner.each_of_many")
@each_row(
    ("task", "closed"),
    ("Close her kites.", []),
    ("Retire Ada Berg: tell me her rank, close her kites.", ["KIT-1", "KIT-2", "KIT-4"]),
    ("Ada Berg retires. Close her open kites.", ["KIT-1", "KIT-2"]),
    ("Pilot PIL-9 retires. Close his kites.", ["KIT-3"]),
    ("Ada Berg retires, and Bo Lind takes over. Close her kites.", []),
)
def test_his_and_her_things_are_those_of_the_one_who_was_named_before_and_never_everybodys(
    task: str, closed: list[str]
) -> None:
    plan = planned(task, _LISTS, [_CLOSE])
    assert [given["kite_id"] for _, given in calls(plan)] == closed
    assert closed or "the task does not say whom" in plan.text


@pytest.mark.promise("planner.never_invents")
@each_row(
    ("task", "options"),
    ("Close the kite of PIL-2.", "KIT-1 or KIT-2 or KIT-4"),
    ("Close the open kite of PIL-2.", "KIT-1 or KIT-2"),
    ("Look at KIT-1 and KIT-3. Close it.", "KIT-1 or KIT-3"),
)
def test_which_of_several_things_is_meant_is_not_guessed(task: str, options: str) -> None:
    plan = planned(task, _LISTS, [_CLOSE])
    assert calls(plan) == []
    assert f"it could mean {options}, and the task does not say which" in plan.text


@pytest.mark.promise("planner.each_of_many")
@each_row("task", "Close the kite of PIL-2.", "Close all kites of PIL-2.")
def test_what_is_done_already_is_not_meant(task: str) -> None:
    rows: list[Json] = [_KITES[0], {"id": "KIT-6", "pilot_id": "PIL-2", "state": "closed", "rank": 4}]
    assert calls(planned(task, [fact("f1", "list_kites", {}, rows)], [_CLOSE])) == [
        ("close_kite", {"kite_id": "KIT-1"})
    ]


@pytest.mark.promise("planner.never_invents")
def test_the_figure_of_one_thing_is_not_taken_for_another() -> None:
    facts = [fact(f"f{fee}", "get_kite", {"kite_id": f"KIT-{fee}"}, {"id": f"KIT-{fee}", "fee": fee}) for fee in (5, 7)]
    pay = tool("pay_kite", kite_id="string", fee="number")
    plan = planned("Pay kites KIT-5 and KIT-7 in full.", facts, [pay], values=[{"name": "full_fee", "value": "5"}])
    assert calls(plan) == []
    assert "what was worked out is of one of several things" in plan.text


@pytest.mark.promise("planner.each_of_many")
def test_to_whom_each_is_given_does_not_say_which_are_meant() -> None:
    lend = tool("lend_kite", kite_id="string", pilot_id="string")
    plan = planned("Lend every whole kite to PIL-9.", [fact("f1", "list_kites", {}, _FREE), _LISTS[1]], [lend])
    assert calls(plan) == [("lend_kite", {"kite_id": "KIT-5", "pilot_id": "PIL-9"})]


@pytest.mark.promise("planner.each_of_many")
def test_every_one_of_somebody_unknown_is_nobodys() -> None:
    """A name that no record bears narrows nothing, so nothing is written."""
    plan = planned("Close every open kite of Cy Dorn.", _LISTS, [_CLOSE])
    assert calls(plan) == []
    assert "Cy Dorn" in plan.text


_FINE: JsonObject = {"id": "FIN-1", "kite_id": "KIT-7", "amount": "120.50"}


@each_row(("task", "amount"), [("Refund fine FIN-1 in full.", "120.50"), ("Refund half of fine FIN-1.", "60.25")])
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
@each_row(
    ("question", "start"),
    ("Is kite KIT-7 open?", "Yes: it is open"),
    ("Is kite KIT-7 closed?", "No: it is open"),
    ("Is the fee of kite KIT-7 over 100.00?", "Yes: 120.00 is more than 100.00"),
    ("Does the fee of kite KIT-7 exceed 500.00?", "No: 120.00 is within 500.00"),
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
    close: Json = optional(tool("close_kite", kite_id="string", note="string"), "kite_id")
    first = planned(_TASK, _LISTS, [close])
    refused = "no source for: RED-5"
    again = planned(_TASK, [*_LISTS, _refused(first, refused)], [close])
    given_up = planned(_TASK, [*_LISTS, _refused(first, refused), _refused(again, "it flies")], [close])
    assert calls(first) == [("close_kite", {"kite_id": "KIT-1", "note": "RED-5"})]
    assert calls(again) == [("close_kite", {"kite_id": "KIT-1"})]
    assert (given_up.calls, "Not done" in given_up.text, "it flies" in given_up.text) == ((), True, True)


def _refused(plan: PlannerReply, why: str) -> Json:
    ((name, given),) = calls(plan)
    return {"tool": name, "arguments": given, "result": why, "is_error": True}


@each_row(
    ("task", "field", "amount"),
    ("Set the fee of kite KIT-7 to 250 cents.", "fee_cents", 250),
    ("Set the fee of kite KIT-7 to 1,250 cents.", "fee_cents", 1250),
    ("Set the fee of kite KIT-7 to 99 pence.", "fee_pence", 99),
    ("Set the fee of kite KIT-7 to $2.50.", "fee_cents", 250),
    ("Set the fee of kite KIT-7 to 250 cents.", "fee", Decimal("2.50")),
)
def test_an_amount_in_cents_is_proposed_in_the_unit_of_the_field(task: str, field: str, amount: Json) -> None:
    set_fee = tool("set_kite_fee", **{"kite_id": "string", field: "integer" if isinstance(amount, int) else "number"})
    seen: list[Json] = [fact("f1", "get_kite", {"kite_id": "KIT-7"}, {"id": "KIT-7", field: 100})]
    plan = planned(task, seen, [set_fee], [tool("get_kite", kite_id="string")])
    assert calls(plan) == [("set_kite_fee", {"kite_id": "KIT-7", field: amount})], plan.text


@each_row(
    ("task", "done"),
    ("Approve KIT-7 rather than KIT-8.", [("approve_kite", {"kite_id": "KIT-7"})]),
    ("I approved KIT-7 yesterday.", []),
    ("Approve KIT-7 tomorrow.", []),
    ("Approve KIT-7 twice.", []),
    ("Approve KIT-7 only after KIT-8 is approved.", []),
    ("Please approve KIT-7 promptly.", [("approve_kite", {"kite_id": "KIT-7"})]),
    ("Set the fee of KIT-7 to 5 less than KIT-8.", []),
    ("Set the fee of KIT-7 to 10% more.", []),
    ("Set the fee of KIT-7 to 5 times its fee.", []),
    ("Set the fee of KIT-7 to 12,50.", []),
    ("Set the fee of KIT-7 to 1.234,50.", []),
    ("Set the fee of KIT-7 to 12.50, please.", [("set_kite_fee", {"kite_id": "KIT-7", "fee": Decimal("12.50")})]),
    ("Approve all kites with a fee greater than or equal to 100.", [("approve_kite", {"kite_id": "KIT-8"})]),
    ("Approve all kites with a fee less than or equal to 50.", [("approve_kite", {"kite_id": "KIT-7"})]),
)
def test_what_a_clause_says_besides_is_heeded_or_nothing_is_done(task: str, done: list[Json]) -> None:
    rows: list[JsonObject] = [
        {"id": "KIT-7", "fee": 50, "state": "open"},
        {"id": "KIT-8", "fee": 100, "state": "open"},
    ]
    seen: list[Json] = [fact("f1", "list_kites", {}, [*rows])]
    seen += [fact(str(row["id"]), "get_kite", {"kite_id": row["id"]}, row) for row in rows]
    writers: list[Json] = [_APPROVE, tool("set_kite_fee", kite_id="string", fee="number")]
    plan = planned(task, seen, writers, [tool("get_kite", kite_id="string"), tool("list_kites")])
    assert calls(plan) == done, plan.text


_NOTIFY: Json = tool("notify_pilot", pilot_id="string", message="string")
_CLOSE_WITH_NOTE: Json = tool("close_kite", kite_id="string", note="string")
_LEND: Json = {**tool("lend_kite", kite_id="string", due_on="string"), "description": "Lends it later, next month."}


@pytest.mark.promise("planner.heeds_corrections")
@each_row(
    ("task", "is_done"),
    ("Approve kite KIT-7 tomorrow.", False),
    ("Tomorrow, approve kite KIT-7.", False),
    ("Tomorrow approve kite KIT-7.", False),
    ("Approve kite KIT-7 later today.", False),
    ("Approve kite KIT-7 next month.", False),
    ("Approve kite KIT-7 on 7 May.", False),
    ("Approve kite KIT-7 on Friday.", False),
    ("Approve kite KIT-7 by 2026-05-01.", False),
    ("Approve kite KIT-7 at the end of the month.", False),
    ("Approve kite KIT-7 in a few days.", False),
    ("Wait until Friday, then approve kite KIT-7.", False),
    ("Approve kite KIT-7. Do it tomorrow.", False),
    ("Approve kite KIT-7, but not before Friday.", False),
    ("Set the fee of kite KIT-7 to 10% of 200 tomorrow.", False),
    ("Notify pilot PIL-2 tomorrow that the hill is closed.", False),
    ('Notify pilot PIL-2 that "the hill is closed" tomorrow.', False),
    ("Close kite KIT-7 with note torn next month.", False),
    ("Genehmige den Antrag KIT-7 morgen.", False),
    ("Genehmige den Antrag KIT-7 nächste Woche.", False),
    ("Benachrichtige PIL-2 morgen, dass der Antrag offen ist.", False),
    ("Approuve la facture KIT-7 demain.", False),
    ("Approuve la facture KIT-7 la semaine prochaine.", False),
    ("Approve kite KIT-7 today.", True),
    ("Approve kite KIT-7 immediately.", True),
    ("Genehmige den Antrag KIT-7 heute.", True),
    ("The show is on Friday. Approve kite KIT-7.", True),
    ("Notify pilot PIL-2 that the hill is closed tomorrow.", True),
    ('Notify pilot PIL-2: "the hill is closed on Friday".', True),
    ('Close kite KIT-7 with note "torn next month".', True),
    ("Lend kite KIT-7 due on 2026-05-01.", True),
    ("Approve kite KIT-7 and notify PIL-2 once it is approved.", True),
    ('Reserve a sum of 200 for "a show in two weeks".', True),
    ("Reserve a sum of 200 for lunch on Monday.", True),
    ("Reserve a sum of 200 next month.", False),
)
def test_what_is_to_be_done_later_is_not_done_at_once(task: str, is_done: bool) -> None:
    kite: JsonObject = {"id": "KIT-7", "state": "open", "fee": 50, "due_on": "2026-04-02", "note": "flies on friday"}
    seen: list[Json] = [fact("f1", "get_kite", {"kite_id": "KIT-7"}, kite)]
    seen.append(fact("f2", "get_pilot", {"pilot_id": "PIL-2"}, {"id": "PIL-2", "name": "Ann Lee"}))
    set_fee = tool("set_kite_fee", kite_id="string", fee="number")
    fields: JsonObject = {"amount": {"type": "number"}, "purpose": {"type": "string", "description": "What it is for."}}
    schema: JsonObject = {"type": "object", "properties": fields, "required": [*fields]}
    reserve: Json = {"name": "reserve_sum", "description": "", "input_schema": schema}
    plan = planned(task, seen, [_APPROVE, _NOTIFY, _CLOSE_WITH_NOTE, _LEND, set_fee, reserve])
    assert bool(calls(plan)) is is_done, plan.text


@pytest.mark.promise("planner.heeds_not")
@each_row("task", "Never approve kite KIT-7 without a receipt.", "Genehmige KIT-7 nicht.", "Do not approve KIT-7.")
def test_a_task_that_only_forbids_is_told_that_it_asks_for_nothing(task: str) -> None:
    plan = planned(task, _FACTS, [_APPROVE])
    assert (calls(plan), plan.text) == ([], "Nothing is asked for: the task only says what is not to be done.")


@pytest.mark.promise("planner.answers_each_question")
@each_row("task", "Should I approve KIT-7?", "May I approve kite KIT-7?", "Should KIT-7 be approved?")
def test_whether_to_do_something_is_not_answered_with_a_record(task: str) -> None:
    plan = planned(task, _FACTS, [_APPROVE])
    assert (calls(plan), plan.text) == ([], f'Could not be found out: "{task}".')


_FINES: list[Json] = [
    {"id": "FIN-1", "state": "open", "amount": "80.00", "pilot_id": "PIL-1", "submitted_on": "2026-03-02"},
    {"id": "FIN-2", "state": "open", "amount": "20.00", "pilot_id": "PIL-2", "submitted_on": "2026-03-05"},
    {"id": "FIN-3", "state": "paid", "amount": "50.00", "pilot_id": "PIL-2", "submitted_on": "2026-03-09"},
]


@pytest.mark.promise("planner.each_of_many")
@each_row(
    ("task", "described", "paid"),
    ("Pay all open fines.", "Pay an open fine in full.", [("FIN-1", 80), ("FIN-2", 20)]),
    ("Pay all open fines over 50.", "Pay an open fine in full.", [("FIN-1", 80)]),
    ("Pay all open fines.", "Pay something of a fine.", "amount"),
    ("Pay all open fines over 50.", "Pay something of a fine.", "amount"),
    ("Pay all open fines.", "Pay an approved fine in full.", "is for what is approved, and FIN-1 is open"),
)
def test_a_tool_that_does_the_whole_takes_the_amount_of_each(task: str, described: str, paid: object) -> None:
    pay: Json = {**tool("pay_fine", fine_id="string", amount="number"), "description": described}
    plan = planned(task, [fact("f1", "list_fines", {}, _FINES)], [pay])
    if isinstance(paid, str):
        assert (plan.calls, paid in plan.text) == ((), True), plan.text
    else:
        assert [(given["fine_id"], given["amount"]) for _, given in calls(plan)] == paid


@pytest.mark.promise("planner.loses_no_part")
@each_row(
    ("told", "is_known"), ("the submitter", True), ("the filer", True), ("the approver", False), ("the tailor", False)
)
def test_who_submitted_a_thing_is_told_where_its_record_says_who(told: str, is_known: bool) -> None:
    facts = [
        fact("f1", "get_fine", {"fine_id": "FIN-1"}, _FINES[0]),
        fact("f2", "get_pilot", {"pilot_id": "PIL-1"}, {"id": "PIL-1", "name": "Ann Lee"}),
    ]
    writers: list[Json] = [
        tool("close_fine", fine_id="string"),
        tool("approve_fine", fine_id="string"),
        tool("notify_pilot", pilot_id="string", message="string"),
    ]
    plan = planned(f"Close fine FIN-1 and notify {told} that it is closed.", facts, writers)
    expected = [("notify_pilot", {"pilot_id": "PIL-1", "message": "It is closed."})] if is_known else []
    assert [call for call in calls(plan) if call[0] == "notify_pilot"] == expected


@pytest.mark.promise("planner.never_invents")
@each_row(
    ("task", "message"),
    ("Remind all pilots.", None),
    ("Remind all pilots with torn kites.", None),
    ("Remind pilot PIL-1 of FIN-1.", None),
    ("Remind all pilots that are unpaid, except Ann Lee.", None),
    ("Remind all pilots that owe us money.", None),
    ("Remind pilot PIL-1 that the hill is closed.", "The hill is closed."),
)
def test_a_notice_is_never_the_order_to_send_it(task: str, message: str | None) -> None:
    rows: list[Json] = [{"id": "PIL-1", "name": "Ann Lee"}, {"id": "PIL-2", "name": "Bo Ek"}]
    plan = planned(
        task, [fact("f1", "list_pilots", {}, rows)], [tool("notify_pilot", pilot_id="string", message="string")]
    )
    assert [given["message"] for _, given in calls(plan)] == ([message] if message else []), plan.text


@pytest.mark.promise("planner.loses_no_part")
def test_of_several_named_things_one_decided_already_is_left_out_and_no_notice_says_it_was_done() -> None:
    facts = [
        fact(f"f{n}", "get_kite", {"id": f"KIT-{n}"}, {"id": f"KIT-{n}", "state": state})
        for n, state in ((7, "open"), (8, "rejected"), (9, "open"))
    ]
    told = "Approve kites KIT-7, KIT-8 and KIT-9, and notify pilot PIL-1."
    plan = planned(told, facts, [_APPROVE, tool("notify_pilot", pilot_id="string", message="string")])
    assert calls(plan) == [("approve_kite", {"kite_id": "KIT-7"}), ("approve_kite", {"kite_id": "KIT-9"})]


@pytest.mark.promise("planner.loses_no_part")
@each_row(
    "task", "Approve kites KIT-7, KIT-8 and KIT-9, and notify pilot PIL-1.", "Approve all kites and notify pilot PIL-1."
)
def test_one_thing_that_is_done_already_stops_no_notice(task: str) -> None:
    states = {7: "open", 8: "approved", 9: "open"}
    facts = [fact("f1", "list_kites", {}, [{"id": f"KIT-{n}", "state": state} for n, state in states.items()])]
    plan = planned(task, facts, [_APPROVE, tool("notify_pilot", pilot_id="string", message="string")])
    assert [name for name, _ in calls(plan)] == ["approve_kite", "approve_kite", "notify_pilot"], plan.text


@pytest.mark.promise("planner.several")
@each_row(
    ("task", "answer"),
    ("Which kites are torn and the longest?", "K-2"),
    ("List all kites with their email.", "not understood: email"),  # a pilot of that id has one
)
def test_a_column_is_of_the_thing_and_a_superlative_chooses_one(task: str, answer: str) -> None:
    rows: list[Json] = [{"id": f"K-{n}", "state": "torn", "length": n} for n in (1, 2)]
    pilots: list[Json] = [{"id": f"K-{n}", "email": f"p{n}@x.example"} for n in (1, 2)]
    facts = [fact("f1", "list_kites", {}, rows), fact("f2", "list_pilots", {}, pilots)]
    assert answer in planned(task, facts, []).text


@pytest.mark.promise("planner.loses_no_part")
@each_row("described", "Pay an open fine in full.", "open full")
def test_a_named_thing_is_paid_by_its_whole_amount_as_all_are(described: str) -> None:
    pay: Json = {**tool("pay_fine", fine_id="string", amount="number"), "description": described}
    plan = planned("Pay FIN-1.", [fact("f1", "get_fine", {"fine_id": "FIN-1"}, _FINES[0])], [pay])
    assert calls(plan) == [("pay_fine", {"fine_id": "FIN-1", "amount": 80})], plan.text


@pytest.mark.promise("planner.loses_no_part")
def test_a_clause_that_names_its_thing_means_none_of_those_before() -> None:
    facts = [fact(f"f{n}", "get_kite", {"id": f"KIT-{n}"}, {"id": f"KIT-{n}", "state": "open"}) for n in (6, 7, 8)]
    facts.append(fact("f9", "list_pilots", {}, [{"id": "PIL-1", "name": "Ann Lee"}, {"id": "PIL-2", "name": "Bo Ek"}]))
    assign: Json = tool("assign_kite", kite_id="string", pilot_id="string")
    plan = planned("Approve KIT-6 and KIT-7, and assign KIT-8 to Ann Lee.", facts, [_APPROVE, assign])
    assert ("assign_kite", {"kite_id": "KIT-8", "pilot_id": "PIL-1"}) in calls(plan), plan.text


@pytest.mark.promise("planner.loses_no_part")
@each_row("told", "the tail is torn, wind high", "the tail is torn, with high wind", "the tail is torn")
def test_the_text_behind_a_colon_ends_before_another_field(told: str) -> None:
    schema: Json = {
        "type": "object",
        "properties": {"subject": {"type": "string"}, "wind": {"type": "string", "enum": ["low", "high"]}},
        "required": ["subject"],
    }
    plan = planned(
        f"Create a report: {told}.", [], [{"name": "create_report", "description": "", "input_schema": schema}]
    )
    ((_, given),) = calls(plan)
    assert (given["subject"], given.get("wind")) == ("the tail is torn", "high" if "wind" in told else None)


@pytest.mark.promise("planner.several")
@each_row(
    ("task", "answer"),
    ("List all torn kites with their fee.", "K-3 (fee 90), K-2 (fee 50)."),
    ("List all torn kites and the state.", "K-3 (state torn), K-2 (state torn)."),
    ("Which kites are torn, with their fee and state?", "K-3 (fee 90, state torn), K-2 (fee 50, state torn)."),
    (
        "List all torn kites with their colour.",
        'Could not be found out: "List all torn kites with their colour": not understood: colour.',
    ),
    (
        "List all torn kites with their fee and colour.",
        'Could not be found out: "List all torn kites with their fee and colour": not understood: colour.',
    ),
)
def test_what_a_list_is_to_say_of_each_is_said_or_named(task: str, answer: str) -> None:
    assert planned(task, _LISTED, []).text == answer

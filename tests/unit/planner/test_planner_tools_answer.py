"""Questions that the records answer by a day, an address or a sum, and what is done for each though one was refused."""

import pytest

from shared.domain.exact_json import Json, JsonObject
from tests.each_row import each_row
from tests.unit.planner.planner_requests import calls, fact, planned, proposed, said, tool

_NOW: Json = {"current_time": "2026-03-31T09:00:00+00:00"}


def _fine(state: str, due: str) -> list[Json]:
    return [fact("f1", "get_fine", {"fine_id": "FIN-1"}, {"id": "FIN-1", "due_on": due, "status": state})]


@pytest.mark.promise("planner.yes_or_no")
@each_row(
    ("question", "state", "due", "answer"),
    ("Is FIN-1 overdue?", "open", "2026-03-10", "Yes: FIN-1 is due on 2026-03-10 and is open."),
    ("Ist FIN-1 überfällig?", "open", "2026-03-10", "Yes: FIN-1 is due on 2026-03-10 and is open."),
    ("Is FIN-1 overdue?", "open", "2026-04-10", "No: FIN-1 is due on 2026-04-10 and is open."),
    ("Is FIN-1 overdue?", "paid", "2026-03-10", "No: FIN-1 is due on 2026-03-10 and is paid."),
    ("Is FIN-1 overdue?", "mislaid", "2026-03-10", "Could not be found out"),  # nobody knows whether that is settled
    ("Is FIN-1 overdue since Monday?", "open", "2026-03-10", "Could not be found out"),
)
def test_whether_one_thing_is_overdue_is_told_by_its_day_and_state(
    question: str, state: str, due: str, answer: str
) -> None:
    assert planned(question, _fine(state, due), [], now=_NOW).text.startswith(answer)


@pytest.mark.promise("planner.compares_what_is_said")
@each_row(
    ("state", "due", "is_sent"),
    ("open", "2026-03-10", True),
    ("open", "2026-04-10", False),
    ("paid", "2026-03-10", False),
    ("mislaid", "2026-03-10", False),
)
def test_what_is_to_be_done_if_a_thing_is_overdue_waits_for_its_day(state: str, due: str, is_sent: bool) -> None:
    plan = planned("Close FIN-1 if it is overdue.", _fine(state, due), [tool("close_fine", fine_id="string")], now=_NOW)
    assert bool(calls(plan)) is is_sent, plan.text


_PILOT: Json = fact(
    "f1", "get_pilot", {"pilot_id": "PIL-2"}, {"id": "PIL-2", "name": "Ann Lee", "email": "ann@x.example"}
)


def _parcels(column: str) -> Json:
    rows: list[Json] = [
        {"id": f"PAR-{number}", "status": "sent", column: address}
        for number, address in enumerate(("ann@x.example", "bob@x.example", "Ann@x.example"), 1)
    ]
    return fact("f2", "list_parcels", {}, rows)


@pytest.mark.promise("planner.answers_each_question")
def test_things_that_name_somebody_by_an_address_are_those_of_its_owner() -> None:
    facts = [_PILOT, _parcels("pilot_email")]
    assert "2" in planned("How many parcels did PIL-2 send?", facts, []).text
    assert planned("Which parcels of PIL-2 are sent?", facts, []).text == "PAR-1, PAR-3."
    plan = planned("Close all sent parcels of PIL-2.", facts, [tool("close_parcel", parcel_id="string")])
    assert [given for _, given in calls(plan)] == [{"parcel_id": "PAR-1"}, {"parcel_id": "PAR-3"}]


@pytest.mark.promise("planner.never_invents")
@each_row("column", "email", "shop_email", "note")
def test_an_address_of_another_column_tells_of_no_owner(column: str) -> None:
    facts = [_PILOT, _parcels(column)]
    assert "PAR-1" not in planned("Which parcels of PIL-2 are sent?", facts, []).text
    assert calls(planned("Close all sent parcels of PIL-2.", facts, [tool("close_parcel", parcel_id="string")])) == []


@pytest.mark.promise("planner.answers_each_question")
def test_how_much_somebody_claimed_is_the_sum_of_their_claims() -> None:
    readers: list[Json] = [
        {**tool("list_tolls"), "description": "List the toll claims."},
        {**tool("get_toll", toll_id="string"), "description": "Read a toll claim."},
    ]
    rows: list[Json] = [
        {"id": f"TOL-{number}", "pilot_id": pilot, "amount": f"{number}.50"}
        for number, pilot in enumerate(("PIL-2", "PIL-3", "PIL-2"), 1)
    ]
    answer = planned("How much did PIL-2 claim?", [_PILOT, fact("f2", "list_tolls", {}, rows)], [], readers)
    assert answer.text == "5.00 in total."


@pytest.mark.promise("planner.never_invents")
def test_names_are_no_answer_to_how_many() -> None:
    pilots = fact("f1", "list_pilots", {}, [{"id": "PIL-1", "name": "Ann Lee"}, {"id": "PIL-2", "name": "Bo Ek"}])
    kites = fact("f2", "list_kites", {}, [{"id": "KIT-1", "keeper": "x"}, {"id": "KIT-2", "keeper": "y"}])
    text = planned("How many kites does each pilot have?", [pilots, kites], []).text
    assert text.startswith("Could not be found out")


_FINES: list[Json] = [
    {"id": f"FIN-{number}", "status": "open", "stage": stage}
    for number, stage in enumerate(("new", "reminded", "new", "new"), 1)
]
_REMIND = proposed(tool("send_reminder", fine_id="string"))


def _after(task: str, *outcomes: JsonObject) -> tuple[list[Json], str]:
    """The fines for which a reminder is proposed once earlier ones came to these outcomes, and the answer."""
    so_far: list[Json] = [fact("f1", "list_fines", {}, _FINES)]
    so_far += [
        {"tool": "send_reminder", "arguments": {"fine_id": one["fine_id"]}, "result": {"status": one["status"]}}
        for one in outcomes
    ]
    answer = said({"task": task, "so_far": so_far}, [_REMIND])
    return [given["fine_id"] for _, given in calls(answer)], answer.text


@pytest.mark.promise("planner.each_of_many")
def test_for_each_of_many_one_that_is_done_is_left_out_and_one_that_was_refused_stops_no_other() -> None:
    task = "Send a reminder for all open fines."
    assert _after(task) == (["FIN-1", "FIN-3", "FIN-4"], "")
    done: JsonObject = {"fine_id": "FIN-1", "status": "sent"}
    refused: JsonObject = {"fine_id": "FIN-3", "status": "refused"}
    not_made: JsonObject = {"fine_id": "FIN-4", "status": "not made"}
    sent: JsonObject = {"fine_id": "FIN-4", "status": "sent"}
    assert _after(task, done, refused, not_made) == (["FIN-4"], "")
    proposals, answer = _after(task, done, refused, not_made, sent)
    assert (proposals, "Not done, refused" in answer, "FIN-2 is already reminded" in answer) == ([], True, True), answer


@pytest.mark.promise("planner.heeds_corrections")
def test_what_was_not_made_is_put_again_only_for_a_refusal_of_another_of_many() -> None:
    not_made: JsonObject = {"fine_id": "FIN-4", "status": "not made"}
    refused: JsonObject = {"fine_id": "FIN-3", "status": "refused"}
    done: JsonObject = {"fine_id": "FIN-1", "status": "sent"}
    assert _after("Send a reminder for all open fines.", done, {**refused, "status": "sent"}, not_made)[0] == []
    assert _after("Send a reminder for fine FIN-3 and fine FIN-4.", refused, not_made)[0] == []

"""What was done is said as a person would say it: the thing and what it is now, and what proves that."""

from datetime import UTC, datetime, time

import pytest

from services.planner.core.proposals import tell_made_call
from services.planner.core.spoken_times import find_time
from shared.domain.exact_json import Json, JsonObject
from tests.each_row import each_row
from tests.unit.planner.planner_requests import calls, fact, planned, tool

_KITE: Json = fact("f1", "get_kite", {"kite_id": "KIT-7"}, {"id": "KIT-7", "state": "open", "pilot_id": "PIL-2"})
_PILOT: Json = fact("f2", "get_pilot", {"pilot_id": "PIL-2"}, {"id": "PIL-2", "club": "north"})
_WRITERS: list[Json] = [
    tool("approve_kite", kite_id="string"),
    tool("reject_kite", kite_id="string", reason="string"),
    tool("set_fee", kite_id="string", fee="number"),
    tool("notify_pilot", pilot_id="string", message="string"),
]


@each_row(
    ("tool_name", "arguments", "note", "sentence"),
    ("approve_kite", {"kite_id": "K-1"}, "read back: state=approved", "K-1 is approved (read back: state=approved)."),
    ("reject_kite", {"kite_id": "K-1", "reason": "torn"}, "", "K-1 is rejected (reason torn)."),
    ("reject_kite", {"kite_id": "K-1", "reason": "torn"}, "reason=torn.", "K-1 is rejected (reason=torn)."),
    ("pay_fine", {"fine_id": "F-1"}, "", "F-1 is paid."),
    ("flag_fine", {"fine_id": "F-1"}, "", "F-1 is flagged."),
    ("submit_fine", {"fine_id": "F-1"}, "", "F-1 is submitted."),
    ("notify_pilot", {"pilot_id": "P-1", "message": "come in"}, "", 'P-1 is notified (message "come in").'),
    ("create_kite", {"pilot_id": "P-1"}, "", "Created: kite (pilot_id P-1)."),
    ("send_letter", {"kite_id": "K-1"}, "", "Sent: letter (kite_id K-1)."),
    ("mark_kite_torn", {"kite_id": "K-1"}, "", "K-1 is marked torn."),
)
def test_a_call_is_told_by_what_its_thing_is_now(
    tool_name: str, arguments: JsonObject, note: str, sentence: str
) -> None:
    assert tell_made_call(tool_name, arguments, "", note) == sentence


def test_a_call_that_nothing_confirmed_is_not_told_as_done() -> None:
    told = tell_made_call("pay_fine", {"fine_id": "F-1"}, "unverified", "get_fine shows state=open")
    assert told == "Not confirmed, status unverified: pay fine (fine_id F-1); get_fine shows state=open."


@each_row(
    ("text", "hour"),
    ("tomorrow at 9 pm", time(21)),
    ("tomorrow at 12 am", time(0)),
    ("tomorrow at 9", time(9)),
    ("tomorrow at 5 p.m.", time(17)),
)
def test_the_half_of_a_day_behind_an_hour_counts(text: str, hour: time) -> None:
    assert find_time(text, datetime(2026, 3, 12, 9, tzinfo=UTC)).hour == hour


@pytest.mark.promise("planner.tells_whom_a_process_names")
@each_row(
    ("task", "message"),
    ("Reject KIT-7 because it is torn and let PIL-2 know.", "KIT-7 is rejected."),
    ("Approve the kite KIT-7 and tell the pilot.", "The kite KIT-7 is approved."),
    ("Set the fee of KIT-7 to 12 and tell PIL-2.", "Set: the fee of KIT-7 to 12."),
    ("Lehne KIT-7 ab, weil er alt ist, und lass PIL-2 es wissen.", "KIT-7 ist abgelehnt."),
    ("Genehmige KIT-7 und lass PIL-2 es wissen.", "KIT-7 ist genehmigt."),
    ("Rejette KIT-7 parce qu'il est vieux et fais-le savoir à PIL-2.", "Rejeté : KIT-7."),
    ("Lass PIL-2 wissen, dass das Tor offen steht.", "Das Tor offen steht."),
    ("Benachrichtige PIL-2, dass das Tor offen steht.", "Das Tor offen steht."),
    ("Informe PIL-2 que la porte est ouverte.", "La porte est ouverte."),
)
def test_somebody_is_told_what_was_done_or_said_in_the_language_of_the_task(task: str, message: str) -> None:
    plan = calls(planned(task, [_KITE, _PILOT], _WRITERS))
    assert [given["message"] for name, given in plan if name == "notify_pilot"] == [message]


@pytest.mark.promise("planner.loses_no_part")
@each_row(
    ("task", "proposed"),
    ("Lehne KIT-7 ab, weil niemand es wissen will.", "niemand es wissen will"),
    ("Rejette KIT-7 parce qu'il faut le savoir.", "il faut le savoir"),
)
def test_a_reason_that_speaks_of_knowing_tells_nobody(task: str, proposed: str) -> None:
    assert calls(planned(task, [_KITE, _PILOT], _WRITERS)) == [
        ("reject_kite", {"kite_id": "KIT-7", "reason": proposed})
    ]


@pytest.mark.promise("planner.heeds_not")
def test_what_has_to_come_first_is_no_message() -> None:
    plan = planned("Informe PIL-2 dès que KIT-7 est approuvé.", [_KITE, _PILOT], _WRITERS)
    assert (calls(plan), "is open" in plan.text) == ([], True), plan.text

"""A question that goes from one record to another is answered at its end, or refused: never by a record on the way."""

import pytest

from shared.domain.exact_json import Json
from tests.each_row import each_row
from tests.unit.planner.planner_requests import fact, planned, said

pytestmark = pytest.mark.promise("planner.answers_each_question")

_FLIGHT: Json = {
    "id": "FLI-3",
    "flight_number": "HX-90",
    "pilot_id": "PIL-2",
    "member_id": "MEM-5",
    "booked_by": "PIL-4",
    "submitted_at": "2026-03-03",
    "fee": "12.00",
    "total": "80.50",
}
_PILOT: Json = {"id": "PIL-2", "name": "Ann Lee", "trainer_id": "PIL-4", "birth_date": "1990-01-02", "club": "Harbour"}
_TRAINER: Json = {"id": "PIL-4", "name": "Bob Ray", "club": "Hill", "phone": "+1 555 0101"}
_JAMES: Json = {"id": "PIL-8", "name": "Tom James", "trainer_id": "PIL-4", "club": "Hill", "email": "tom@hill.example"}
_SEEN: list[Json] = [
    fact("f1", "get_flight", {"flight_id": "FLI-3"}, _FLIGHT),
    fact("f2", "get_pilot", {"pilot_id": "PIL-2"}, _PILOT),
    fact("f4", "get_report", {"id": "REP-1"}, {"id": "REP-1", "pilot_id": "PIL-2", "submitted_at": "2026-03-04"}),
    fact("f3", "get_pilot", {"pilot_id": "PIL-4"}, _TRAINER),
]


@each_row(
    ("question", "answer"),
    ("Who is the trainer of the pilot of flight FLI-3?", "Trainer: PIL-4 (Bob Ray)."),
    ("Who trains the pilot of flight FLI-3?", "Trainer: PIL-4 (Bob Ray)."),
    ("What is the phone of the trainer of the pilot of FLI-3?", "The phone of PIL-4 is +1 555 0101."),
    ("What is PIL-2's trainer's club?", "The club of PIL-4 is Hill."),
    ("What is the club of Ann Lee's trainer?", "The club of PIL-4 is Hill."),
    ("What is the club of the pilot that booked flight FLI-3?", "The club of PIL-4 is Hill."),
    ("What is the date of birth of pilot PIL-2?", "The birth date of PIL-2 is 1990-01-02."),
    ("Who is the pilot of flight FLI-3?", "Pilot: PIL-2 (Ann Lee)."),
    ("Who booked flight FLI-3?", "Booked by: PIL-4 (Bob Ray)."),
    ("Who submitted report REP-1?", "Pilot: PIL-2 (Ann Lee)."),
    ("How much is flight FLI-3?", "The total of FLI-3 is 80.50."),
    ("How much does charter FLI-3 cost?", "The total of FLI-3 is 80.50."),
    ("How much was flight FLI-3 and who booked it?", "The total of FLI-3 is 80.50. Booked by: PIL-4 (Bob Ray)."),
    (
        "Who booked flight FLI-3, and how much was that flight?",
        "Booked by: PIL-4 (Bob Ray). The total of FLI-3 is 80.50.",
    ),
)
def test_each_step_leads_from_a_record_to_the_one_that_it_names(question: str, answer: str) -> None:
    assert planned(question, _SEEN, []).text == answer


@each_row(
    "question",
    "Who is the trainer of the pilot that approved flight FLI-3?",
    "Which pilot cancelled flight FLI-3?",
    "Who approved flight FLI-3?",
    "Who submitted flight FLI-3?",
    "What is the club of the member of flight FLI-3?",
    "What is the club of the member that booked flight FLI-3?",
    "Which club does the pilot that booked flight FLI-3 belong to?",
    "When was the pilot of flight FLI-3 born?",
    "Is the pilot of flight FLI-3 ill?",
    "What is the colour of the pilot of flight FLI-3?",
    "Who is the mentor of the pilot of flight FLI-3?",
    "Who is the trainer of the trainer of pilot PIL-2?",
    "What is the club of the pilot of flight FLI-3 in winter?",
)
def test_a_record_on_the_way_is_no_answer(question: str) -> None:
    text = planned(question, _SEEN, []).text
    assert text.startswith(f'Could not be found out: "{question}"')


@each_row(
    ("question", "answer"),
    ("What are the fee and the total of flight FLI-3?", "The fee of FLI-3 is 12.00. The total of FLI-3 is 80.50."),
    ("What is the club and phone of Bob Ray?", "The club of PIL-4 is Hill. The phone of PIL-4 is +1 555 0101."),
    ("Give me the trainer and the club of PIL-2.", "Trainer: PIL-4 (Bob Ray). The club of PIL-2 is Harbour."),
    ("What are PIL-2's club and name?", "The club of PIL-2 is Harbour. The name of PIL-2 is Ann Lee."),
    ("What is the pilot of FLI-3 and its fee?", "Pilot: PIL-2 (Ann Lee). The fee of FLI-3 is 12.00."),
    ("What are the club of PIL-2 and PIL-4?", "The club of PIL-2 is Harbour. The club of PIL-4 is Hill."),
    ("Who is the pilot of FLI-3 and REP-1?", "FLI-3: Pilot: PIL-2 (Ann Lee). REP-1: Pilot: PIL-2 (Ann Lee)."),
)
def test_each_field_and_each_thing_that_is_asked_for_is_told(question: str, answer: str) -> None:
    assert planned(question, _SEEN, []).text == answer


@each_row(
    ("question", "answer"),
    (
        "Who is the trainer of Ann Lee, and what is his phone?",
        "Trainer: PIL-4 (Bob Ray). The phone of PIL-4 is +1 555 0101.",
    ),
    (
        "Who is Tom James' trainer, and what is her or his phone?",
        "Trainer: PIL-4 (Bob Ray). The phone of PIL-4 is +1 555 0101.",
    ),
    (
        "What is the club of Ann Lee, and what is her birth date?",
        "The club of PIL-2 is Harbour. The birth date of PIL-2 is 1990-01-02.",
    ),
    ("Who is the pilot of flight FLI-3, and what is its fee?", "Pilot: PIL-2 (Ann Lee). The fee of FLI-3 is 12.00."),
    ("What is Tom James' e-mail?", "The email of PIL-8 is tom@hill.example."),
)
def test_his_and_hers_is_of_the_one_who_was_asked_for_before(question: str, answer: str) -> None:
    seen = [*_SEEN, fact("f5", "get_pilot", {"pilot_id": "PIL-8"}, _JAMES)]
    assert planned(question, seen, []).text == answer


@each_row(
    ("question", "told", "open_part"),
    ("What are the fee and the colour of FLI-3?", "The fee of FLI-3 is 12.00.", "the colour of FLI-3"),
    ("What are the fee and the club of FLI-3?", "The fee of FLI-3 is 12.00.", "the club of FLI-3"),
    ("What is the club of PIL-2 and PIL-9?", "The club of PIL-2 is Harbour.", "the club of PIL-9"),
    ("What is the fee of FLI-3 and of report REP-1?", "", "the fee of FLI-3 and of report REP-1"),
    ("How much are FLI-3 and REP-1 together?", "", "FLI-3 and REP-1 together"),
    ("Are all flights of PIL-2 open?", "", "all flights of PIL-2"),
)
def test_what_is_open_of_a_question_is_said_beside_what_is_told(question: str, told: str, open_part: str) -> None:
    text = planned(question, _SEEN, []).text
    assert text.startswith(told or "Could not be found out")
    assert open_part in text.removeprefix(told)
    assert text.count(".00") + text.count("Harbour") == bool(told)


def test_what_is_not_known_on_the_way_is_named() -> None:
    text = planned("What is the club of the member of flight FLI-3?", _SEEN, []).text
    assert text.endswith(": nothing shows what MEM-5 is.")


_FLIGHTS: list[Json] = [
    {"id": "FLI-5", "pilot_id": "PIL-4", "fee": "12.00", "state": "open"},
    {"id": "FLI-6", "pilot_id": "PIL-2", "fee": "90.00", "state": "open"},
    {"id": "FLI-7", "pilot_id": "PIL-4", "fee": "95.00", "state": "closed"},
    {"id": "FLI-8", "pilot_id": "PIL-4", "fee": "12.00", "state": "closed"},
]
_LISTED: list[Json] = [fact("f0", "list_flights", {}, _FLIGHTS), *_SEEN[1:2], *_SEEN[3:]]


@each_row(
    ("question", "answer"),
    ("Who is the pilot of the most expensive open flight?", "Pilot: PIL-2 (Ann Lee)."),
    ("Who is the trainer of the pilot of the most expensive open flight?", "Trainer: PIL-4 (Bob Ray)."),
    ("What is the club of the pilot with the largest open flight?", "The club of PIL-2 is Harbour."),
    ("What is the club of the pilot of the flight with the highest fee?", "The club of PIL-4 is Hill."),
    (
        "What are the state and the fee of the largest flight?",
        "The state of FLI-7 is closed. The fee of FLI-7 is 95.00.",
    ),
    ("Which flight has the highest fee?", "FLI-7 (fee 95.00)."),
)
def test_a_thing_that_a_superlative_names_is_where_the_steps_begin(question: str, answer: str) -> None:
    assert planned(question, _LISTED, []).text == answer


@each_row(
    "question",
    "Who is the pilot of the cheapest flight?",
    "Who is the pilot of the largest flights?",
    "Who is the pilot of the longest flight in winter?",
    "Who booked the most expensive open flight?",
    "What is the colour of the most expensive open flight?",
    "Which pilot has the most flights at night?",
    "What is the club of the pilot with the most flights?",
    "Whose flights are open?",
)
def test_a_thing_on_the_way_that_nobody_can_tell_is_not_told_in_place_of_the_answer(question: str) -> None:
    text = planned(question, _LISTED, []).text
    assert text.startswith("Could not be found out")
    assert not any(fee in text for fee in ("12.00", "90.00", "95.00"))


def test_the_largest_of_a_list_that_was_not_read_to_its_end_is_nothing() -> None:
    part: Json = {"flights": _FLIGHTS, "has_more": True}
    text = planned("Who is the pilot of the largest flight?", [fact("f0", "list_flights", {}, part)], []).text
    assert "PIL-4" not in text


@each_row(
    ("question", "state"),
    ("Who lent the largest kite?", {}),
    ("Which kites are lent?", {"state": "lent"}),
    ("Who has the largest lent kite?", {"state": "lent"}),
)
def test_what_somebody_did_to_a_thing_is_no_state_of_it(question: str, state: Json) -> None:
    schema: Json = {"type": "object", "properties": {"state": {"type": "string", "enum": ["lent", "torn"]}}}
    listing: Json = {"name": "list_kites", "description": "", "input_schema": schema}
    assert said({"task": question}, [listing]).calls == (("list_kites", state),)

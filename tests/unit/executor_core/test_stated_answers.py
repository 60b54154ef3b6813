"""A change whose part depends on an answer is held against the answer that was read."""

from datetime import UTC, datetime

import pytest

from services.executor.core.plan.faults import PartContext
from services.executor.core.plan.sources import KnownSources, SourcedCall, SourceFinder
from services.executor.core.session.values import Fact
from shared.domain.exact_json import Json, JsonObject
from shared.domain.words import ToolClass
from tests.each_row import each_row
from tests.unit.executor_core.makers import call, fact, tool

pytestmark = pytest.mark.promise("conversation.agreement")

NOW = datetime(2026, 11, 27, 9, tzinfo=UTC)
SUITS, FREE = "Ask Ann Lee whether Tuesday still suits her", "Is room 12 free on Tuesday"


def _ask(reply: Json, question: str = "Does Tuesday still suit you?", person: str = "E-1", ref: str = "r1") -> Fact:
    return fact(reply, ref, "contact_person", asked={"person_id": person, "question": question})


def _find(question: str, quote: str, *facts: Fact, booking: str = "B-7") -> SourcedCall:
    """What is found in a move of a booking, for the part ``quote`` that stands after the question in the task."""
    task = f"{question}. {quote}." if question else quote
    called = tool("move_booking", ToolClass.CHANGE, {"type": "object", "properties": {"booking_id": {}}})
    planned = call({"booking_id": booking}, tool=called.name, tool_class=called.tool_class)
    facts = (*facts, fact([{"booking_id": "B-7"}, {"booking_id": "B-8"}], "r9", "list_bookings"))
    part = PartContext(quote, [question] if question else [])
    return SourceFinder(KnownSources((task,), facts, (), NOW, (task,))).find_sources(planned, called, part)


def _read_reason(found: SourcedCall) -> str:
    assert not found.problems
    return " ".join(origin.against for origin in found.call.origins)


@each_row(
    ("question", "quote", "reply", "told"),
    [
        (SUITS, "If so, move B-7", {"reply": "No, it does not."}, "the answer is reply: No, it does not."),
        (SUITS, "if it does not, move B-7", {"reply": "Yes, it does."}, "the answer is reply: Yes"),
        (SUITS, "if it does not, move B-7", {"reply": "no"}, ""),
        (SUITS, "but if not, move B-7", {"data": {"answer": True}}, "this part says but if not"),
        (SUITS, "Falls ja, verschiebe B-7", {"reply": "Nein, leider."}, "reply: Nein"),
        (SUITS, "Si oui, déplace B-7", {"reply": "Oui"}, ""),
        ("", f"{SUITS}, and if so, move B-7", {"reply": "Yes, it does."}, ""),
        # a yes with a reservation is no plain yes, and no plain no
        (
            SUITS,
            "If so, move B-7",
            {"reply": "Yes, but not on Tuesday."},
            "the answer is reply: Yes, but not on Tuesday",
        ),
        (SUITS, "If not, move B-7", {"reply": "Yes, if it must be."}, "reply: Yes, if it must be."),
        (SUITS, "Falls ja, verschiebe B-7", {"reply": "Ja, aber erst um zehn."}, "reply: Ja, aber"),
        (SUITS, "If so, move B-7", {"reply": "Yes, not a problem. If you need more, call me."}, ""),
        (SUITS, "Si oui, déplace B-7", {"reply": "Oui, pas de problème."}, ""),
        (SUITS, "If not, move B-7", {"reply": "No, but Wednesday does."}, ""),
        # what has words of its own, or two sides, is for no code to read
        (SUITS, "If she objects, move B-7", {"reply": "No, it does not."}, ""),
        (SUITS, "If so, tell Bob; if not, move B-7", {"reply": "No, it does not."}, ""),
        (SUITS, "Move B-7", {"reply": "No, it does not."}, ""),
        ("Ask Ann Lee whether Tuesday does not suit her", "If so, move B-7", {"reply": "No, it does."}, ""),
        # what is no plain yes or no
        (SUITS, "If so, move B-7", {"reply": "No problem at all"}, ""),
        (SUITS, "If so, move B-7", {"reply": "Tuesday? I cannot say."}, ""),
        (SUITS, "If so, move B-7", {"agrees": False, "answer": True}, ""),
        # a field that tells of the message, not of the answer, and an answer beside words that may say more
        (SUITS, "If not, move B-7", {"answered": True, "text": "Sorry, Tuesday is impossible."}, ""),
        (SUITS, "If so, move B-7", {"urgent": "no", "reply": "Sure, fine with me."}, ""),
        (SUITS, "If so, move B-7", {"agrees": False, "remark": "but Wednesday is no better, so take Tuesday"}, ""),
        (SUITS, "If so, move B-7", {"question": "Does Tuesday still suit you?", "reply": "No."}, "reply: No."),
    ],
)
def test_a_part_that_depends_on_an_answer_is_held_against_it(question: str, quote: str, reply: Json, told: str) -> None:
    reason = _read_reason(_find(question, quote, _ask(reply)))
    assert told in reason
    assert bool(told) is bool(reason), reason


@each_row(
    ("quote", "read", "told"),
    [
        ("If it is, move B-7", {"room": "12", "free": False}, "the answer is free: false"),
        ("If it is, move B-7", {"room": "12", "isFree": True}, ""),
        ("If it is, move B-7", {"room": "12", "smoking": False}, ""),
        ("If it is, move B-7", [{"room": "12", "free": True}, {"room": "13", "free": False}], ""),
        ("If it is, move B-7", {"room": "12", "no_longer_free": False}, ""),
        ("If it is, move B-7", {"room": "12", "free": False, "view": "looks over the lake"}, "free: false"),
    ],
)
def test_a_truth_value_answers_the_question_that_has_its_name(quote: str, read: Json, told: str) -> None:
    reason = _read_reason(_find(FREE, quote, fact(read, "r1", "get_room", asked={"room": "12"})))
    assert told in reason
    assert bool(told) is bool(reason), reason


@each_row(
    ("asked", "read", "is_told"),
    [
        ({"invoice_id": "I-7"}, {"paid": True}, True),
        ({"status": "open"}, {"invoice_id": "I-7", "paid": True}, True),
        ({"invoice_id": "I-9"}, {"paid": True}, False),
        ({"invoice_id": "I-77"}, {"paid": True}, False),
    ],
)
def test_a_read_of_another_record_than_the_question_names_is_no_answer(
    asked: JsonObject, read: Json, is_told: bool
) -> None:
    answer = fact(read, "r1", "get_invoice", asked=asked)
    reason = _read_reason(_find("Check whether invoice I-7 is paid", "If not, move B-7", answer))
    assert ("the answer is paid: true" in reason) is is_told, reason


@each_row(("room", "is_told"), [("RM-1", True), ("RM-2", False)])
def test_a_read_names_a_record_by_its_id_as_the_question_does_by_its_number(room: str, is_told: bool) -> None:
    rooms = fact([{"room_id": "RM-1", "number": 12}, {"room_id": "RM-2", "number": 13}], "r1", "list_rooms")
    free = fact({"room_id": room, "free": False}, "r2", "check_room", asked={"room_id": room})
    reason = _read_reason(_find(FREE, "If it is, move B-7", rooms, free))
    assert ("the answer is free: false" in reason) is is_told, reason


def test_a_question_in_other_words_may_have_the_contrary_answer() -> None:
    no_longer = _ask({"reply": "Yes, it does."}, "Would you like another day?")
    reversed_question = _ask({"reply": "Yes, it does."}, "Does Tuesday not suit you?")
    assert not _read_reason(_find(SUITS, "If not, move B-7", no_longer))
    assert not _read_reason(_find(SUITS, "If not, move B-7", reversed_question))


def test_of_two_answers_the_one_about_the_record_of_the_call_counts() -> None:
    question, asked = "Ask both guests whether Tuesday still suits them", "Does Tuesday still suit you?"
    answers = (_ask({"reply": "No."}, asked, "B-7", "r1"), _ask({"reply": "Yes."}, asked, "B-8", "r2"))
    others = (_ask({"reply": "No."}, asked, "E-1", "r1"), _ask({"reply": "Yes."}, asked, "E-2", "r2"))
    assert _read_reason(_find(question, "If so, move the booking", *answers, booking="B-7"))
    assert not _read_reason(_find(question, "If so, move the booking", *answers, booking="B-8"))
    assert not _read_reason(_find(question, "If so, move the booking", *others))


def test_an_answer_to_the_part_before_last_counts_for_nothing() -> None:
    task = f"{SUITS}. Is the room heated? If so, move B-7."
    called = tool("move_booking", ToolClass.CHANGE, {"type": "object", "properties": {"booking_id": {}}})
    planned = call({"booking_id": "B-7"}, tool=called.name, tool_class=called.tool_class)
    part = PartContext("If so, move B-7", ["Is the room heated", SUITS])
    sources = KnownSources((task,), (_ask({"reply": "No."}),), (), NOW, (task,))
    assert not _read_reason(SourceFinder(sources).find_sources(planned, called, part))

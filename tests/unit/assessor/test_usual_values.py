"""What an author may leave out of a scenario's world."""

import pytest

from services.assessor.core.usual_values import fill_usual_values
from shared.contracts.assessment.messages import JsonObject
from tests.each_row import each_row

pytestmark = pytest.mark.promise("assess.usual_values")
NOW = "2026-03-02T09:00:00+00:00"
MIA, BEN, PHONE, OTHER = "mia@corp.example", "ben@corp.example", "+15550100020", "+15550100021"
SCENARIO: JsonObject = {
    "start_time": NOW,
    "user_character": "mia",
    "characters": {"mia": {"name": "Mia", "email": MIA, "phone": PHONE}},
}
MAIL: JsonObject = {"from_address": BEN, "subject": "Hi", "body_text": "There"}


def test_the_time_is_the_scenarios_beginning_and_every_state_says_what_it_is_since_when_and_whose() -> None:
    time = _environment({})["time_state"]

    assert time == {
        "current_time": NOW,
        "time_scale": 1.0,
        "is_paused": False,
        "auto_advance": False,
        "last_wall_time_update": NOW,
    }
    states = _states({"email": {}, "sms": {}, "weather": {"last_updated": "2026-03-01T00:00:00Z"}})

    assert states["email"] == {"modality_type": "email", "last_updated": NOW, "user_email_address": MIA}
    assert _in(states, "sms")["user_phone_number"] == PHONE
    assert states["weather"] == {"modality_type": "weather", "last_updated": "2026-03-01T00:00:00Z"}


def test_a_mail_has_its_key_and_thread_and_comes_to_the_user_as_do_those_and_texts_that_come_later() -> None:
    early = "2026-03-02T08:00:00Z"
    given: JsonObject = {"a": MAIL, "b": {**MAIL, "sent_at": early, "thread_id": "t"}}
    emails = _in(_states({"email": {"emails": given}}), "email", "emails")

    assert emails["a"] == {
        **MAIL, "message_id": "a", "thread_id": "thread-a", "to_addresses": [MIA], "sent_at": NOW, "received_at": NOW
    }  # fmt: skip
    assert (_in(emails, "b")["thread_id"], _in(emails, "b")["received_at"]) == ("t", early)
    later: list[JsonObject] = [
        {"modality": "email", "data": {"operation": "receive", **MAIL}},
        {"modality": "sms", "data": {"operation": "receive_message", "from_number": OTHER, "to_numbers": [OTHER]}},
        {"modality": "chat", "data": {"operation": "send_message"}},
    ]
    made = fill_usual_values({"environment": {"modality_states": {}}, "events": {"events": [*later]}}, SCENARIO)

    mail: JsonObject = {"operation": "receive", **MAIL, "to_addresses": [MIA]}
    assert _in(made, "events")["events"] == [{**later[0], "data": mail}, later[1], later[2]]


def test_texts_of_the_same_people_are_one_conversation() -> None:
    texts: JsonObject = {
        "a": {"from_number": OTHER, "body": "Hi"},
        "b": {"from_number": PHONE, "to_numbers": [OTHER], "body": "Hello"},
    }
    sms = _in(_states({"sms": {"messages": texts}}), "sms")
    messages = [_in(sms, "messages", key) for key in ("a", "b")]

    [key] = _in(sms, "conversations")
    conversation = _in(sms, "conversations", key)
    assert {one["thread_id"] for one in messages} == {conversation["thread_id"]} == {key}
    assert [one["direction"] for one in messages] == ["incoming", "outgoing"]
    assert conversation["participants"] == [{"phone_number": one, "joined_at": NOW} for one in (PHONE, OTHER)]
    assert conversation["conversation_type"] == "one_on_one"


def test_what_is_said_in_the_chat_entries_and_contacts_have_ids_and_times() -> None:
    states = _states({
        "chat": {"messages": [{"role": "user", "content": "Hi"}]},
        "calendar": {"events": {"e": {"title": "Talk"}}},
        "contacts": {"contacts": {"c": {"first_name": "Ben"}}},
    })  # fmt: skip

    talk: JsonObject = {"title": "Talk", "event_id": "e", "created_at": NOW, "updated_at": NOW}
    assert _in(states, "chat")["messages"] == [
        {
            "role": "user",
            "content": "Hi",
            "message_id": "message-1",
            "conversation_id": "user-assistant",
            "timestamp": NOW,
        }
    ]
    assert _in(states, "calendar", "events", "e") == talk
    assert _in(states, "contacts", "contacts", "c")["contact_id"] == "c"


def test_null_is_as_good_as_left_out_and_what_is_given_counts() -> None:
    given: JsonObject = {"time_scale": 2.0, "is_paused": None}

    time = _in(_environment({}, given), "time_state")

    assert (time["time_scale"], time["is_paused"]) == (2.0, False)


@each_row("state", [{}, {"environment": {"modality_states": []}}, {"scenario": {}}])
def test_what_has_the_wrong_shape_is_left_to_its_reader(state: JsonObject) -> None:
    assert fill_usual_values(state, SCENARIO) == state


def _environment(states: JsonObject, time: JsonObject | None = None) -> JsonObject:
    given: JsonObject = {"environment": {"modality_states": states, "time_state": time}}
    return _in(fill_usual_values(given, SCENARIO), "environment")


def _states(states: JsonObject) -> JsonObject:
    return _in(_environment(states), "modality_states")


def _in(value: JsonObject, *names: str) -> JsonObject:
    found = value
    for name in names:
        inner = found[name]
        assert isinstance(inner, dict)
        found = inner
    return found

"""What an author may leave out of a scenario's world: values that follow from the scenario, or are the same for all."""

from collections.abc import Callable, Mapping

from pydantic import JsonValue

from shared.contracts.assessment.messages import TASK_CONVERSATION, JsonObject

USUAL_PHONE = "+15550000000"


def fill_usual_values(state: JsonObject, scenario: Mapping[str, JsonValue]) -> JsonObject:
    """The world with its usual values. What has the wrong shape is left as it is, for its reader to refuse.

    What is given counts, ``null`` is as good as left out.
    """
    wrapped = "metadata" not in state and isinstance(state.get("scenario"), dict)
    contents = _object_or_empty(state["scenario"]) if wrapped else state
    environment, user = _object_or_empty(contents.get("environment")), _find_user(scenario)
    states = environment.get("modality_states")
    if not isinstance(states, dict):
        return state
    time = _time_state(_object_or_empty(environment.get("time_state")), scenario)
    world = _UsualValues(str(time["current_time"]), user.get("email"), user.get("phone") or USUAL_PHONE)
    filled_states = {
        name: world.fill_state(name, modality_state) if isinstance(modality_state, dict) else modality_state
        for name, modality_state in states.items()
    }
    filled: JsonObject = {
        **contents,
        "environment": {**environment, "time_state": time, "modality_states": filled_states},
    }
    if isinstance(events := _object_or_empty(contents.get("events")).get("events"), list):
        filled["events"] = {
            "events": [world.fill_event(event) if isinstance(event, dict) else event for event in events]
        }
    return {**state, "scenario": filled} if wrapped else filled


def _time_state(time_state: JsonObject, scenario: Mapping[str, JsonValue]) -> JsonObject:
    now = time_state.get("current_time") or scenario.get("start_time")
    usual: JsonObject = {"time_scale": 1.0, "is_paused": False, "auto_advance": False, "last_wall_time_update": now}
    return _fill_in(time_state, {"current_time": now, **usual})


class _UsualValues:
    """Fills in a world's usual values, which depend on its user's addresses and the time at which it begins."""

    def __init__(self, now: str, address: JsonValue, phone: JsonValue) -> None:
        self._now = now
        self._address = address
        self._phone = phone
        self._kinds: Mapping[str, Callable[[JsonObject], JsonObject]] = {
            "email": self._fill_email,
            "sms": self._fill_sms,
            "chat": self._fill_chat,
            "calendar": self._fill_calendar,
            "contacts": self._fill_contacts,
        }

    def fill_state(self, name: str, given: JsonObject) -> JsonObject:
        state = _fill_in(given, {"modality_type": name, "last_updated": self._now})
        return self._kinds[name](state) if name in self._kinds else state

    def fill_event(self, event: JsonObject) -> JsonObject:
        """Mail and texts that come later come to the user."""
        data = _object_or_empty(event.get("data"))
        usual: JsonObject = {}
        if (event.get("modality"), data.get("operation")) == ("email", "receive"):
            usual = {"to_addresses": [self._address]}
        if (event.get("modality"), data.get("operation")) == ("sms", "receive_message"):
            usual = {"to_numbers": [self._phone]}
        return {**event, "data": _fill_in(data, usual)} if usual else event

    def _fill_email(self, state: JsonObject) -> JsonObject:
        return _fill_in(state, {"user_email_address": self._address}) | _fill_rows(state, "emails", self._fill_mail)

    def _fill_mail(self, key: str, mail: JsonObject) -> JsonObject:
        at = mail.get("sent_at") or mail.get("received_at") or self._now
        ids = {"message_id": key, "thread_id": f"thread-{key}"}
        return _fill_in(mail, {**ids, "to_addresses": [self._address], "sent_at": at, "received_at": at})

    def _fill_sms(self, state: JsonObject) -> JsonObject:
        filled = _fill_in(state, {"user_phone_number": self._phone}) | _fill_rows(state, "messages", self._fill_text)
        messages = [
            message for message in _object_or_empty(filled.get("messages")).values() if isinstance(message, dict)
        ]
        conversations = _object_or_empty(filled.get("conversations"))
        begun = {str(message.get("thread_id")): self._conversation_of(message) for message in reversed(messages)}
        return {**filled, "conversations": {**begun, **conversations}}

    def _fill_text(self, key: str, text: JsonObject) -> JsonObject:
        filled = _fill_in(text, {"message_id": key, "to_numbers": [self._phone], "sent_at": self._now})
        direction = "outgoing" if filled.get("from_number") == self._phone else "incoming"
        return _fill_in(filled, {"thread_id": f"thread-{'-'.join(_phone_numbers(filled))}", "direction": direction})

    def _conversation_of(self, text: JsonObject) -> JsonObject:
        numbers, at = _phone_numbers(text), text.get("sent_at")
        return {
            "thread_id": text.get("thread_id"),
            "conversation_type": "group" if len(numbers) > 2 else "one_on_one",
            "participants": [{"phone_number": number, "joined_at": at} for number in numbers],
            "created_at": at,
        }

    def _fill_chat(self, state: JsonObject) -> JsonObject:
        messages = state.get("messages")
        if not isinstance(messages, list):
            return state
        usual: JsonObject = {"conversation_id": TASK_CONVERSATION, "timestamp": self._now}
        filled: list[JsonValue] = [
            _fill_in(message, {"message_id": f"message-{number}", **usual}) if isinstance(message, dict) else message
            for number, message in enumerate(messages, 1)
        ]
        return {**state, "messages": filled}

    def _fill_calendar(self, state: JsonObject) -> JsonObject:
        return state | _fill_rows(
            state, "events", lambda key, one: _fill_in(one, {"event_id": key, **self._creation_times()})
        )

    def _fill_contacts(self, state: JsonObject) -> JsonObject:
        return state | _fill_rows(
            state, "contacts", lambda key, one: _fill_in(one, {"contact_id": key, **self._creation_times()})
        )

    def _creation_times(self) -> JsonObject:
        return {"created_at": self._now, "updated_at": self._now}


def _fill_rows(state: JsonObject, table: str, fill: Callable[[str, JsonObject], JsonObject]) -> JsonObject:
    rows = state.get(table)
    if not isinstance(rows, dict):
        return {}
    return {table: {key: fill(key, row) if isinstance(row, dict) else row for key, row in rows.items()}}


def _phone_numbers(text: JsonObject) -> list[str]:
    """Everybody who takes part, in order."""
    to = text.get("to_numbers")
    return sorted({str(number) for number in (text.get("from_number"), *(to if isinstance(to, list) else ()))})


def _find_user(scenario: Mapping[str, JsonValue]) -> JsonObject:
    return _object_or_empty(_object_or_empty(scenario.get("characters")).get(str(scenario.get("user_character"))))


def _fill_in(fields: JsonObject, usual: Mapping[str, JsonValue]) -> JsonObject:
    """The fields, with usual values in place of those that are missing or null."""
    return {**usual, **{name: value for name, value in fields.items() if value is not None or name not in usual}}


def _object_or_empty(value: JsonValue) -> JsonObject:
    return value if isinstance(value, dict) else {}

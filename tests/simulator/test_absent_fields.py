"""Null is absent: what may be left out may be null as well, in actions, events and scenarios."""

from collections.abc import Callable, Mapping
from typing import cast

import pytest
from pydantic import BaseModel, JsonValue

from services.simulator.core.modalities import calendar_records, email_records, location, sms_records
from services.simulator.core.modalities.chat_records import ChatMessageRecord
from services.simulator.core.modalities.contact_records import Contact, ContactIdentifier
from services.simulator.core.records import JsonObject
from services.simulator.core.scenario_shapes import WrittenEvent
from tests.simulator.contract_table import TABLE
from tests.simulator.modalities.asking import part
from tests.simulator.stage import Stage
from tests.simulator.test_contract import asked, kept_of

pytestmark = pytest.mark.promise("simulator.absent")
_ROWS: Mapping[tuple[str, str], type[BaseModel]] = {
    ("email", "emails"): email_records.EmailRecord,
    ("sms", "messages"): sms_records.SmsMessageRecord,
    ("sms", "conversations"): sms_records.SmsConversationRecord,
    ("chat", "messages"): ChatMessageRecord,
    ("calendar", "calendars"): calendar_records.CalendarRecord,
    ("calendar", "events"): calendar_records.CalendarEventRecord,
    ("contacts", "contacts"): Contact,
    ("location", "history"): location.Position,
}
_PARTS: Mapping[str, type[BaseModel]] = {
    "attachments": email_records.Attachment,
    "participants": sms_records.SmsParticipantRecord,
    "reactions": sms_records.Reaction,
    "attendees": calendar_records.EventAttendee,
    "reminders": calendar_records.Reminder,
    "identifiers": ContactIdentifier,
}
_FURNISHING: tuple[tuple[str, JsonObject], ...] = (
    ("/email/receive", {
        "from_address": "ben@example.com", "to_addresses": ["user@example.com"], "subject": "A", "body_text": "B",
        "attachments": [{"filename": "a.pdf", "size": 3}]}),
    ("/sms/receive", {"from_number": "+15550000001", "to_numbers": ["+15550000000"], "body": "Late"}),
    ("/chat/send", {"role": "user", "content": "Hello"}),
    ("/calendar/create", {
        "title": "Talk", "start": "2026-03-02T09:00:00Z", "end": "2026-03-02T10:00:00Z",
        "attendees": [{"email": "ben@example.com"}], "reminders": [{"minutes_before": 5}]}),
    ("/contacts/create", {
        "first_name": "Ben", "identifiers": [{"identifier_type": "email", "value": "b@example.com"}]}),
    ("/location/update", {"latitude": 53.5, "longitude": 10.0}),
    ("/location/update", {"latitude": 53.6, "longitude": 10.0}),
)  # fmt: skip
Change = Callable[[JsonObject, type[BaseModel]], JsonObject]


async def test_every_optional_field_of_every_request_may_be_null(full: Stage) -> None:
    """The whole interface is asked once more, with null for all that its own description does not require."""
    kept: dict[str, JsonValue] = {}
    optional = _optional_fields(full)
    for row in TABLE:
        path = row.endpoint.partition("?")[0]
        nulls: JsonObject = dict.fromkeys(optional.get(path, ()))
        answer = await asked(full, row._replace(body={**nulls, **row.body} if row.body else row.body), kept)
        assert answer.get("status") != "failed", f"{row.endpoint}: {answer}"
        if row.keeps:
            kept[row.keeps] = kept_of(answer[row.of])


async def test_an_export_with_every_optional_field_null_is_the_world_in_which_they_are_absent(full: Stage) -> None:
    for path, body in _FURNISHING:
        assert (await full.post(path, body))["status"] == "executed"
    await full.post("/events", {
        "scheduled_time": "2027-01-01T00:00:00Z", "modality": "email",
        "data": {"operation": "receive", **_FURNISHING[0][1]}})  # fmt: skip
    exported = part(await full.get("/scenario/export/full"), "scenario")

    nulled = await _imported(full, _changed(exported, _with_nulls))
    absent = await _imported(full, _changed(exported, _without_optional))

    assert nulled == absent
    assert nulled["emails"]


async def test_a_scenario_whose_states_are_null_but_for_what_they_require_is_an_empty_world(full: Stage) -> None:
    exported = part(await full.get("/scenario/export/full"), "scenario")
    before = part(exported, "environment", "modality_states")
    nulled: JsonObject = {name: _bare_state(cast(JsonObject, state)) for name, state in before.items()}
    environment = {**part(exported, "environment"), "modality_states": nulled}
    for path, body in _FURNISHING:
        await full.post(path, body)

    await full.post("/scenario/import/full", {"scenario": {"metadata": {}, "environment": environment, "events": None}})

    after = part(await full.get("/scenario/export/full"), "scenario", "environment", "modality_states")
    assert after == before


async def test_null_in_the_data_of_an_event_is_absent_in_every_shape_of_a_text_message(full: Stage) -> None:
    body: JsonObject = {
        "from_number": "+15550000001",
        "to_numbers": ["+15550000000"],
        "body": "Hi",
        "attachments": None,
    }
    shapes: tuple[JsonObject, ...] = (
        {"action": "receive_message", "message_data": body, "reaction_data": None, "operation": None},
        {"operation": "receive_message", "message_data": body, "action": None},
        {"operation": "receive_message", **body},
    )
    for data in shapes:
        await full.post("/events/immediate", {"modality": "sms", "data": data})


def _bare_state(state: JsonObject) -> JsonObject:
    required = ("modality_type", "last_updated", "user_phone_number")
    return {name: value if name in required else None for name, value in state.items()}


def _optional_fields(stage: Stage) -> dict[str, list[str]]:
    """By endpoint: the fields of its body that the interface's description does not require."""
    described = stage.routes.openapi()
    found: dict[str, list[str]] = {}
    for path, ways in described["paths"].items():
        for method, way in ways.items():
            content = way.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema", {})
            reference = content.get("$ref") or next(
                (one["$ref"] for one in content.get("anyOf", ()) if "$ref" in one), ""
            )
            schema = described["components"]["schemas"].get(reference.rpartition("/")[2], {})
            required = schema.get("required", ())
            names = [name for name in schema.get("properties", {}) if name not in required]
            found[f"{method.upper()} {path}"] = names
    return found


async def _imported(stage: Stage, scenario: JsonObject) -> JsonObject:
    await stage.post("/scenario/import/full", {"scenario": scenario})
    states = part(await stage.get("/scenario/export/full"), "scenario", "environment", "modality_states")
    return {f"{name}": part(states, modality)[name] for modality, name in _ROWS} | {"events": len(stage.world.queue)}


def _changed(exported: JsonObject, change: Change) -> JsonObject:
    states = part(exported, "environment", "modality_states")
    made = {name: dict(cast(JsonObject, state)) for name, state in states.items()}
    for (modality, table), kind in _ROWS.items():
        rows = made[modality][table]
        if isinstance(rows, dict):
            made[modality][table] = {key: _row(cast(JsonObject, row), kind, change) for key, row in rows.items()}
        else:
            made[modality][table] = [_row(cast(JsonObject, row), kind, change) for row in cast(list[JsonValue], rows)]
    events = cast(list[JsonObject], part(exported, "events")["events"])
    environment = {**part(exported, "environment"), "modality_states": made}
    written: list[JsonValue] = [change(event, WrittenEvent) for event in events]
    return cast(JsonObject, {**exported, "environment": environment, "events": {"events": written}})


def _row(row: JsonObject, kind: type[BaseModel], change: Change) -> JsonObject:
    inner = {
        name: [change(cast(JsonObject, one), _PARTS[name]) for one in value]
        for name, value in row.items()
        if name in _PARTS and isinstance(value, list) and value
    }
    return cast(JsonObject, {**change(row, kind), **inner})


def _with_nulls(row: JsonObject, kind: type[BaseModel]) -> JsonObject:
    return {**row, **{name: None for name, field in kind.model_fields.items() if not field.is_required()}}


def _without_optional(row: JsonObject, kind: type[BaseModel]) -> JsonObject:
    required = {name for name, field in kind.model_fields.items() if field.is_required()}
    return {name: value for name, value in row.items() if name in required}

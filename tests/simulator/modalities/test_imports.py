"""States as older and other servers export them, and our own."""

import pytest

from services.simulator.core.records import JsonObject
from tests.doubles.simulated_surroundings import WALL
from tests.each_row import each_row
from tests.simulator.modalities.asking import do, fails, part, rows
from tests.simulator.stage import Stage

pytestmark = pytest.mark.promise("simulator.scenario")
TIME: JsonObject = {
    "current_time": "2026-02-01T08:00:00",
    "time_scale": 1.0,
    "is_paused": True,
    "auto_advance": False,
    "last_wall_time_update": "2026-02-01T08:00:00",
}
HEAD: JsonObject = {"last_updated": "2026-02-01T07:00:00", "update_count": 3}
EMAIL: JsonObject = {
    "modality_type": "email",
    **HEAD,
    "user_email_address": "dana@example.org",
    "emails": {
        "e1": {
            "message_id": "e1",
            "thread_id": "t1",
            "from_address": "ann@example.org",
            "to_addresses": ["dana@example.org"],
            "cc_addresses": [],
            "bcc_addresses": ["eve@example.org"],
            "subject": "Hi",
            "body_text": "There",
            "sent_at": "2026-02-01T06:00:00",
            "received_at": "2026-02-01T06:00:01+00:00",
            "is_read": True,
            "folder": "Projects",
            "labels": ["work"],
            "something_new": 1,
        }
    },
    "threads": {},
    "folders": {"inbox": 0, "Projects": 1, "Empty": 0},
    "labels": {"work": 1},
}
SMS: JsonObject = {
    "modality_type": "sms",
    **HEAD,
    "user_phone_number": "+15550001111",
    "messages": {
        "s1": {
            "message_id": "s1",
            "thread_id": "c1",
            "from_number": "+15552223333",
            "to_numbers": ["+15550001111"],
            "body": "Hi",
            "direction": "incoming",
            "sent_at": "2026-02-01T06:00:00Z",
        }
    },
    "conversations": {
        "c1": {
            "thread_id": "c1",
            "conversation_type": "one_on_one",
            "participants": [
                {"phone_number": "+15552223333", "joined_at": "2026-02-01T06:00:00Z"},
                {"phone_number": "+15550001111", "joined_at": "2026-02-01T06:00:00Z"},
            ],
            "created_at": "2026-02-01T06:00:00Z",
            "message_count": 1,
        }
    },
}
CALENDAR: JsonObject = {
    "modality_type": "calendar",
    **HEAD,
    "user_timezone": "Europe/Berlin",
    "calendars": {},
    "events": {
        "v1": {
            "event_id": "v1",
            "calendar_id": "work",
            "title": "Stand-up",
            "start": "2026-02-02T08:00:00+01:00",
            "end": "2026-02-02T08:15:00+01:00",
            "timezone": "Europe/Berlin",
            "attendees": [{"email": "Ann@example.org", "response_status": "needsAction"}],
            "recurrence": {"frequency": "weekly", "days_of_week": ["monday"], "end_type": "never"},
            "recurrence_exceptions": ["2026-02-09"],
            "created_at": "2026-01-01T00:00:00Z",
            "updated_at": "2026-01-01T00:00:00Z",
        }
    },
}
CHAT: JsonObject = {
    "modality_type": "chat",
    **HEAD,
    "messages": [
        {
            "message_id": "m1",
            "conversation_id": "user-assistant",
            "role": "user",
            "content": "Hello",
            "timestamp": "2026-02-01T06:00:00Z",
        }
    ],
    "conversations": {"user-assistant": {"created_at": "2026-02-01T05:00:00Z", "message_count": 1}},
}
LOCATION: JsonObject = {"modality_type": "location", **HEAD, "current": {"latitude": 1, "longitude": 2}, "history": []}
WEATHER: JsonObject = {
    "modality_type": "weather",
    **HEAD,
    "locations": {"x": {"latitude": 1, "longitude": 2, "current_report": {"current": {"temp": 280}}}},
}
STATES: JsonObject = {
    "email": EMAIL,
    "sms": SMS,
    "calendar": CALENDAR,
    "chat": CHAT,
    "location": LOCATION,
    "weather": WEATHER,
    "time": {"modality_type": "time", **HEAD},
}


async def load(stage: Stage, **states: object) -> JsonObject:
    await stage.post("/simulation/stop")
    data = {"time_state": TIME, "modality_states": states}
    return await stage.post("/scenario/import/environment", {"data": data})


async def test_states_of_other_servers_are_read(stage: Stage) -> None:
    """Times without a zone are UTC, counts instead of lists of ids, fields nobody knows."""
    await load(stage, **STATES)

    email, sms = await stage.get("/email/state"), await stage.get("/sms/state")
    assert email["user_email_address"] == "dana@example.org"
    assert part(email, "emails", "e1")["sent_at"] == "2026-02-01T06:00:00Z"
    assert part(email, "folders")["Projects"] == part(email, "labels")["work"] == ["e1"]
    assert part(email, "folders")["Empty"] == []
    assert part(email, "threads", "t1")["message_count"] == 1
    assert part(sms, "conversations", "c1")["unread_count"] == 1
    chat = await stage.get("/chat/state")
    assert part(chat, "conversations", "user-assistant")["created_at"] == "2026-02-01T05:00:00Z"
    weather = await stage.post("/weather/query", {"lat": 1, "lon": 2, "units": "metric"})
    assert rows(weather, "reports") == [{"current": {"temp": 6.85}}]
    assert part(await stage.get("/location/state"), "current")["timestamp"] == "2026-02-01T07:00:00Z"


@pytest.mark.promise("simulator.privacy")
async def test_blind_copies_of_what_was_received_are_not_taken_over(stage: Stage) -> None:
    await load(stage, email=EMAIL)

    assert part(await stage.get("/email/state"), "emails", "e1")["bcc_addresses"] == []


async def test_an_imported_series_goes_on_as_it_was(stage: Stage) -> None:
    await load(stage, calendar=CALENDAR)

    asked = {"start": "2026-02-01T00:00:00Z", "end": "2026-02-24T00:00:00Z", "expand_recurring": True}
    found = rows(await stage.post("/calendar/query", asked), "events")
    assert [str(one["start"])[:10] for one in found] == ["2026-02-02", "2026-02-16", "2026-02-23"]
    state = await stage.get("/calendar/state")
    assert set(part(state, "calendars")) == {"primary", "work"}
    assert state["user_timezone"] == "Europe/Berlin"
    assert rows(found[0], "attendees")[0]["response"] == "needs-action"


async def test_a_world_goes_on_with_its_user(stage: Stage) -> None:
    await load(stage, **STATES)
    await stage.post("/simulation/start", {})

    mail = {"to_addresses": ["ann@example.org"], "subject": "x", "body_text": "y"}
    await do(stage, "/email/send", from_address="dana@example.org", **mail)
    await fails(stage, "/email/send", from_address="user@example.com", **mail)
    sent = await do(stage, "/sms/send", from_number="+15550001111", to_numbers=["+15552223333"], body="x")
    assert part(await stage.get("/sms/state"), "messages", sent)["thread_id"] == "c1"


@pytest.mark.promise("simulator.refusals")
@each_row(
    ("name", "wrong"),
    ("email", {"emails": {"x": {"message_id": "x"}}}),
    ("email", {"emails": {"other": part(EMAIL, "emails")["e1"]}}),
    ("sms", {"messages": {"other": part(SMS, "messages")["s1"]}}),
    ("sms", {"user_phone_number": None}),
    ("chat", {"messages": [rows(CHAT, "messages")[0], rows(CHAT, "messages")[0]]}),
    ("chat", {"max_history_size": 0}),
    ("calendar", {"user_timezone": "Mars"}),
    ("location", {"current": {"latitude": 100, "longitude": 0}}),
    ("weather", {"locations": {"x": {"latitude": 1}}}),
    ("contacts", {"contacts": {"x": {"contact_id": "x", "identifiers": []}}}),
)
async def test_a_state_of_the_wrong_shape_is_refused_and_nothing_is_taken_over(
    stage: Stage, name: str, wrong: JsonObject
) -> None:
    await load(stage, **STATES)
    before = await stage.get("/scenario/export/environment")
    state = {"modality_type": name, **HEAD, **part({**STATES, "contacts": {}}, name), **wrong}

    data = {"time_state": TIME, "modality_states": {"chat": CHAT, name: state}}
    await stage.post("/scenario/import/environment", {"data": data}, expect=422)

    assert await stage.get("/scenario/export/environment") == before


@pytest.mark.promise("simulator.refusals")
async def test_an_event_that_ends_before_it_begins_is_not_taken_over(stage: Stage) -> None:
    event = {**part(CALENDAR, "events", "v1"), "end": "2026-02-01T00:00:00Z"}
    data = {"time_state": TIME, "modality_states": {"calendar": {**CALENDAR, "events": {"v1": event}}}}
    await stage.post("/simulation/stop")

    await stage.post("/scenario/import/environment", {"data": data}, expect=400)

    assert (await stage.get("/calendar/state"))["last_updated"] == WALL.isoformat()

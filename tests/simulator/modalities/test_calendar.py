"""Events and calendars."""

import pytest

from services.simulator.core.records import JsonObject
from tests.each_row import each_row
from tests.simulator.modalities.asking import USER, do, fails, part, refused, rows, undo
from tests.simulator.stage import Stage

pytestmark = pytest.mark.promise("simulator.calendar")
NOON = {"title": "Lunch", "start": "2026-03-02T12:00:00Z", "end": "2026-03-02T13:00:00Z"}
ATTENDEES = [{"email": "Ann@Example.org", "display_name": "Ann"}, {"email": "bo@example.org", "optional": True}]


async def event(stage: Stage, event_id: str) -> JsonObject:
    return part(await stage.get("/calendar/state"), "events", event_id)


async def titles(stage: Stage, **asked: object) -> list[object]:
    return [one["title"] for one in rows(await stage.post("/calendar/query", asked), "events")]


async def test_an_event_is_made_and_its_id_stands_in_the_answer(stage: Stage) -> None:
    answer = await stage.post("/calendar/create", NOON)

    made = await event(stage, str(answer["entity_id"]))
    assert f"(calendar_event_id: {made['event_id']})" in str(answer["message"])
    assert (made["calendar_id"], made["status"], made["timezone"]) == ("primary", "confirmed", "UTC")
    assert (made["visibility"], made["transparency"], made["all_day"]) == ("default", "opaque", False)
    assert (made["recurrence"], made["recurrence_exceptions"], made["parent_event_id"]) == (None, [], None)
    state = await stage.get("/calendar/state")
    assert part(state, "calendars", "primary")["event_ids"] == [made["event_id"]]


async def test_attendees_answer(stage: Stage) -> None:
    made = await do(stage, "/calendar/create", **NOON, attendees=ATTENDEES, organizer="user@example.com")
    assert [one["response"] for one in rows(await event(stage, made), "attendees")] == ["needs-action"] * 2

    await do(stage, "/calendar/respond", event_id=made, attendee_email="ANN@example.org", response="accepted")
    await do(
        stage, "/calendar/respond", event_id=made, attendee_email="bo@example.org", response="declined", comment="Ill"
    )

    ann, bo = rows(await event(stage, made), "attendees")
    assert (ann["email"], ann["response"], ann["comment"]) == ("ann@example.org", "accepted", None)
    assert (bo["response"], bo["comment"], bo["optional"]) == ("declined", "Ill", True)


async def test_who_is_not_invited_cannot_answer(stage: Stage) -> None:
    made = await do(stage, "/calendar/create", **NOON, attendees=ATTENDEES)

    said = await fails(stage, "/calendar/respond", event_id=made, attendee_email="eve@example.org", response="accepted")
    assert "not invited" in said


@pytest.mark.promise("simulator.privacy")
async def test_nobody_answers_in_anothers_name_who_may_not_let_others_write(stage: Stage) -> None:
    invited = [*ATTENDEES, {"email": USER}]
    made = await do(stage, "/calendar/create", **NOON, attendees=invited)
    user, proctor = await stage.key("calendar:respond"), await stage.key("calendar:respond", "email:receive")
    answer = {"event_id": made, "response": "accepted"}

    await stage.post("/calendar/respond", {**answer, "attendee_email": "bo@example.org"}, expect=403, key=user.secret)
    await stage.post("/calendar/respond", {**answer, "attendee_email": USER}, key=user.secret)
    await stage.post("/calendar/respond", {**answer, "attendee_email": "bo@example.org"}, key=proctor.secret)

    responses = [one["response"] for one in rows(await event(stage, made), "attendees")]
    assert responses == ["needs-action", "accepted", "accepted"]


async def test_what_is_left_out_of_a_change_stays(stage: Stage) -> None:
    made = await do(stage, "/calendar/create", **NOON, attendees=ATTENDEES, location="Room 1")
    await do(stage, "/calendar/respond", event_id=made, attendee_email="ann@example.org", response="tentative")
    before = await stage.get("/calendar/state")

    await do(
        stage,
        "/calendar/update",
        event_id=made,
        title="Dinner",
        location=None,
        attendees=[{"email": "ann@example.org"}, {"email": "cy@example.org"}],
    )

    changed = await event(stage, made)
    assert (changed["title"], changed["location"], changed["start"]) == ("Dinner", "Room 1", NOON["start"])
    assert [one["response"] for one in rows(await event(stage, made), "attendees")] == ["tentative", "needs-action"]
    await undo(stage)
    assert await stage.get("/calendar/state") == before


@pytest.mark.promise("simulator.failed_actions")
async def test_what_is_not_there_cannot_be_changed(stage: Stage) -> None:
    assert "no event x" in await fails(stage, "/calendar/delete", event_id="x")
    assert "no event x" in await fails(stage, "/calendar/update", event_id="x", title="y")
    made = await do(stage, "/calendar/create", **NOON)
    assert "ends after" in await fails(stage, "/calendar/update", event_id=made, end="2026-03-02T11:00:00Z")


async def test_events_are_found(stage: Stage) -> None:
    await do(stage, "/calendar/create", **NOON, attendees=ATTENDEES, calendar_id="work")
    await do(
        stage,
        "/calendar/create",
        title="Flight",
        start="2026-03-01T22:00:00Z",
        end="2026-03-02T06:00:00Z",
        status="tentative",
        description="To Rome",
    )

    assert await titles(stage) == ["Flight", "Lunch"]
    assert await titles(stage, sort_order="desc") == ["Lunch", "Flight"]
    assert await titles(stage, sort_by="status") == ["Lunch", "Flight"]
    assert await titles(stage, start="2026-03-02T00:00:00Z", end="2026-03-02T06:00:00Z") == ["Flight"]
    assert await titles(stage, start="2026-03-02T06:00:00Z", end="2026-03-02T12:00:00Z") == []
    assert await titles(stage, search="ROME") == ["Flight"]
    assert await titles(stage, status="confirmed") == ["Lunch"]
    assert await titles(stage, has_attendees=False) == ["Flight"]
    assert await titles(stage, calendar_ids=["work"]) == ["Lunch"]
    assert await titles(stage, recurring=True) == []
    answer = await stage.post("/calendar/query", {"limit": 1})
    assert (answer["count"], answer["total_count"]) == (1, 2)
    assert "returned_count" not in answer


async def test_the_compact_view_shortens_events(stage: Stage) -> None:
    made = await do(stage, "/calendar/create", **NOON, description="Long")

    state = await stage.get("/calendar/state?compact=true")

    assert part(state, "events", made)["title"] == "Lunch"
    assert "description" not in part(state, "events", made)


async def test_reminders_come_up_when_their_time_comes(stage: Stage) -> None:
    reminders = [{"minutes_before": 30, "type": "email"}, {"minutes_before": 26 * 60}]
    made = await do(stage, "/calendar/create", **NOON, reminders=reminders)
    gone = await do(stage, "/calendar/create", **NOON, reminders=reminders)
    await do(stage, "/calendar/update", event_id=gone, status="cancelled")

    assert rows(await stage.get("/calendar/reminders"), "reminders") == []
    await stage.post("/simulator/time/advance", {"seconds": 2 * 3600})
    [first] = rows(await stage.get("/calendar/reminders"), "reminders")
    assert (first["event_id"], first["minutes_before"], first["due_at"]) == (made, 1560, "2026-03-01T10:00:00Z")

    await stage.post("/simulator/time/advance", {"seconds": 24 * 3600 + 1800})
    [second] = rows(await stage.get("/calendar/reminders?since=2026-03-01T10:00:00Z"), "reminders")
    assert (second["type"], second["due_at"]) == ("email", "2026-03-02T11:30:00Z")


async def test_an_event_without_reminders_has_those_of_its_calendar(stage: Stage) -> None:
    kept = [{"minutes_before": 10, "type": "notification"}]
    await stage.post("/calendar/calendars/update", {"calendar_id": "primary", "default_reminders": kept})

    made = await do(stage, "/calendar/create", **NOON)

    assert (await event(stage, made))["reminders"] == kept


async def test_calendars_are_made_changed_and_deleted(stage: Stage) -> None:
    made = await stage.post("/calendar/calendars/create", {"calendar_id": "work", "name": "Work", "color": "#ff0000"})
    assert (made["status"], part(made, "calendar")["name"]) == ("success", "Work")
    await do(stage, "/calendar/create", **NOON, calendar_id="work")

    listed = await stage.get("/calendar/calendars")
    assert (listed["count"], listed["default_calendar_id"]) == (2, "primary")
    assert {one["calendar_id"]: one["event_count"] for one in rows(listed, "calendars")} == {"primary": 0, "work": 1}

    changed = await stage.post("/calendar/calendars/update", {"calendar_id": "work", "visible": False})
    assert (part(changed, "calendar")["visible"], part(changed, "calendar")["name"]) == (False, "Work")

    gone = await stage.post("/calendar/calendars/delete", {"calendar_id": "work"})
    assert part(gone, "calendar")["event_count"] == 1
    assert (await stage.get("/calendar/state"))["event_count"] == 0
    await undo(stage)
    assert (await stage.get("/calendar/state"))["event_count"] == 1


async def test_another_calendar_becomes_the_default(stage: Stage) -> None:
    await stage.post("/calendar/calendars/create", {"calendar_id": "work", "name": "Work"})

    await stage.post("/calendar/calendars/set-default", {"calendar_id": "work"})

    assert (await event(stage, await do(stage, "/calendar/create", **NOON)))["calendar_id"] == "work"
    await stage.post("/calendar/calendars/delete", {"calendar_id": "work"}, expect=400)


@pytest.mark.promise("simulator.refusals")
@each_row(
    ("field", "value"),
    ("title", ""),
    ("status", "perhaps"),
    ("timezone", "Mars/Base"),
    ("timezone", "America"),
    ("attendees", [{"email": "nobody"}]),
    ("attendees", [{"email": "a@b.co"}, {"email": "A@b.co"}]),
    ("reminders", [{"minutes_before": -1}]),
    ("recurrence", {"frequency": "daily", "interval": 0}),
)
async def test_events_of_the_wrong_shape_are_refused(stage: Stage, field: str, value: object) -> None:
    await refused(stage, "/calendar/create", field, **{**NOON, field: value})


@pytest.mark.promise("simulator.refusals")
@each_row(
    ("said", "change"),
    ("day_of_month", {"recurrence": {"frequency": "monthly"}}),
    ("no such day", {"recurrence": {"frequency": "yearly", "day_of_month": 30, "month_of_year": 2}}),
    ("count", {"recurrence": {"frequency": "daily", "end_type": "count"}}),
    ("end_date", {"recurrence": {"frequency": "daily", "end_type": "until"}}),
)
async def test_events_that_mean_nothing_are_refused_as_such(stage: Stage, said: str, change: dict[str, object]) -> None:
    answer = await stage.post("/calendar/create", {**NOON, **change}, expect=400)

    assert said in str(answer["detail"])
    assert (await stage.get("/calendar/state"))["event_count"] == 0

"""What public clients, scenarios and agents take for granted: shapes inside answers, statuses, older inputs."""

from typing import cast

import pytest
from pydantic import JsonValue

from services.simulator.core.modalities.all import MODALITIES
from services.simulator.core.records import JsonObject
from services.simulator.core.time_preferences import TimePreferences
from services.simulator.entrypoints.modalities.all import ROUTERS
from services.simulator.entrypoints.version import UES_VERSION
from tests.simulator.modalities.asking import do, part, rows
from tests.simulator.published_shapes import INSIDE, LATER, NOW, OTHER, PHONE, REFUSALS, USER, Inside, Refusal
from tests.simulator.stage import open_stage

pytestmark = pytest.mark.promise("simulator.published_shapes")
_ALL = {**MODALITIES, TimePreferences.name: TimePreferences}


@pytest.mark.parametrize("row", INSIDE, ids=lambda row: f"{row.asked} {row.way}")
async def test_what_stands_inside_an_answer_has_the_published_fields(row: Inside) -> None:
    async with open_stage(_ALL, ROUTERS) as stage:
        for path, body in row.made:
            await stage.post(path, body)
        found = _at(await stage.get(row.asked), row.way)

    assert not set(row.fields.split()) - found.keys()


@pytest.mark.parametrize("row", REFUSALS, ids=lambda row: f"{row.status} {row.method} {row.path} {row.says}")
async def test_what_is_wrong_is_refused_with_the_published_status(row: Refusal) -> None:
    async with open_stage(_ALL, ROUTERS) as stage:
        if row.runs:
            await stage.post("/simulation/start", {})
        before = await stage.get("/environment/state")
        response = await stage.call(row.method, row.path, row.body)

        assert response.status_code == row.status, response.text
        assert row.says in response.text
        assert await stage.get("/environment/state") == before
    if row.status == 422:
        wrong = rows(response.json(), "detail")
        assert response.json()["error"] == "Validation Error"
        assert all({"type", "loc", "msg"} <= one.keys() for one in wrong)


async def test_a_paused_world_is_not_advanced_and_a_held_one_says_by_whom() -> None:
    async with open_stage(_ALL, ROUTERS) as stage:
        await stage.post("/simulation/start", {})
        await stage.post("/simulator/time/pause")
        paused = await stage.post("/simulator/time/advance", {"seconds": 1}, expect=400)
        await stage.post("/simulator/time/resume")
        await stage.post("/simulation/hold", {"reason": "look", "agent_id": "green"})
        held = await stage.post("/simulator/time/advance", {"seconds": 1}, expect=409)

    assert paused["detail"] == "Cannot advance time while paused"
    assert rows(part(held, "detail"), "active_holds")[0].keys() == {"hold_id", "reason", "agent_id"}


async def test_who_shows_no_key_or_a_wrong_one_or_lacks_a_permission_reads_the_published_words() -> None:
    async with open_stage(_ALL, ROUTERS) as stage:
        made = await stage.key("chat:send")
        none = await stage.call("GET", "/email/state", key="")
        wrong = await stage.call("GET", "/email/state", key="x" * 64)
        lacking = await stage.call("GET", "/email/state", key=made.secret)

    assert (none.status_code, none.json()["detail"]) == (401, "API key required. Provide X-API-Key header.")
    assert (wrong.status_code, wrong.json()["detail"]) == (401, "Invalid or revoked API key.")
    assert none.headers["WWW-Authenticate"] == "ApiKey"
    assert (lacking.status_code, lacking.json()["detail"]) == (
        403,
        "Permission denied. Required permission: email:state",
    )


async def test_an_event_of_a_key_bears_it_and_a_calendar_event_tells_its_id_in_words() -> None:
    async with open_stage(_ALL, ROUTERS) as stage:
        made = await stage.key("calendar:create", "events:list")
        body = {"title": "Talk", "start": NOW, "end": LATER}
        answer = await stage.post("/calendar/create", body, key=made.secret)
        [event] = rows(await stage.get("/events", key=made.secret), "events")

    assert f"(calendar_event_id: {answer['entity_id']})" in str(answer["message"])
    assert (event["agent_id"], part(event, "metadata")["created_by_key"]) == (made.key_id, made.key_id)


async def test_older_words_of_calendars_are_read() -> None:
    async with open_stage(_ALL, ROUTERS) as stage:
        body: JsonObject = {"title": "Talk", "start": NOW, "end": LATER}
        attendee: JsonObject = {"email": USER, "response_status": "needsAction"}
        series = {"frequency": "daily"}
        made = await do(stage, "/calendar/create", **{**body, "attendees": [attendee], "recurrence": series})
        await do(
            stage, "/calendar/update", event_id=made, recurrence_scope="future", recurrence_id="2026-03-03", title="x"
        )
        state = await stage.get("/calendar/state")

    assert len(part(state, "events")) == 2
    first = cast(JsonObject, part(state, "events")[made])
    assert rows(first, "attendees")[0]["response"] == "needs-action"


async def test_text_messages_of_every_age_are_logged_in_the_newest_shape() -> None:
    fields: JsonObject = {"from_number": OTHER, "to_numbers": [PHONE], "body": "Hi"}
    shapes: tuple[JsonObject, ...] = (
        {"action": "receive_message", "message_data": fields},
        {"operation": "receive_message", "message_data": fields},
        {"operation": "receive_message", **fields},
    )
    async with open_stage(_ALL, ROUTERS) as stage:
        for data in shapes:
            await stage.post("/events/immediate", {"modality": "sms", "data": data})
        logged = [part(event, "data") for event in rows(await stage.get("/events"), "events")]

    assert [(one["operation"], one["body"]) for one in logged] == [("receive_message", "Hi")] * 3


async def test_folders_of_an_old_export_may_be_counts_and_those_of_an_answer_are_ids() -> None:
    async with open_stage(_ALL, ROUTERS) as stage:
        exported = part(await stage.get("/scenario/export/full"), "scenario")
        mail = part(exported, "environment", "modality_states", "email")
        mail |= {"folders": {"inbox": 0, "Projects": 0}, "labels": {"work": 0}}
        await stage.post("/scenario/import/full", {"scenario": exported})
        state = await stage.get("/email/state")

    assert part(state, "folders")["Projects"] == []


async def test_the_version_that_is_served_is_the_one_that_an_export_names() -> None:
    async with open_stage(_ALL, ROUTERS) as stage:
        exported = await stage.get("/scenario/export/full")
        about, health = await stage.get("/", key=""), await stage.get("/health", key="")

    said = {part(exported, "scenario", "metadata")["ues_version"], about["version"], health["version"]}
    assert said == {UES_VERSION}


def _at(answer: JsonObject, way: str) -> JsonObject:
    found: JsonValue = answer
    for name in filter(None, way.split("/")):
        if isinstance(found, list):
            found = found[0]
        elif isinstance(found, dict):
            found = next(iter(found.values())) if name == "*" else found[name]
    return cast(JsonObject, found)

"""What public clients, scenarios and agents take for granted: shapes inside answers, statuses, older inputs."""

from typing import cast

import pytest
from pydantic import JsonValue

from services.simulator.core.records import JsonObject
from services.simulator.entrypoints.version import UES_VERSION
from tests.simulator.modalities.asking import do, part, rows
from tests.simulator.published_shapes import INSIDE, LATER, NOW, REFUSALS, USER, Inside, Refusal
from tests.simulator.stage import Stage

pytestmark = pytest.mark.promise("simulator.published_shapes")


@pytest.mark.parametrize("row", INSIDE, ids=lambda row: f"{row.asked} {row.way}")
async def test_what_stands_inside_an_answer_has_the_published_fields(full: Stage, row: Inside) -> None:
    for path, body in row.made:
        await full.post(path, body)
    found = _at(await full.get(row.asked), row.way)

    assert not set(row.fields.split()) - found.keys()


@pytest.mark.promise("simulator.refusals")
@pytest.mark.parametrize("row", REFUSALS, ids=lambda row: f"{row.status} {row.method} {row.path} {row.says}")
async def test_what_is_wrong_is_refused_with_the_published_status(full: Stage, row: Refusal) -> None:
    if row.runs:
        await full.post("/simulation/start", {})
    before = [await full.get(path) for path in ("/environment/state", "/simulation/status", "/keys", "/webhooks")]
    response = await full.call(row.method, row.path, row.body)

    assert response.status_code == row.status, response.text
    assert row.says in response.text
    after = [await full.get(path) for path in ("/environment/state", "/simulation/status", "/keys", "/webhooks")]
    assert after == before
    if row.status == 422:
        wrong = rows(response.json(), "detail")
        assert response.json()["error"] == "Validation Error"
        assert all({"type", "loc", "msg"} <= one.keys() for one in wrong)


async def test_who_shows_no_key_or_a_wrong_one_or_lacks_a_permission_reads_the_published_words(full: Stage) -> None:
    made = await full.key("chat:send")
    none = await full.call("GET", "/email/state", key="")
    wrong = await full.call("GET", "/email/state", key="x" * 64)
    lacking = await full.call("GET", "/email/state", key=made.secret)

    assert (none.status_code, none.json()["detail"]) == (401, "API key required. Provide X-API-Key header.")
    assert (wrong.status_code, wrong.json()["detail"]) == (401, "Invalid or revoked API key.")
    assert none.headers["WWW-Authenticate"] == "ApiKey"
    assert (lacking.status_code, lacking.json()["detail"]) == (
        403,
        "Permission denied. Required permission: email:state",
    )


async def test_older_words_of_calendars_are_read(full: Stage) -> None:
    body: JsonObject = {"title": "Talk", "start": NOW, "end": LATER}
    attendee: JsonObject = {"email": USER, "response_status": "needsAction"}
    series = {"frequency": "daily"}
    made = await do(full, "/calendar/create", **{**body, "attendees": [attendee], "recurrence": series})
    await do(full, "/calendar/update", event_id=made, recurrence_scope="future", recurrence_id="2026-03-03", title="x")
    state = await full.get("/calendar/state")

    assert len(part(state, "events")) == 2
    first = cast(JsonObject, part(state, "events")[made])
    assert rows(first, "attendees")[0]["response"] == "needs-action"


async def test_the_version_that_is_served_is_the_one_that_an_export_names(full: Stage) -> None:
    exported = await full.get("/scenario/export/full")
    about, health = await full.get("/", key=""), await full.get("/health", key="")

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

"""Calendar times without a zone."""

from typing import cast

import pytest

from services.simulator.core.records import JsonObject
from tests.simulator.modalities.asking import do, part, rows
from tests.simulator.stage import Stage

pytestmark = pytest.mark.promise("simulator.zones")
_NEW_YORK = "America/New_York"
_LOCAL = {"start": "2026-03-02T09:00:00", "end": "2026-03-02T10:00:00"}
_CREATED = {"created_at": "2026-03-01T09:00:00Z", "updated_at": "2026-03-01T09:00:00Z"}


async def test_a_time_of_an_action_is_in_the_zone_of_the_event_or_else_of_the_user(full: Stage) -> None:
    await _user_in(full, _NEW_YORK)
    here = await do(full, "/calendar/create", title="Here", **_LOCAL)
    there = await do(full, "/calendar/create", title="There", timezone="Europe/Berlin", **_LOCAL)
    aware = await do(full, "/calendar/create", title="Aware", start="2026-03-02T09:00Z", end="2026-03-02T10:00Z")
    starts = {key: (await _event(full, key))["start"] for key in (here, there, aware)}
    await do(full, "/calendar/update", event_id=there, start="2026-03-02T08:00:00")
    moved = await _event(full, there)

    assert list(starts.values()) == ["2026-03-02T14:00:00Z", "2026-03-02T08:00:00Z", "2026-03-02T09:00:00Z"]
    assert (moved["start"], moved["end"]) == ("2026-03-02T07:00:00Z", "2026-03-02T09:00:00Z")


async def test_a_time_of_a_scheduled_event_is_read_in_the_zone_of_the_world_in_which_it_runs(full: Stage) -> None:
    data = {"operation": "create", "event_id": "later", "title": "Later", **_LOCAL}
    await _user_in(full, _NEW_YORK)
    await full.post("/events/immediate", {"modality": "calendar", "data": data})
    await full.post("/simulation/start", {})
    await full.post("/simulator/time/advance", {"seconds": 1})
    assert (await _event(full, "later"))["start"] == "2026-03-02T14:00:00Z"


async def test_a_time_of_a_query_is_in_the_zone_of_the_user(full: Stage) -> None:
    await _user_in(full, _NEW_YORK)
    await do(full, "/calendar/create", title="Talk", **_LOCAL)
    inside = await full.post("/calendar/query", {"start": "2026-03-02T09:00:00", "end": "2026-03-02T10:00:00"})
    before = await full.post("/calendar/query", {"start": "2026-03-02T04:00:00", "end": "2026-03-02T09:00:00"})

    assert (inside["total_count"], before["total_count"]) == (1, 0)


async def test_a_time_of_an_export_is_in_the_zone_of_its_event_or_else_of_the_user(full: Stage) -> None:
    await _user_in(
        full,
        _NEW_YORK,
        {"event_id": "a", "title": "A", **_LOCAL, **_CREATED},
        {"event_id": "b", "title": "B", "timezone": "Europe/Berlin", **_LOCAL, **_CREATED},
    )
    first, second = await _event(full, "a"), await _event(full, "b")

    assert (first["start"], first["timezone"]) == ("2026-03-02T14:00:00Z", _NEW_YORK)
    assert (second["start"], second["timezone"]) == ("2026-03-02T08:00:00Z", "Europe/Berlin")


async def test_a_time_that_is_none_is_named(full: Stage) -> None:
    exported = part(await full.get("/scenario/export/full"), "scenario")
    calendar = part(exported, "environment", "modality_states", "calendar")
    calendar["events"] = {"a": {"event_id": "a", "title": "A", **_LOCAL, **_CREATED, "start": "noon"}}
    refused = await full.post("/scenario/import/full", {"scenario": exported}, expect=422)

    assert rows(refused, "detail")[0]["loc"] == ["environment", "modality_states", "calendar", "events", "a", "start"]


async def _user_in(stage: Stage, zone: str, *events: JsonObject) -> None:
    exported = part(await stage.get("/scenario/export/full"), "scenario")
    calendar = part(exported, "environment", "modality_states", "calendar")
    calendar |= {"user_timezone": zone, "events": {str(one["event_id"]): one for one in events}}
    await stage.post("/scenario/import/full", {"scenario": exported})


async def _event(stage: Stage, event_id: str) -> JsonObject:
    state = await stage.get("/calendar/state")
    return cast(JsonObject, part(state, "events")[event_id])

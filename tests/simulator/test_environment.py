"""``/environment``, and what anybody may ask."""

from typing import cast

import pytest

from services.simulator.core.records import JsonObject
from services.simulator.entrypoints.version import UES_VERSION
from tests.simulator.stage import Stage
from tests.simulator.writing import note, schedule

pytestmark = pytest.mark.promise("simulator.environment")


async def test_every_state_is_shown_at_once(stage: Stage) -> None:
    stage.world.act("notes", note("hi"), None)

    answer = await stage.get("/environment/state")

    assert answer["current_time"] == "2026-03-01T09:00:00+00:00"
    assert answer["modalities"] == {"notes": (await stage.get("/environment/modalities/notes"))["state"]}
    assert answer["summary"] == [{"modality_type": "notes", "state_summary": "notes 1"}]


async def test_a_compact_view_counts(stage: Stage) -> None:
    await schedule(stage, 10)

    answer = await stage.get("/environment/state?compact=true")

    assert answer == {
        "snapshot_time": "2026-03-01T09:00:00+00:00",
        "format": "compact",
        "modalities": {"notes": {"notes": 0}},
        "events": {"pending_count": 1, "next_event_time": "2026-03-01T09:00:10+00:00"},
    }


async def test_a_compact_view_comes_as_text_too(stage: Stage) -> None:
    response = await stage.call("GET", "/environment/state?compact=true&format=text")

    assert response.headers["content-type"].startswith("text/plain")
    assert "notes: notes 0" in response.text


async def test_modalities_are_listed_and_asked_one_by_one(stage: Stage) -> None:
    """The early way to each of them, each answer in its envelope."""
    stage.world.act("notes", note("hi"), None)

    assert await stage.get("/environment/modalities") == {"modalities": ["notes"], "count": 1}
    shown = await stage.get("/environment/modalities/notes")
    found = await stage.post("/environment/modalities/notes/query", {})
    assert (shown["modality_type"], shown["current_time"]) == ("notes", "2026-03-01T09:00:00+00:00")
    assert len(cast(list[JsonObject], found["results"])) == 1
    assert (found["total_count"], found["returned_count"]) == (1, 1)


@pytest.mark.promise("simulator.refusals")
async def test_an_unknown_modality_is_told_with_those_there_are(stage: Stage) -> None:
    answer = await stage.get("/environment/modalities/smell", expect=404)

    assert answer == {
        "error": "Modality Not Found",
        "detail": "Modality 'smell' not found",
        "requested_modality": "smell",
        "available_modalities": ["notes"],
    }
    await stage.post("/environment/modalities/smell/query", {}, expect=404)


async def test_a_sound_world_is_valid(stage: Stage) -> None:
    answer = await stage.post("/environment/validate")

    assert (answer["valid"], answer["errors"]) == (True, [])


async def test_anybody_may_ask_whether_it_lives(stage: Stage) -> None:
    health = await stage.get("/health", key="")
    described = await stage.get("/openapi.json", key="")
    assert (health["status"], health["version"]) == ("healthy", UES_VERSION)
    assert cast(JsonObject, described["info"])["version"] == UES_VERSION
    assert (await stage.get("/", key=""))["name"] == "User Environment Simulator"
    assert (await stage.call("GET", "/docs", key="")).status_code == 200

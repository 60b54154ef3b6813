"""``/environment``, and what anybody may ask."""

import pytest

from tests.simulator.stage import Stage
from tests.simulator.writing import schedule

pytestmark = pytest.mark.promise("simulator.environment")


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

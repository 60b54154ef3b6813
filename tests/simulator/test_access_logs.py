"""``/access-logs``."""

from typing import cast

import pytest

from services.simulator.core.access_log import LoggedAccess, LoggedAccessFilter, WorldAccessLog
from services.simulator.core.records import JsonObject
from tests.doubles.simulated_surroundings import WALL
from tests.simulator.stage import Stage

pytestmark = pytest.mark.promise("simulator.logs")


async def test_each_request_is_noted_with_who_came_and_what_became_of_it(stage: Stage) -> None:
    key = await stage.key("time:read")
    await stage.get("/simulator/time", key=key.secret)
    await stage.get("/events", key=key.secret, expect=403)
    await stage.get("/events", key="", expect=401)

    answer = await stage.get("/access-logs")

    logs = cast(list[JsonObject], answer["logs"])
    assert [(log["path"], log["status_code"], log["key_id"], log["key_name"]) for log in logs[:3]] == [
        ("/events", 401, None, None),
        ("/events", 403, key.key_id, "someone"),
        ("/simulator/time", 200, key.key_id, "someone"),
    ]


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ("method=post", 2),
        ("errors_only=true", 1),
        ("status_code_min=400", 1),
        ("status_code_max=399", 3),
        ("path_prefix=/simulation", 2),
        ("key_name=admin", 4),
        ("key_id=nobody", 0),
        ("since=2026-03-01T09:00:01Z", 0),
        ("until=2026-03-01T09:00:00Z", 4),
        ("limit=1", 4),
    ],
)
async def test_logs_are_found_by_anything_they_hold(stage: Stage, asked: str, found: int) -> None:
    await stage.post("/simulation/start", {})
    await stage.post("/simulation/start", {}, expect=409)
    await stage.get("/simulator/time")
    await stage.get("/health", key="")
    await stage.get("/events")

    assert (await stage.get(f"/access-logs?{asked}"))["total"] == found


async def test_logs_are_counted_and_cleared(stage: Stage) -> None:
    await stage.get("/simulator/time")
    await stage.get("/nowhere", expect=404)

    stats = await stage.get("/access-logs/stats")
    cleared = await stage.post("/access-logs/clear")

    assert (stats["total_requests"], stats["total_errors"], stats["by_status"]) == (2, 1, {"200": 1, "404": 1})
    assert cleared["cleared"] == 3
    assert (await stage.get("/access-logs"))["total"] == 1


def test_only_the_last_ones_are_kept() -> None:
    log = WorldAccessLog(most_kept=3)
    for status in range(200, 206):
        log.record(LoggedAccess(WALL, "GET", "/", status, 1.0, None, None))

    assert [access.status_code for access in log.find(LoggedAccessFilter())] == [205, 204, 203]

"""``/worlds`` and ``/world``."""

from typing import cast

import pytest

from tests.simulator.stage import Stage
from tests.simulator.writing import later, note, schedule, texts

pytestmark = pytest.mark.promise("simulator.worlds")


async def _write(stage: Stage, world: str, text: str) -> None:
    await stage.post(f"{world}/events/immediate", {"modality": "notes", "data": note(text)})
    await stage.post(f"{world}/simulator/time/advance", {"seconds": 1})


async def test_a_world_stands_behind_its_path(stage: Stage) -> None:
    opened = await stage.post("/worlds", {"world_id": "a"}, expect=201)
    await stage.post("/simulation/start", {})
    await stage.post("/worlds/a/simulation/start", {})

    await _write(stage, "", "here")
    await _write(stage, "/worlds/a", "there")

    assert opened["base_path"] == "/worlds/a"
    assert (await texts(stage), await texts(stage, "/worlds/a")) == (["here"], ["there"])
    assert (await stage.get("/worlds/default/events"))["total"] == (await stage.get("/events"))["total"] == 1


async def test_a_key_opens_its_own_world_only(stage: Stage) -> None:
    await stage.post("/worlds", {"world_id": "a"}, expect=201)
    made = await stage.post("/worlds/a/keys", {"name": "x", "permissions": ["*"]}, expect=201)
    secret = str(made["secret"])

    await stage.get("/worlds/a/events", key=secret)

    await stage.get("/events", key=secret, expect=401)
    await stage.get("/worlds/b/events", key=secret, expect=401)
    await stage.get("/worlds", key=secret, expect=401)
    await stage.get("/worlds/a/worlds", key=secret, expect=403)
    assert (await stage.get("/keys"))["total"] == 1


async def test_logs_and_holds_are_a_worlds_own(stage: Stage) -> None:
    await stage.post("/worlds", {"world_id": "a"}, expect=201)
    for world in ("", "/worlds/a"):
        await stage.post(f"{world}/simulation/start", {})
    await stage.post("/worlds/a/simulation/hold", {})

    await stage.post("/simulator/time/advance", {"seconds": 1})

    await stage.post("/worlds/a/simulator/time/advance", {"seconds": 1}, expect=409)
    logs = await stage.get("/worlds/a/access-logs?path_prefix=/simulation")
    assert logs["total"] == 2


async def test_worlds_are_listed_and_closed(stage: Stage) -> None:
    made = await stage.post("/worlds", expect=201)
    await stage.post("/worlds", {"world_id": made["world_id"]}, expect=409)
    assert (await stage.get("/worlds"))["total"] == 2
    assert (await stage.get(f"/worlds/{made['world_id']}"))["is_running"] is False

    await stage.delete(f"/worlds/{made['world_id']}")

    await stage.get(f"/worlds/{made['world_id']}/events", expect=404)
    await stage.delete(f"/worlds/{made['world_id']}", expect=404)
    await stage.delete("/worlds/default", expect=400)


async def test_there_are_no_more_worlds_than_are_allowed(stage: Stage) -> None:
    for _ in range(19):
        await stage.post("/worlds", expect=201)

    await stage.post("/worlds", expect=409)


@pytest.mark.promise("simulator.saved")
async def test_a_saved_world_goes_on_in_another_one(running: Stage) -> None:
    """Its states, waiting events, keys, and what can be undone, redone and reset."""
    key = await running.key("events:list")
    for number in range(4):
        await schedule(running, 10 * number, f"note {number}")
    await running.post("/simulator/time/advance", {"seconds": 20})
    await running.post("/simulation/undo")
    saved = await running.get("/world")
    await running.post("/worlds", {"world_id": "copy"}, expect=201)

    restored = await running.call("PUT", "/worlds/copy/world", saved)

    assert restored.status_code == 200
    assert await running.get("/worlds/copy/world") == saved
    await running.get("/worlds/copy/events", key=key.secret)
    for world in ("", "/worlds/copy"):
        assert await texts(running, world) == ["note 0", "note 1"]
        await running.post(f"{world}/simulation/redo")
        await running.post(f"{world}/simulator/time/advance", {"seconds": 60})
        assert await texts(running, world) == [f"note {number}" for number in range(4)]
        await running.post(f"{world}/simulation/undo", {"count": 3})
        assert await texts(running, world) == ["note 0"]
        await running.post(f"{world}/simulation/reset")
        assert await texts(running, world) == []


@pytest.mark.promise("simulator.saved")
@pytest.mark.parametrize(
    "change", [{"v": 3}, {"states": {"smell": {}}}, {"states": {"notes": {"no": []}}}, {"done": 1}]
)
async def test_what_is_no_saved_world_is_refused_and_changes_nothing(running: Stage, change: dict[str, object]) -> None:
    await running.post("/events", later(10, "hi"))
    saved = await running.get("/world")

    response = await running.call("PUT", "/world", {**saved, **change})

    assert response.status_code in (400, 422)
    assert await running.get("/world") == saved


@pytest.mark.promise("simulator.saved")
async def test_a_saved_world_whose_holds_or_keys_could_not_be_compared_with_the_time_is_refused(stage: Stage) -> None:
    """Each later request of that world would break on them."""
    await stage.key("time:read")
    await stage.post("/simulation/hold", {})
    saved = await stage.get("/world")
    hold, *_ = cast("list[dict[str, object]]", saved["holds"])
    key, *_ = cast("list[dict[str, object]]", saved["keys"])
    for change in (
        {"holds": [hold | {"timeout_seconds": 1e300}]},
        {"keys": [key | {"expires_at": "2026-03-01T09:00"}]},
    ):
        response = await stage.call("PUT", "/world", {**saved, **change})
        assert response.status_code == 422
    await stage.get("/simulator/time")


@pytest.mark.promise("simulator.saved")
async def test_a_saved_world_holds_no_secret(stage: Stage) -> None:
    key = await stage.key("time:read")

    saved = await stage.get("/world")

    assert key.key_id in str(saved)
    assert key.secret not in str(saved)


@pytest.mark.promise("simulator.saved")
async def test_a_world_that_the_version_before_saved_runs_if_it_ran_and_stands_if_it_stood(running: Stage) -> None:
    """That version wrote no ``running``: a simulation had an id only while it ran."""
    saved = await running.get("/world")
    old = {name: value for name, value in saved.items() if name != "running"} | {"v": 1}

    await running.call("PUT", "/world", {**old, "simulation_id": None})
    stood = await running.get("/simulation/status")
    await running.call("PUT", "/world", old)
    ran = await running.get("/simulation/status")

    assert (stood["is_running"], ran["is_running"]) == (False, True)

"""``/simulation``."""

import pytest

from tests.simulator.stage import Stage
from tests.simulator.writing import at, note, schedule, status_of, texts, time_of

pytestmark = pytest.mark.promise("simulator.simulation")


async def test_a_manual_start_ends_a_pause(stage: Stage) -> None:
    """A scenario that was saved while paused could never be advanced otherwise."""
    await stage.post("/simulator/time/pause")

    await stage.post("/simulation/start", {})

    await stage.post("/simulator/time/advance", {"seconds": 1})


async def test_its_status_tells_of_time_and_events(running: Stage) -> None:
    await schedule(running, 10)
    await schedule(running, 20)
    await running.post("/simulator/time/advance", {"seconds": 10})

    assert await running.get("/simulation/status") == {
        "is_running": True,
        "current_time": "2026-03-01T09:00:10+00:00",
        "is_paused": False,
        "auto_advance": False,
        "time_scale": 1.0,
        "pending_events": 1,
        "executed_events": 1,
        "failed_events": 0,
        "next_event_time": "2026-03-01T09:00:20+00:00",
    }


async def test_a_stop_counts_what_ran(running: Stage) -> None:
    await schedule(running, 10)
    await running.post("/simulator/time/advance", {"seconds": 10})

    stopped = await running.post("/simulation/stop")
    again = await running.post("/simulation/stop")

    assert (stopped["status"], stopped["total_events"], stopped["events_executed"]) == ("stopped", 1, 1)
    assert stopped["final_time"] == "2026-03-01T09:00:10+00:00"
    assert again == {**dict.fromkeys(stopped), "status": "stopped", "simulation_id": stopped["simulation_id"]}


async def test_a_simulation_has_one_id_before_it_starts_while_it_runs_and_after(stage: Stage) -> None:
    idle = await stage.post("/simulation/stop")
    started = await stage.post("/simulation/start", {})
    stopped = await stage.post("/simulation/stop")
    again = await stage.post("/simulation/start", {})

    assert idle["simulation_id"]
    assert {one["simulation_id"] for one in (idle, started, stopped, again)} == {idle["simulation_id"]}


async def test_an_undone_event_does_not_count_as_executed(running: Stage) -> None:
    event = await schedule(running, 10)
    await running.post("/simulator/time/advance", {"seconds": 60})

    await running.post("/simulation/undo")
    assert await status_of(running, event) == "skipped"
    await running.post("/simulation/redo")

    assert await status_of(running, event) == "executed"


async def test_a_reset_goes_back_to_what_was_loaded(running: Stage) -> None:
    """What ran by schedule waits again; what was cancelled stays so; time stays where it is."""
    ran = await schedule(running, 10)
    cancelled = await schedule(running, 20)
    await running.delete(f"/events/{cancelled}")
    await running.post("/simulator/time/advance", {"seconds": 60})

    answer = await running.post("/simulation/reset")

    assert (answer["status"], answer["events_undone"], answer["cleared_events"]) == ("reset", 1, 1)
    assert await texts(running) == []
    assert [await status_of(running, event) for event in (ran, cancelled)] == ["pending", "cancelled"]
    status = await running.get("/simulation/status")
    assert (status["is_running"], status["current_time"]) == (False, "2026-03-01T09:01:00+00:00")


async def test_a_clear_empties_the_world(running: Stage) -> None:
    await schedule(running, 10)
    await running.post("/simulator/time/advance", {"seconds": 60})
    await running.post("/simulation/hold", {})

    answer = await running.post("/simulation/clear", {"reset_time_to": "2026-01-01T00:00:00Z"})

    assert (answer["status"], answer["events_removed"], answer["modalities_cleared"]) == ("cleared", 1, 1)
    assert time_of(answer["current_time"]) == time_of("2026-01-01T00:00:00+00:00")
    assert await texts(running) == []
    assert (await running.get("/events"))["total"] == 0
    assert (await running.get("/simulation/holds"))["active_count"] == 0
    assert (await running.get("/simulation/status"))["is_running"] is False


async def test_a_hold_keeps_time_from_moving_until_it_is_released(running: Stage) -> None:
    held = await running.post("/simulation/hold", {"reason": "thinking", "agent_id": "me"})

    refused = await running.post("/simulator/time/advance", {"seconds": 1}, expect=409)
    await running.post("/simulator/time/set", {"target_time": at(9)}, expect=409)
    await running.post("/simulator/time/skip-to-next", expect=409)
    released = await running.post(f"/simulation/release/{held['hold_id']}")

    assert (held["timeout_seconds"], held["active_hold_count"]) == (300, 1)
    assert refused["detail"] == {
        "message": "Time cannot be moved while holds are active",
        "active_holds": [{"hold_id": held["hold_id"], "reason": "thinking", "agent_id": "me"}],
    }
    assert released == {"released": True, "hold_id": held["hold_id"], "active_hold_count": 0}
    await running.post("/simulator/time/advance", {"seconds": 1})
    await running.post(f"/simulation/release/{held['hold_id']}", expect=404)


async def test_a_hold_ends_by_itself(running: Stage) -> None:
    held = await running.post("/simulation/hold", {"timeout_seconds": 2})
    assert time_of(held["expires_at"]) == time_of(at(2))

    running.surroundings.pass_seconds(2)

    assert await running.get("/simulation/holds") == {"holds": [], "active_count": 0}
    await running.post("/simulator/time/advance", {"seconds": 1})


async def test_a_reset_does_not_repeat_what_callers_did_at_once(running: Stage) -> None:
    done = running.world.act("notes", note("by hand"), "ues_someone")

    await running.post("/simulation/reset")
    await running.post("/simulation/start", {})
    await running.post("/simulator/time/advance", {"seconds": 60})

    assert await texts(running) == []
    assert await status_of(running, done.event.event_id) == "cancelled"

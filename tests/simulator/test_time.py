"""``/simulator/time``."""

import pytest

from tests.simulator.modalities.asking import part
from tests.simulator.stage import Stage
from tests.simulator.writing import at, schedule, status_of, texts, time_of

pytestmark = pytest.mark.promise("simulator.time")


async def test_an_advance_runs_what_is_due_and_leaves_the_rest(running: Stage) -> None:
    """An event's own time is the time of what it wrote; it ran at the end of the advance."""
    first = await schedule(running, 60, "first")
    await schedule(running, 61, "second")

    answer = await running.post("/simulator/time/advance", {"seconds": 60})

    assert answer["time_advanced"] == "0:01:00"
    assert (answer["events_executed"], answer["events_failed"]) == (1, 0)
    assert answer["execution_details"] == [
        {"event_id": first, "modality": "notes", "status": "executed", "error": None}
    ]
    assert await texts(running) == ["first"]


async def test_data_bear_the_events_own_time(running: Stage) -> None:
    event_id = await schedule(running, 10)
    await running.post("/simulator/time/advance", {"seconds": 60})

    event = await running.get(f"/events/{event_id}")
    state = part(await running.get("/environment/modalities/notes"), "state")

    assert time_of(event["executed_at"]) == time_of(at(60))
    assert time_of(state["last_updated"]) == time_of(at(10))


async def test_due_events_run_by_time_then_priority_then_age(running: Stage) -> None:
    await schedule(running, 20, "last")
    await schedule(running, 10, "low", priority=1)
    await schedule(running, 10, "high, older", priority=90)
    await schedule(running, 10, "high, younger", priority=90)

    await running.post("/simulator/time/advance", {"seconds": 60})

    assert await texts(running) == ["high, older", "high, younger", "low", "last"]


async def test_a_failing_event_is_counted_and_told_and_changes_nothing(running: Stage) -> None:
    body = {"scheduled_time": at(5), "modality": "notes", "data": {"operation": "throw", "note_id": "none"}}
    event_id = (await running.post("/events", body))["event_id"]
    await schedule(running, 6, "after it")

    answer = await running.post("/simulator/time/advance", {"seconds": 60})

    assert (answer["events_executed"], answer["events_failed"]) == (2, 1)
    event = await running.get(f"/events/{event_id}")
    assert (event["status"], event["error_message"]) == ("failed", "ActionFailed: no note none")
    assert await texts(running) == ["after it"]


async def test_nothing_moves_while_paused(running: Stage) -> None:
    paused = await running.post("/simulator/time/pause")
    refused = await running.post("/simulator/time/advance", {"seconds": 1}, expect=400)
    resumed = await running.post("/simulator/time/resume")

    assert (paused["message"], paused["is_paused"]) == ("Time paused", True)
    assert refused["detail"] == "Cannot advance time while paused"
    assert (resumed["message"], resumed["is_paused"]) == ("Time resumed", False)
    await running.post("/simulator/time/advance", {"seconds": 1})


async def test_time_set_forward_skips_what_lies_between(running: Stage) -> None:
    skipped = await schedule(running, 10)
    kept = await schedule(running, 30)

    answer = await running.post("/simulator/time/set", {"target_time": at(20)})
    await running.post("/simulator/time/advance", {"seconds": 5})

    assert (answer["skipped_events"], answer["executed_events"]) == (1, 0)
    assert [await status_of(running, event) for event in (skipped, kept)] == ["skipped", "pending"]
    assert await texts(running) == []


async def test_time_set_back_undoes_what_came_later_and_lets_it_come_again(running: Stage) -> None:
    early = await schedule(running, 10, "early")
    late = await schedule(running, 30, "late")
    await running.post("/simulator/time/advance", {"seconds": 60})

    answer = await running.post("/simulator/time/set", {"target_time": at(20)})

    assert (answer["rolled_back_events"], answer["reset_skipped_events"]) == (1, 0)
    assert await texts(running) == ["early"]
    assert [await status_of(running, event) for event in (early, late)] == ["executed", "pending"]
    await running.post("/simulator/time/advance", {"seconds": 60})
    assert await texts(running) == ["early", "late"]


async def test_time_set_back_revives_what_was_skipped(running: Stage) -> None:
    event = await schedule(running, 30)
    await running.post("/simulator/time/set", {"target_time": at(60)})

    answer = await running.post("/simulator/time/set", {"target_time": at(20)})

    assert answer["reset_skipped_events"] == 1
    assert await status_of(running, event) == "pending"


async def test_skipping_goes_to_the_next_event_even_while_paused(running: Stage) -> None:
    await schedule(running, 30)
    await schedule(running, 90)
    await running.post("/simulator/time/pause")

    answer = await running.post("/simulator/time/skip-to-next")

    assert time_of(answer["current_time"]) == time_of(at(30))
    assert answer["events_executed"] == 1
    assert time_of(answer["next_event_time"]) == time_of(at(90))


async def test_what_is_brought_by_the_past_runs_at_the_next_advance(running: Stage) -> None:
    """An immediate event waits for the next move of time."""
    made = await running.post("/events/immediate", {"modality": "notes", "data": {"operation": "write", "text": "x"}})
    assert (made["status"], made["priority"]) == ("pending", 100)
    assert await texts(running) == []

    await running.post("/simulator/time/advance", {"seconds": 1})

    assert await texts(running) == ["x"]


async def test_automatic_time_flows_by_its_scale_and_runs_what_comes_due(stage: Stage) -> None:
    await schedule(stage, 60, "on the way")
    await stage.post("/simulation/start", {"auto_advance": True, "time_scale": 10})

    stage.surroundings.pass_seconds(7)

    state = await stage.get("/simulator/time")
    assert (state["mode"], time_of(state["current_time"])) == ("auto", time_of(at(70)))
    assert await texts(stage) == ["on the way"]


async def test_automatic_time_stands_still_while_paused_or_held(stage: Stage) -> None:
    """It flows again from the moment in which a hold expired, whenever somebody looks."""
    await stage.post("/simulation/start", {"auto_advance": True, "time_scale": 1})
    await stage.post("/simulator/time/pause")
    stage.surroundings.pass_seconds(5)
    assert (await stage.get("/simulator/time"))["mode"] == "paused"
    await stage.post("/simulator/time/resume")
    await stage.post("/simulation/hold", {"timeout_seconds": 10})
    stage.surroundings.pass_seconds(5)
    assert time_of((await stage.get("/simulator/time"))["current_time"]) == time_of(at(0))

    stage.surroundings.pass_seconds(6)
    await stage.get("/simulator/time")
    stage.surroundings.pass_seconds(3)

    assert time_of((await stage.get("/simulator/time"))["current_time"]) == time_of(at(4))


async def test_a_new_scale_counts_from_now_on(stage: Stage) -> None:
    await stage.post("/simulation/start", {"auto_advance": True, "time_scale": 1})
    stage.surroundings.pass_seconds(10)

    answer = await stage.post("/simulator/time/set-scale", {"scale": 100})
    stage.surroundings.pass_seconds(1)

    assert answer["time_scale"] == 100
    assert time_of((await stage.get("/simulator/time"))["current_time"]) == time_of(at(110))

"""``/scenario``."""

from typing import cast

import pytest

from services.simulator.core.records import JsonObject
from tests.each_row import each_row
from tests.simulator.modalities.asking import part
from tests.simulator.stage import Stage
from tests.simulator.writing import at, events, later, note, schedule, status_of, texts, time_of

pytestmark = pytest.mark.promise("simulator.scenario")


async def _exported(stage: Stage) -> JsonObject:
    return cast(JsonObject, (await stage.get("/scenario/export/full"))["scenario"])


def _without_ids(event: JsonObject) -> JsonObject:
    """Each import makes events of its own."""
    data = cast(JsonObject, event["data"])
    left = {name: value for name, value in event.items() if name != "event_id"}
    return {**left, "data": {name: value for name, value in data.items() if name != "input_id"}}


def _notes(*written: str) -> JsonObject:
    kept = {text: {"note_id": text, "text": text, "written_at": at(0)} for text in written}
    return {"modality_type": "notes", "last_updated": at(0), "update_count": 3, "notes": cast(JsonObject, kept)}


def _environment(**states: JsonObject) -> JsonObject:
    time: JsonObject = {
        "current_time": at(100),
        "time_scale": 2.0,
        "is_paused": True,
        "auto_advance": False,
        "last_wall_time_update": at(0),
    }
    return {"time_state": time, "modality_states": cast(JsonObject, states)}


def _scenario(environment: JsonObject, *waiting: JsonObject) -> JsonObject:
    metadata: JsonObject = {"ues_version": "0.3.0", "scenario_version": "1", "author": "ann"}
    return {"metadata": metadata, "environment": environment, "events": {"events": [*waiting]}}


async def test_a_world_that_is_exported_and_imported_is_the_same(running: Stage) -> None:
    await schedule(running, 10, "ran")
    await schedule(running, 100, "waits")
    await running.post("/simulator/time/advance", {"seconds": 60})
    before = await _exported(running)
    await running.post("/simulation/clear", {"reset_time_to": at(-1000)})

    answer = await running.post("/scenario/import/full", {"scenario": before})

    after = await _exported(running)
    assert after["environment"] == before["environment"]
    old, new = (cast(list[JsonObject], cast(JsonObject, each["events"])["events"]) for each in (before, after))
    assert [_without_ids(event) for event in new] == [_without_ids(event) for event in old]
    assert (answer["success"], answer["environment_loaded"], answer["events_loaded"]) == (True, True, 2)
    assert (answer["modalities_loaded"], answer["modalities_skipped"], answer["warnings"]) == (["notes"], [], [])


async def test_a_scenario_may_come_in_the_wrapping_of_its_export(stage: Stage) -> None:
    scenario = _scenario(_environment(notes=_notes("a")))

    answer = await stage.post("/scenario/import/full", {"scenario": {"scenario": scenario, "strict_modalities": False}})

    assert cast(JsonObject, answer["scenario_metadata"])["author"] == "ann"
    assert await texts(stage) == ["a"]


async def test_an_imported_environment_brings_its_time(stage: Stage) -> None:
    await stage.post("/scenario/import/environment", {"data": _environment(notes=_notes("a", "b"))})

    time = await stage.get("/simulator/time")
    assert (time_of(time["current_time"]), time["time_scale"], time["is_paused"]) == (time_of(at(100)), 2.0, True)
    assert await texts(stage) == ["a", "b"]
    assert part(await stage.get("/environment/modalities/notes"), "state")["update_count"] == 3


async def test_a_modality_that_the_file_leaves_out_is_empty_afterwards(stage: Stage) -> None:
    stage.world.act("notes", note("old"), None)

    await stage.post("/scenario/import/environment", {"data": _environment()})

    assert await texts(stage) == []


async def test_an_unknown_modality_is_left_out_unless_strictness_is_asked_for(stage: Stage) -> None:
    scenario = _scenario(_environment(notes=_notes("a"), smell={"x": 1}))

    await stage.post("/scenario/import/full", {"scenario": scenario, "strict_modalities": True}, expect=400)
    assert await texts(stage) == []
    answer = await stage.post("/scenario/import/full", {"scenario": scenario})

    assert (answer["modalities_loaded"], answer["modalities_skipped"]) == (["notes"], ["smell"])
    assert answer["warnings"] == ["Unknown modality 'smell' was skipped"]


@pytest.mark.promise("simulator.refusals")
@each_row(
    ("spoil", "status"),
    (lambda s: s.pop("environment"), 422),
    (lambda s: s["environment"]["time_state"].pop("last_wall_time_update"), 422),
    (lambda s: s["environment"]["time_state"].update(time_scale=0), 422),
    (lambda s: s["environment"]["time_state"].update(current_time="0001-01-01T00:00:00+05:00"), 422),
    (lambda s: s["environment"]["time_state"].update(current_time="0001-01-01T00:00:00Z"), 400),
    (lambda s: s["environment"]["modality_states"]["notes"].pop("notes"), 422),
    (lambda s: s["events"]["events"].append(later(1, " ")), 400),
    (lambda s: s["events"]["events"].append({**later(1, "a"), "data": {"operation": "shout"}}), 422),
    (lambda s: s["events"]["events"].append({**later(1, "a"), "status": "lost"}), 422),
)
async def test_a_scenario_with_something_wrong_changes_nothing(stage: Stage, spoil: object, status: int) -> None:
    await stage.post("/events", later(50, "stays"))
    stage.world.act("notes", note("stays"), None)
    before = await _exported(stage)
    scenario = _scenario(_environment(notes=_notes("a")), later(200, "fine"))
    assert callable(spoil)
    spoil(scenario)

    await stage.post("/scenario/import/full", {"scenario": scenario}, expect=status)

    assert await _exported(stage) == before


async def test_nothing_is_imported_while_the_simulation_runs(running: Stage) -> None:
    scenario = _scenario(_environment())
    await running.post("/scenario/import/full", {"scenario": scenario}, expect=409)
    await running.post("/scenario/import/environment", {"data": scenario["environment"]}, expect=409)
    await running.post("/scenario/import/events", {"data": scenario["events"]}, expect=409)


async def test_events_of_the_past_are_taken_and_warned_of(stage: Stage) -> None:
    """They run when time next moves, at their own time."""
    answer = await stage.post(
        "/scenario/import/full", {"scenario": _scenario(_environment(notes=_notes()), later(10, "late"))}
    )
    await stage.post("/simulation/start", {})
    await stage.post("/simulator/time/advance", {"seconds": 1})

    assert len(cast(list[str], answer["warnings"])) == 1
    assert await texts(stage) == ["late"]


async def test_imported_events_are_new_ones_in_order(stage: Stage) -> None:
    given: list[JsonObject] = [{**later(seconds, "x"), "event_id": "same"} for seconds in (300, 200)]
    await stage.post("/scenario/import/events", {"data": {"events": given}})

    found = await events(stage)
    assert [time_of(event["scheduled_time"]) for event in found] == [time_of(at(200)), time_of(at(300))]
    assert len({str(event["event_id"]) for event in found} | {"same"}) == 3


async def test_events_replace_the_queue_or_join_it(stage: Stage) -> None:
    data = {"events": [later(10, "new")]}
    await schedule(stage, 20, "old")

    await stage.post("/scenario/import/events", {"data": data, "merge": True})
    assert (await stage.get("/events"))["total"] == 2
    await stage.post("/scenario/import/events", {"data": data})

    assert (await stage.get("/events"))["total"] == 1


@pytest.mark.parametrize(("handling", "left", "written"), [("ignore", 1, []), ("delete", 0, []), ("apply", 1, ["old"])])
async def test_waiting_events_before_a_new_time_are_kept_dropped_or_run(
    stage: Stage, handling: str, left: int, written: list[str]
) -> None:
    await schedule(stage, 20, "old")

    body = {"data": _environment(notes=_notes()), "historic_event_handling": handling}
    await stage.post("/scenario/import/environment", body)

    assert (await stage.get("/events"))["total"] == left
    assert await texts(stage) == written


@pytest.mark.promise("simulator.undo")
async def test_a_reset_does_not_repeat_what_had_happened_before_the_import(running: Stage) -> None:
    """Its effect is in the imported state already."""
    ran = later(10, "ran")
    await running.post("/events", ran)
    await running.post("/simulator/time/advance", {"seconds": 60})
    scenario = await _exported(running)
    await running.post("/simulation/stop")
    await running.post("/scenario/import/full", {"scenario": scenario})
    await running.post("/simulation/start", {})

    await running.post("/simulation/reset")
    await running.post("/simulation/start", {})
    await running.post("/simulator/time/advance", {"seconds": 60})

    assert await texts(running) == ["ran"]
    (event,) = await events(running)
    assert await status_of(running, str(event["event_id"])) == "executed"


@pytest.mark.promise("simulator.undo")
async def test_a_reset_of_a_new_environment_repeats_nothing_of_the_old_one(running: Stage) -> None:
    await schedule(running, 10, "old")
    await schedule(running, 90, "waits")
    await running.post("/simulator/time/advance", {"seconds": 60})
    await running.post("/simulation/stop")
    await running.post("/scenario/import/environment", {"data": _environment(notes=_notes("new"))})

    await running.post("/simulation/reset")
    await running.post("/simulation/start", {})
    await running.post("/simulator/time/advance", {"seconds": 60})

    assert await texts(running) == ["new", "waits"]


async def test_time_is_not_set_back_past_what_can_no_longer_be_taken_back(running: Stage) -> None:
    """An import brings what had happened, and not how to undo it."""
    await schedule(running, 50, "ran")
    await running.post("/simulator/time/advance", {"seconds": 60})
    scenario = await _exported(running)
    await running.post("/simulation/stop")
    await running.post("/scenario/import/full", {"scenario": scenario})
    await running.post("/simulation/start", {})

    await running.post("/simulator/time/set", {"target_time": at(40)}, expect=409)
    await running.post("/simulator/time/set", {"target_time": at(55)})

    assert await texts(running) == ["ran"]


async def test_parts_are_exported_alone(running: Stage) -> None:
    await schedule(running, 10)
    await schedule(running, 90)
    await running.post("/simulator/time/advance", {"seconds": 60})

    environment = await running.get("/scenario/export/environment")
    queue = await running.get("/scenario/export/events")
    full = await running.get("/scenario/export/full?author=ann&description=a+day")

    assert environment["modalities_exported"] == ["notes"]
    assert (queue["total_events"], queue["pending_events"], queue["executed_events"]) == (2, 1, 1)
    metadata = cast(JsonObject, cast(JsonObject, full["scenario"])["metadata"])
    assert (metadata["author"], metadata["description"], metadata["scenario_version"]) == ("ann", "a day", "1")


async def test_a_scenario_of_another_version_is_taken_with_a_warning(stage: Stage) -> None:
    scenario = _scenario(_environment())
    cast(JsonObject, scenario["metadata"])["ues_version"] = "7.0.0"

    answer = await stage.post("/scenario/import/full", {"scenario": scenario})

    assert "7.0.0" in str(answer["warnings"])

"""``/events``, one by one."""

import pytest

from services.simulator.core.records import JsonObject
from tests.simulator.stage import Stage
from tests.simulator.writing import at, events, later, note, schedule, status_of, time_of

pytestmark = pytest.mark.promise("simulator.events")


async def test_an_event_waits_with_what_it_was_given(stage: Stage) -> None:
    """The answer to its making leaves the data out; asked for by id, they come in their envelope."""
    made = await stage.post("/events", {**later(60, "hi"), "metadata": {"why": "test"}})

    shown = await stage.get(f"/events/{made['event_id']}")

    assert (made["status"], made["priority"], made["data"]) == ("pending", 50, None)
    data = shown["data"]
    assert isinstance(data, dict)
    assert (data["modality_type"], data["operation"], data["text"]) == ("notes", "write", "hi")
    assert time_of(data["timestamp"]) == time_of(at(60))
    assert data["input_id"]
    assert shown["metadata"] == {"why": "test", "created_by_key": "ues_admin"}
    assert (shown["executed_at"], shown["error_message"]) == (None, None)


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ("", 4),
        ("?status=pending", 3),
        ("?status=executed", 1),
        ("?status=failed", 0),
        ("?modality=notes", 4),
        ("?modality=email", 0),
        ("?start_time=2026-03-01T09:00:20Z&end_time=2026-03-01T09:00:30Z", 2),
        ("?start_time=2026-03-01T09:00:21Z", 2),
        ("?end_time=2026-03-01T09:00:19Z&status=pending", 0),
        ("?limit=0", 4),
    ],
)
async def test_events_are_found_by_status_time_and_modality(running: Stage, asked: str, found: int) -> None:
    """Both ends of a time range count; a limit of 0 is none."""
    for seconds in (10, 20, 30, 40):
        await schedule(running, seconds)
    await running.post("/simulator/time/advance", {"seconds": 10})

    answer = await running.get(f"/events{asked}")

    assert answer["total"] == found == len(await events(running, asked))
    assert (answer["pending"], answer["executed"], answer["failed"], answer["skipped"]) == (3, 1, 0, 0)


async def test_events_are_paged_in_the_order_in_which_they_run(stage: Stage) -> None:
    ids = {seconds: await schedule(stage, seconds) for seconds in (30, 10, 20)}

    page = await events(stage, "?limit=1&offset=1")

    assert [event["event_id"] for event in page] == [ids[20]]
    assert (await stage.get("/events?limit=1&offset=1"))["total"] == 3


async def test_the_next_event_is_the_one_to_run_first(stage: Stage) -> None:
    assert (await stage.get("/events/next", expect=404))["detail"] == "No pending events"
    await schedule(stage, 20)
    first = await schedule(stage, 10)

    assert (await stage.get("/events/next"))["event_id"] == first
    await stage.delete(f"/events/{first}")

    assert (await stage.get("/events/next"))["event_id"] != first


async def test_the_summary_counts_by_status_and_modality(running: Stage) -> None:
    await schedule(running, 10)
    await schedule(running, 20)
    await running.post("/simulator/time/advance", {"seconds": 10})

    summary = await running.get("/events/summary")

    assert time_of(summary.pop("next_event_time")) == time_of(at(20))
    assert summary == {"total": 2, "pending": 1, "executed": 1, "failed": 0, "skipped": 0, "by_modality": {"notes": 2}}


async def test_only_a_waiting_event_can_be_cancelled(running: Stage) -> None:
    event = await schedule(running, 10)

    assert await running.delete(f"/events/{event}") == {"cancelled": True, "event_id": event}
    await running.delete(f"/events/{event}", expect=400)
    await running.delete("/events/none", expect=404)
    await running.get("/events/none", expect=404)
    await running.post("/simulator/time/advance", {"seconds": 60})

    assert await status_of(running, event) == "cancelled"


@pytest.mark.promise("simulator.attribution")
async def test_an_event_belongs_to_the_key_that_made_it(running: Stage) -> None:
    """Whoever the body says it is for, and on whichever way it came."""
    key = await running.key("events:*", "time:advance")
    body = {**later(10, "mine"), "agent_id": "ues_admin", "metadata": {"created_by_key": "ues_admin"}}
    await running.post("/events", body, key=key.secret)
    await running.post("/events/immediate", {"modality": "notes", "data": note("now")}, key=key.secret)
    await running.post("/events/batch", {"events": [body]}, key=key.secret, expect=201)
    running.world.act("notes", note("at once"), key.key_id)

    await running.post("/simulator/time/advance", {"seconds": 60})

    found = await events(running)
    assert {event["agent_id"] for event in found} == {key.key_id}
    assert [event["metadata"] for event in found] == [{"created_by_key": key.key_id}] * 4


@pytest.mark.promise("simulator.attribution")
@pytest.mark.parametrize(
    ("path", "body"),
    [
        (
            "/email/send",
            {
                "from_address": "user@example.com",
                "to_addresses": ["ann@example.com"],
                "subject": "Hi",
                "body_text": "Hello",
                "agent_id": "ues_admin",
            },
        ),
        ("/sms/send", {"from_number": "+15550000000", "to_numbers": ["+15551112222"], "body": "Hello"}),
        ("/chat/send", {"role": "assistant", "content": "Done", "conversation_id": "user-assistant"}),
        ("/calendar/create", {"title": "Lunch", "start": at(3600), "end": at(7200)}),
        ("/email/read", {"message_ids": ["nothing"]}),
    ],
)
async def test_an_action_belongs_to_the_key_that_took_it(full: Stage, path: str, body: JsonObject) -> None:
    """Failed ones too."""
    await full.post("/simulation/start", {})
    modality = path.split("/")[1]
    key = await full.key(f"{modality}:*")

    answer = await full.post(path, body, key=key.secret)

    (event,) = await events(full)
    assert (event["event_id"], event["status"]) == (answer["event_id"], answer["status"])
    assert (event["agent_id"], event["priority"], event["modality"]) == (key.key_id, 100, modality)
    assert event["metadata"] == {"created_by_key": key.key_id}

"""Doing things in a user's world, and reading what came of it."""

from typing import cast

from services.simulator.core.records import JsonObject
from tests.simulator.stage import Stage

USER = "user@example.com"
PHONE = "+15550000000"


async def do(stage: Stage, path: str, **body: object) -> str:
    """Carry out an action that succeeds; the id of what it was about."""
    answer = await stage.post(path, body)
    assert answer["status"] == "executed", answer["message"]
    return str(answer["entity_id"])


async def fails(stage: Stage, path: str, **body: object) -> str:
    """An action that cannot be done: it is answered as failed, its event is too, and nothing has changed."""
    modality = path.split("/")[1]
    before = stage.world.modalities[modality].export()
    answer = await stage.post(path, body)
    assert answer["status"] == "failed"
    event = await stage.get(f"/events/{answer['event_id']}")
    assert (event["status"], event["error_message"]) == ("failed", answer["message"])
    assert stage.world.modalities[modality].export() == before
    return str(answer["message"])


async def refused(stage: Stage, path: str, field: str, **body: object) -> None:
    """A body of the wrong shape: 422 that names the field."""
    answer = await stage.post(path, body, expect=422)
    assert answer["error"] == "Validation Error"
    assert field in {str(part) for fault in rows(answer, "detail") for part in cast(list[object], fault["loc"])}


async def undo(stage: Stage) -> None:
    await stage.post("/simulation/undo", {"count": 1})


def rows(answer: JsonObject, name: str) -> list[JsonObject]:
    return cast(list[JsonObject], answer[name])


def part(answer: JsonObject, *names: str) -> JsonObject:
    """An object inside an object."""
    for name in names:
        answer = cast(JsonObject, answer[name])
    return answer


async def event_data(stage: Stage, **asked: str) -> list[JsonObject]:
    """The data of the events so far, as an action log reads them."""
    events = rows(await stage.get("/events" + "".join(f"?{name}={value}" for name, value in asked.items())), "events")
    return [part(event, "data") for event in events]

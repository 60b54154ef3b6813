"""Notes that a test writes, now or later, and reads."""

from datetime import datetime, timedelta
from typing import cast

from services.simulator.core.records import JsonObject
from tests.doubles.simulated_surroundings import WALL
from tests.simulator.stage import Stage


def at(seconds: float) -> str:
    """So many seconds after the world began."""
    return (WALL + timedelta(seconds=seconds)).isoformat()


def time_of(value: object) -> datetime:
    return datetime.fromisoformat(str(value))


def note(text: str) -> JsonObject:
    return {"operation": "write", "text": text}


def later(seconds: float, text: str, **more: int) -> JsonObject:
    """The body of an event."""
    return {"scheduled_time": at(seconds), "modality": "notes", "data": note(text), **more}


async def schedule(stage: Stage, seconds: float, text: str = "hi", **more: int) -> str:
    """The new event's id."""
    return str((await stage.post("/events", later(seconds, text, **more)))["event_id"])


async def texts(stage: Stage, world: str = "") -> list[str]:
    """What the notes say, in their order."""
    shown = await stage.get(f"{world}/environment/modalities/notes")
    notes = cast(JsonObject, cast(JsonObject, shown["state"])["notes"])
    return [str(cast(JsonObject, kept)["text"]) for kept in notes.values()]


async def events(stage: Stage, asked: str = "") -> list[JsonObject]:
    return cast(list[JsonObject], (await stage.get(f"/events{asked}"))["events"])


async def status_of(stage: Stage, event_id: str) -> str:
    return str((await stage.get(f"/events/{event_id}"))["status"])

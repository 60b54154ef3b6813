"""``/worlds``: worlds side by side, each behind ``/worlds/{id}/...``; and a world saved and restored.

All of it is the admin's alone: a key of one world means nothing to another.
"""

from fastapi import APIRouter, status
from pydantic import BaseModel, Field, JsonValue

from services.simulator.core import saving
from services.simulator.core.hosted_world import HostedWorld
from services.simulator.core.saved_shapes import SavedWorld
from services.simulator.core.scenario_shapes import read_as
from services.simulator.entrypoints.doorway import AdminPlace
from shared.contracts.nullable import NullableModel

router = APIRouter(tags=["worlds"])


class NewWorld(NullableModel):
    """Without an id one is made."""

    world_id: str | None = Field(default=None, pattern=r"^[A-Za-z0-9][A-Za-z0-9_.:-]{0,99}$")


class WorldInfo(BaseModel):
    """``base_path`` stands before every path of that world."""

    world_id: str
    base_path: str
    current_time: str
    is_running: bool
    events: int


class WorldList(BaseModel):
    worlds: list[WorldInfo]
    total: int


class WorldClosed(BaseModel):
    world_id: str
    closed: bool


class WorldRestored(BaseModel):
    world_id: str
    restored: bool


@router.post("/worlds", status_code=status.HTTP_201_CREATED)
async def open_world(place: AdminPlace, body: NewWorld | None = None) -> WorldInfo:
    world_id = (body and body.world_id) or place.rooms.surroundings.new_id()
    return _info(place.rooms.open(world_id))


@router.get("/worlds")
async def show_worlds(place: AdminPlace) -> WorldList:
    worlds = [_info(room) for room in place.rooms]
    return WorldList(worlds=worlds, total=len(worlds))


@router.get("/worlds/{world_id}")
async def show_world(world_id: str, place: AdminPlace) -> WorldInfo:
    return _info(place.rooms.get(world_id))


@router.delete("/worlds/{world_id}")
async def close_world(world_id: str, place: AdminPlace) -> WorldClosed:
    place.rooms.close(world_id)
    return WorldClosed(world_id=world_id, closed=True)


@router.get("/world")
async def save(place: AdminPlace) -> dict[str, JsonValue]:
    """Everything, to be given to ``PUT /world`` of any world, here or elsewhere."""
    return saving.save_world(place.room)


@router.put("/world")
async def restore(body: dict[str, JsonValue], place: AdminPlace) -> WorldRestored:
    saving.restore(place.room, read_as(SavedWorld, body, "body"))
    return WorldRestored(world_id=place.room.world_id, restored=True)


def _info(room: HostedWorld) -> WorldInfo:
    return WorldInfo(
        world_id=room.world_id,
        base_path=f"/worlds/{room.world_id}",
        current_time=room.world.now.isoformat(),
        is_running=room.world.running,
        events=len(room.world.queue),
    )

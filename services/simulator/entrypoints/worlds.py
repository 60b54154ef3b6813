"""``/worlds``: worlds side by side, each behind ``/worlds/{id}/...``; and a world saved and restored.

All of it is the admin's alone: a key of one world means nothing to another.
"""

from fastapi import APIRouter, status
from pydantic import BaseModel, Field, JsonValue

from services.simulator.core import saving
from services.simulator.core.hosted_world import HostedWorld
from services.simulator.core.refusals import parse_model
from services.simulator.core.saved_shapes import SavedWorld
from services.simulator.entrypoints.request_context import AdminContext
from shared.contracts.base import NullableModel

router = APIRouter(tags=["worlds"])


class NewWorld(NullableModel):
    """A world to open; without an id one is made."""

    world_id: str | None = Field(default=None, pattern=r"^[A-Za-z0-9][A-Za-z0-9_.:-]{0,99}$")


class WorldInfo(BaseModel):
    """An open world. ``base_path`` stands before every path of it; ``events``: how many its queue holds."""

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
async def open_world(context: AdminContext, body: NewWorld | None = None) -> WorldInfo:
    world_id = (body and body.world_id) or context.registry.surroundings.new_id()
    return _build_world_info(context.registry.open(world_id))


@router.get("/worlds")
async def show_worlds(context: AdminContext) -> WorldList:
    worlds = [_build_world_info(hosted) for hosted in context.registry]
    return WorldList(worlds=worlds, total=len(worlds))


@router.get("/worlds/{world_id}")
async def show_world(world_id: str, context: AdminContext) -> WorldInfo:
    return _build_world_info(context.registry.get(world_id))


@router.delete("/worlds/{world_id}")
async def close_world(world_id: str, context: AdminContext) -> WorldClosed:
    context.registry.close(world_id)
    return WorldClosed(world_id=world_id, closed=True)


@router.get("/world")
async def save(context: AdminContext) -> dict[str, JsonValue]:
    """The whole world as JSON, which ``PUT /world`` of any world, on any server, restores."""
    return saving.save_world(context.hosted)


@router.put("/world")
async def restore(body: dict[str, JsonValue], context: AdminContext) -> WorldRestored:
    saving.restore_world(context.hosted, parse_model(SavedWorld, body, "body"))
    return WorldRestored(world_id=context.hosted.world_id, restored=True)


def _build_world_info(hosted: HostedWorld) -> WorldInfo:
    return WorldInfo(
        world_id=hosted.world_id,
        base_path=f"/worlds/{hosted.world_id}",
        current_time=hosted.world.now.isoformat(),
        is_running=hosted.world.running,
        events=len(hosted.world.queue),
    )

"""``/environment``: every modality at once, and the older routes to each of them."""

from datetime import datetime
from typing import Annotated, Literal

from fastapi import APIRouter
from fastapi.responses import PlainTextResponse, Response
from pydantic import BaseModel, JsonValue

from services.simulator.core import environment, lifecycle
from services.simulator.core.modality import Modality
from services.simulator.core.refusals import Refusal
from services.simulator.entrypoints.doorway import Place, permitted

router = APIRouter(prefix="/environment", tags=["environment"])


class NoModality(Refusal):
    """Older clients read this shape: 404."""

    status = 404

    def __init__(self, name: str, available: list[str]) -> None:
        super().__init__(f"Modality '{name}' not found")
        self.name = name
        self.available = available


class ModalitySummary(BaseModel):
    modality_type: str
    state_summary: str


class EnvironmentState(BaseModel):
    current_time: str
    modalities: dict[str, JsonValue]
    summary: list[ModalitySummary]


class CompactState(BaseModel):
    snapshot_time: str
    format: str
    modalities: dict[str, JsonValue]
    events: dict[str, JsonValue]


class ModalityList(BaseModel):
    modalities: list[str]
    count: int


class Validation(BaseModel):
    valid: bool
    errors: list[str]
    checked_at: datetime


@router.get("/state", response_model=EnvironmentState | CompactState)
async def state(
    place: Annotated[Place, permitted("environment:read")],
    compact: bool = False,
    format: Literal["json", "text"] = "json",
) -> EnvironmentState | CompactState | Response:
    world = place.world
    if compact and format == "text":
        return PlainTextResponse(environment.text(world))
    if compact:
        return CompactState.model_validate(environment.compact(world))
    lines = [
        ModalitySummary(modality_type=name, state_summary=environment.summary(world, modality))
        for name, modality in world.modalities.items()
    ]
    return EnvironmentState(current_time=world.now.isoformat(), modalities=environment.states(world), summary=lines)


@router.get("/modalities")
async def modalities(place: Annotated[Place, permitted("environment:list")]) -> ModalityList:
    return ModalityList(modalities=list(place.world.modalities), count=len(place.world.modalities))


@router.get("/modalities/{name}")
async def modality_state(name: str, place: Annotated[Place, permitted("environment:read")]) -> dict[str, JsonValue]:
    return _modality(place, name).state(place.world.now)


@router.post("/modalities/{name}/query")
async def modality_query(
    name: str, body: dict[str, JsonValue], place: Annotated[Place, permitted("environment:read")]
) -> dict[str, JsonValue]:
    return _modality(place, name).query(body, place.world.now)


@router.post("/validate")
async def validate(place: Annotated[Place, permitted("environment:validate")]) -> Validation:
    errors = lifecycle.problems(place.world)
    return Validation(valid=not errors, errors=errors, checked_at=place.world.surroundings.now())


def _modality(place: Place, name: str) -> Modality:
    found = place.world.modalities.get(name)
    if found is None:
        raise NoModality(name, list(place.world.modalities))
    return found

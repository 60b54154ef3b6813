"""``/environment``: every modality at once, and the older routes to each of them."""

from datetime import datetime
from typing import Annotated, Literal

from fastapi import APIRouter
from fastapi.responses import PlainTextResponse, Response
from pydantic import BaseModel, JsonValue

from services.simulator.core import environment, lifecycle
from services.simulator.core.modality import Modality
from services.simulator.core.records import JsonObject
from services.simulator.core.refusals import SimulatorRefusal
from services.simulator.entrypoints.request_context import RequestContext, require_permission

router = APIRouter(prefix="/environment", tags=["environment"])


class NoModality(SimulatorRefusal):
    """The world has no modality of that name: 404, in the shape that clients of the public interface read."""

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


class ModalityState(BaseModel):
    """One modality's state in the envelope of the early route."""

    modality_type: str
    current_time: str
    state: dict[str, JsonValue]


class ModalityResults(BaseModel):
    """What one modality found, in the envelope of the early route; ``query`` is what was asked."""

    modality_type: str
    current_time: str
    query: dict[str, JsonValue]
    results: list[JsonValue]
    total_count: int
    returned_count: int


class Validation(BaseModel):
    valid: bool
    errors: list[str]
    checked_at: datetime


@router.get("/state", response_model=EnvironmentState | CompactState)
async def state(
    context: Annotated[RequestContext, require_permission("environment:read")],
    compact: bool = False,
    format: Literal["json", "text"] = "json",
) -> EnvironmentState | CompactState | Response:
    world = context.world
    if compact and format == "text":
        return PlainTextResponse(environment.environment_as_text(world))
    if compact:
        return CompactState.model_validate(environment.compact_states(world))
    lines = [
        ModalitySummary(modality_type=name, state_summary=environment.summarize_state(world, modality))
        for name, modality in world.modalities.items()
    ]
    return EnvironmentState(current_time=world.now.isoformat(), modalities=environment.all_states(world), summary=lines)


@router.get("/modalities")
async def modalities(context: Annotated[RequestContext, require_permission("environment:list")]) -> ModalityList:
    return ModalityList(modalities=list(context.world.modalities), count=len(context.world.modalities))


@router.get("/modalities/{name}")
async def modality_state(
    name: str, context: Annotated[RequestContext, require_permission("environment:read")]
) -> ModalityState:
    modality, now = _require_modality(context, name), context.world.now
    return ModalityState(modality_type=name, current_time=now.isoformat(), state=modality.state(now))


@router.post("/modalities/{name}/query")
async def modality_query(
    name: str, body: dict[str, JsonValue], context: Annotated[RequestContext, require_permission("environment:read")]
) -> ModalityResults:
    now = context.world.now
    answer = _require_modality(context, name).query(body, now)
    results, total = _find_result_rows(answer), answer.get("total_count")
    return ModalityResults(
        modality_type=name,
        current_time=now.isoformat(),
        query=body,
        results=results,
        total_count=total if isinstance(total, int) else len(results),
        returned_count=len(results),
    )


@router.post("/validate")
async def validate(context: Annotated[RequestContext, require_permission("environment:validate")]) -> Validation:
    errors = lifecycle.find_problems(context.world)
    return Validation(valid=not errors, errors=errors, checked_at=context.world.surroundings.now())


def _find_result_rows(answer: JsonObject) -> list[JsonValue]:
    """The one list that a modality answers with; a modality that lists nothing answers as a whole."""
    return next((value for value in answer.values() if isinstance(value, list)), [answer])


def _require_modality(context: RequestContext, name: str) -> Modality:
    modality = context.world.modalities.get(name)
    if modality is None:
        raise NoModality(name, list(context.world.modalities))
    return modality

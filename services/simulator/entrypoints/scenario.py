"""``/scenario``: a world written to a file, and a file loaded into a world."""

from typing import Annotated, Literal, Self

from fastapi import APIRouter
from pydantic import BaseModel, JsonValue

from services.simulator.core import scenario
from services.simulator.core.events import EventStatus
from services.simulator.core.records import JsonObject
from services.simulator.core.refusals import parse_model
from services.simulator.core.scenario import ImportedScenario, PastEvents
from services.simulator.core.scenario_shapes import (
    Scenario,
    ScenarioEnvironment,
    ScenarioMetadata,
    WrittenEvents,
)
from services.simulator.entrypoints.request_context import RequestContext, require_permission
from services.simulator.entrypoints.version import UES_VERSION
from shared.contracts.base import NullableModel

router = APIRouter(prefix="/scenario", tags=["scenario"])


class ExportedEnvironment(BaseModel):
    environment: dict[str, JsonValue]
    modalities_exported: list[str]


class ExportedEvents(BaseModel):
    events: dict[str, JsonValue]
    total_events: int
    pending_events: int
    executed_events: int


class ExportedScenario(BaseModel):
    scenario: dict[str, JsonValue]


class ImportEnvironment(NullableModel):
    data: dict[str, JsonValue]
    historic_event_handling: Literal["ignore", "delete", "apply"] = "ignore"
    strict_modalities: bool = False


class ImportEvents(NullableModel):
    data: dict[str, JsonValue]
    merge: bool = False


class ImportScenario(NullableModel):
    scenario: dict[str, JsonValue]
    strict_modalities: bool = False


class Imported(BaseModel):
    success: bool = True
    environment_loaded: bool
    events_loaded: int
    modalities_loaded: list[str]
    modalities_skipped: list[str]
    warnings: list[str]
    scenario_metadata: dict[str, JsonValue] | None = None

    @classmethod
    def from_scenario(
        cls, loaded: ImportedScenario, environment: bool, metadata: dict[str, JsonValue] | None = None
    ) -> Self:
        return cls(
            environment_loaded=environment,
            events_loaded=loaded.events,
            modalities_loaded=loaded.modalities,
            modalities_skipped=loaded.skipped,
            warnings=loaded.warnings,
            scenario_metadata=metadata,
        )


@router.get("/export/environment")
async def export_environment(
    context: Annotated[RequestContext, require_permission("scenario:export")],
) -> ExportedEnvironment:
    return ExportedEnvironment(
        environment=scenario.environment_of(context.world), modalities_exported=list(context.world.modalities)
    )


@router.get("/export/events")
async def export_events(context: Annotated[RequestContext, require_permission("scenario:export")]) -> ExportedEvents:
    queue = context.world.queue
    return ExportedEvents(
        events=scenario.events_of(context.world),
        total_events=len(queue),
        pending_events=queue.by_status[EventStatus.PENDING],
        executed_events=queue.by_status[EventStatus.EXECUTED],
    )


@router.get("/export/full")
async def export_full(
    context: Annotated[RequestContext, require_permission("scenario:export")],
    author: str | None = None,
    description: str | None = None,
) -> ExportedScenario:
    metadata: JsonObject = {
        "ues_version": UES_VERSION,
        "scenario_version": "1",
        "created_at": context.world.surroundings.now().isoformat(),
        "author": author,
        "description": description,
    }
    return ExportedScenario(
        scenario={
            "metadata": metadata,
            "environment": scenario.environment_of(context.world),
            "events": scenario.events_of(context.world),
        }
    )


@router.post("/import/environment")
async def import_environment(
    body: ImportEnvironment, context: Annotated[RequestContext, require_permission("scenario:import")]
) -> Imported:
    scenario_environment = parse_model(ScenarioEnvironment, _unwrap_document(body.data, "environment"), "body", "data")
    historic = PastEvents(body.historic_event_handling)
    loaded = scenario.load_environment(context.world, scenario_environment, historic, body.strict_modalities)
    return Imported.from_scenario(loaded, environment=True)


@router.post("/import/events")
async def import_events(
    body: ImportEvents, context: Annotated[RequestContext, require_permission("scenario:import")]
) -> Imported:
    data = body.data
    if isinstance(data.get("events"), dict):
        data = _unwrap_document(data, "events")
    loaded = scenario.load_events(context.world, parse_model(WrittenEvents, data, "body", "data"), body.merge)
    return Imported.from_scenario(loaded, environment=False)


@router.post("/import/full")
async def import_full(
    body: ImportScenario, context: Annotated[RequestContext, require_permission("scenario:import")]
) -> Imported:
    document = body.scenario if "metadata" in body.scenario else _unwrap_document(body.scenario, "scenario")
    imported_scenario = parse_model(Scenario, document, "body", "scenario")
    loaded = scenario.load_scenario(context.world, imported_scenario, body.strict_modalities)
    loaded.warnings += _version_warnings(imported_scenario.metadata)
    return Imported.from_scenario(loaded, environment=True, metadata=imported_scenario.metadata.model_dump())


def _unwrap_document(document: JsonObject, name: str) -> JsonObject:
    """The object under ``name``, since an export wraps the document; else the document itself."""
    inner = document.get(name)
    return inner if isinstance(inner, dict) else document


def _version_warnings(metadata: ScenarioMetadata) -> list[str]:
    written = metadata.ues_version
    if written is None or written.split(".")[0] == UES_VERSION.split(".")[0]:
        return []
    return [f"The scenario was written by version {written}, this is {UES_VERSION}"]

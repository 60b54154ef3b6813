"""A scenario's world, tried: imported, started, and led to the end of its day, as an assessment would."""

from collections.abc import Iterator
from typing import NamedTuple

from services.assessor.adapters.proctor_client import ProctorClient
from services.assessor.core.scenario import ScenarioConfig, unwrap
from services.assessor.ports.simulation import SimulatorEvent
from shared.infra.ues.connection import APIError


class RehearsalFindings(NamedTuple):
    """One sentence each, with the field that is meant: what is wrong, and what is odd."""

    problems: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


async def rehearse_world(world: ProctorClient, scenario: ScenarioConfig) -> RehearsalFindings:
    """Raises ``SimulatorFailed`` if the world is lost."""
    try:
        await world.simulation.clear()
        loaded = await world.scenario.import_full(scenario=unwrap(scenario.initial_state), strict_modalities=False)
        await world.simulation.start(auto_advance=False)
        now = (await world.time.get_state()).current_time
        if now != scenario.start_time:
            times_message = f"environment.time_state.current_time is {now}, start_time {scenario.start_time}"
            return RehearsalFindings((f"initial_state: {times_message}",))
        await world.time.advance((scenario.end_time - now).total_seconds())
        events = (await world.events.list_events()).events
    except APIError as refused:
        return RehearsalFindings(tuple(f"initial_state: {problem}" for problem in _describe_refusal(refused)))
    return RehearsalFindings(tuple(_event_failures(events)), loaded.warnings)


def _describe_refusal(refused: APIError) -> Iterator[str]:
    """One sentence for each field that the refusing world names as wrong, or one for the whole refusal."""
    detail = refused.body.get("detail") if isinstance(refused.body, dict) else None
    if isinstance(detail, dict) and isinstance(errors := detail.get("errors"), list):
        yield from (f"{detail.get('message')}: {error}" for error in errors)
    elif isinstance(detail, list) and all(isinstance(row, dict) for row in detail):
        for row in detail:
            field_path = [str(part) for part in row.get("loc", ()) if part not in ("body", "scenario")]
            yield f"{'.'.join(field_path)}: {row.get('msg')}"
    else:
        yield str(refused)


def _event_failures(events: tuple[SimulatorEvent, ...]) -> Iterator[str]:
    for event in events:
        if event.status == "failed":
            event_label = f"{event.modality}.{(event.data or {}).get('operation')} at {event.scheduled_time}"
            yield f"initial_state: events: {event_label} fails: {event.error_message}"

"""``/simulator/time``, ``/simulation``, ``/events`` and ``/scenario``: how a proctor controls a simulation."""

from collections.abc import Mapping
from datetime import datetime

from pydantic import JsonValue

from shared.contracts.ues.modalities import JsonObject
from shared.contracts.ues.simulation import (
    Advanced,
    EventList,
    EventSummary,
    Hold,
    ScenarioImport,
    SimulationStatus,
    SimulatorEvent,
    Skipped,
    Started,
    Steps,
    TimeSet,
    TimeState,
)
from shared.infra.ues.line import NotFoundError, WorldLine, given_values


class TimeEndpoints:
    def __init__(self, line: WorldLine) -> None:
        self._line = line

    async def get_state(self) -> TimeState:
        return await self._line.get(TimeState, "/simulator/time")

    async def advance(self, seconds: float) -> Advanced:
        return await self._line.post(Advanced, "/simulator/time/advance", given_values(seconds=seconds))

    async def set(self, target_time: datetime) -> TimeSet:
        return await self._line.post(TimeSet, "/simulator/time/set", given_values(target_time=target_time))

    async def skip_to_next(self) -> Skipped:
        return await self._line.post(Skipped, "/simulator/time/skip-to-next")

    async def pause(self) -> None:
        await self._line.tell("/simulator/time/pause")

    async def resume(self) -> None:
        await self._line.tell("/simulator/time/resume")

    async def set_scale(self, scale: float) -> TimeState:
        return await self._line.post(TimeState, "/simulator/time/set-scale", given_values(scale=scale))


class SimulationEndpoints:
    def __init__(self, line: WorldLine) -> None:
        self._line = line

    async def start(self, auto_advance: bool = False, time_scale: float = 1.0) -> Started:
        settings = given_values(auto_advance=auto_advance, time_scale=time_scale)
        return await self._line.post(Started, "/simulation/start", settings)

    async def stop(self) -> None:
        await self._line.tell("/simulation/stop")

    async def status(self) -> SimulationStatus:
        return await self._line.get(SimulationStatus, "/simulation/status")

    async def reset(self) -> None:
        await self._line.tell("/simulation/reset")

    async def clear(self, reset_time_to: datetime | None = None) -> None:
        await self._line.tell("/simulation/clear", given_values(reset_time_to=reset_time_to))

    async def undo(self, count: int = 1) -> Steps:
        return await self._line.post(Steps, "/simulation/undo", given_values(count=count))

    async def redo(self, count: int = 1) -> Steps:
        return await self._line.post(Steps, "/simulation/redo", given_values(count=count))

    async def hold(self, reason: str | None = None, timeout_seconds: float | None = None) -> Hold:
        return await self._line.post(
            Hold, "/simulation/hold", given_values(reason=reason, timeout_seconds=timeout_seconds)
        )

    async def release(self, hold_id: str) -> None:
        await self._line.tell(f"/simulation/release/{hold_id}")


class EventsEndpoints:
    def __init__(self, line: WorldLine) -> None:
        self._line = line

    async def list_events(
        self,
        *,
        status: str | None = None,
        start_time: datetime | None = None,
        end_time: datetime | None = None,
        modality: str | None = None,
        limit: int | None = None,
        offset: int | None = None,
    ) -> EventList:
        """The events that match, in the order of execution; ``start_time`` and ``end_time`` are inclusive."""
        return await self._line.get(
            EventList,
            "/events",
            status=status,
            start_time=start_time,
            end_time=end_time,
            modality=modality,
            limit=limit,
            offset=offset,
        )

    async def create(
        self,
        *,
        scheduled_time: datetime,
        modality: str,
        data: Mapping[str, JsonValue],
        priority: int | None = None,
        metadata: Mapping[str, JsonValue] | None = None,
        agent_id: str | None = None,
    ) -> SimulatorEvent:
        """Schedule an event for a time."""
        event = given_values(
            scheduled_time=scheduled_time,
            modality=modality,
            data=data,
            priority=priority,
            metadata=metadata,
            agent_id=agent_id,
        )
        return await self._line.post(SimulatorEvent, "/events", event)

    async def next(self) -> SimulatorEvent | None:
        """The next event to run; ``None`` if none waits."""
        try:
            return await self._line.get(SimulatorEvent, "/events/next")
        except NotFoundError:
            return None

    async def summary(self) -> EventSummary:
        return await self._line.get(EventSummary, "/events/summary")

    async def get(self, event_id: str) -> SimulatorEvent:
        return await self._line.get(SimulatorEvent, f"/events/{event_id}")

    async def cancel(self, event_id: str) -> None:
        await self._line.delete(f"/events/{event_id}")


class ScenarioEndpoints:
    def __init__(self, line: WorldLine) -> None:
        self._line = line

    async def import_full(self, scenario: Mapping[str, JsonValue], strict_modalities: bool = False) -> ScenarioImport:
        """Replace time, states and events with a scenario's. Refused while the simulation runs."""
        body: JsonObject = given_values(scenario=scenario, strict_modalities=strict_modalities)
        return await self._line.post(ScenarioImport, "/scenario/import/full", body)

    async def export_full(self, author: str | None = None, description: str | None = None) -> JsonValue:
        return await self._line.get_json("/scenario/export/full", author=author, description=description)

    async def export_environment(self) -> JsonValue:
        return await self._line.get_json("/scenario/export/environment")

    async def export_events(self) -> JsonValue:
        return await self._line.get_json("/scenario/export/events")

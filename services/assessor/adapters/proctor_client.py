"""A client for the whole REST interface of a user environment simulator: also what a proctor moves and reads."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from pydantic import JsonValue
from typing_extensions import override

from services.assessor.ports import simulation
from shared.contracts.ues.modalities import ActionResult, JsonObject, TimeState
from shared.infra.ues.client import AsyncUESClient, TimeEndpoints
from shared.infra.ues.connection import NotFoundError, WorldConnection, WorldEndpoints, drop_none_values


class TimeControl(TimeEndpoints):
    async def advance(self, seconds: float) -> simulation.TimeAdvance:
        return await self._connection.post(
            simulation.TimeAdvance, "/simulator/time/advance", drop_none_values(seconds=seconds)
        )

    async def set(self, target_time: datetime) -> simulation.ClockSetting:
        return await self._connection.post(
            simulation.ClockSetting, "/simulator/time/set", drop_none_values(target_time=target_time)
        )

    async def skip_to_next(self) -> simulation.TimeSkip:
        return await self._connection.post(simulation.TimeSkip, "/simulator/time/skip-to-next")

    async def pause(self) -> None:
        await self._connection.post_json("/simulator/time/pause")

    async def resume(self) -> None:
        await self._connection.post_json("/simulator/time/resume")

    async def set_scale(self, scale: float) -> TimeState:
        return await self._connection.post(TimeState, "/simulator/time/set-scale", drop_none_values(scale=scale))


class SimulationEndpoints(WorldEndpoints):
    async def start(self, auto_advance: bool = False, time_scale: float = 1.0) -> simulation.StartedSimulation:
        settings = drop_none_values(auto_advance=auto_advance, time_scale=time_scale)
        return await self._connection.post(simulation.StartedSimulation, "/simulation/start", settings)

    async def stop(self) -> None:
        await self._connection.post_json("/simulation/stop")

    async def status(self) -> simulation.SimulationStatus:
        return await self._connection.get(simulation.SimulationStatus, "/simulation/status")

    async def reset(self) -> None:
        await self._connection.post_json("/simulation/reset")

    async def clear(self, reset_time_to: datetime | None = None) -> None:
        await self._connection.post_json("/simulation/clear", drop_none_values(reset_time_to=reset_time_to))

    async def undo(self, count: int = 1) -> simulation.UndoRedoResult:
        return await self._connection.post(simulation.UndoRedoResult, "/simulation/undo", drop_none_values(count=count))

    async def redo(self, count: int = 1) -> simulation.UndoRedoResult:
        return await self._connection.post(simulation.UndoRedoResult, "/simulation/redo", drop_none_values(count=count))

    async def hold(self, reason: str | None = None, timeout_seconds: float | None = None) -> simulation.AcquiredHold:
        return await self._connection.post(
            simulation.AcquiredHold,
            "/simulation/hold",
            drop_none_values(reason=reason, timeout_seconds=timeout_seconds),
        )

    async def release(self, hold_id: str) -> None:
        await self._connection.post_json(f"/simulation/release/{hold_id}")


class EventsEndpoints(WorldEndpoints):
    async def list_events(
        self,
        *,
        status: str | None = None,
        start_time: datetime | None = None,
        end_time: datetime | None = None,
        modality: str | None = None,
        limit: int | None = None,
        offset: int | None = None,
    ) -> simulation.EventList:
        """The events that match, in the order of execution; ``start_time`` and ``end_time`` are inclusive."""
        return await self._connection.get(
            simulation.EventList,
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
    ) -> simulation.SimulatorEvent:
        """Schedule an event for a time."""
        event = drop_none_values(
            scheduled_time=scheduled_time,
            modality=modality,
            data=data,
            priority=priority,
            metadata=metadata,
            agent_id=agent_id,
        )
        return await self._connection.post(simulation.SimulatorEvent, "/events", event)

    async def next(self) -> simulation.SimulatorEvent | None:
        """The next event to run; ``None`` if none waits."""
        try:
            return await self._connection.get(simulation.SimulatorEvent, "/events/next")
        except NotFoundError:
            return None

    async def summary(self) -> simulation.EventSummary:
        return await self._connection.get(simulation.EventSummary, "/events/summary")

    async def get(self, event_id: str) -> simulation.SimulatorEvent:
        return await self._connection.get(simulation.SimulatorEvent, f"/events/{event_id}")

    async def cancel(self, event_id: str) -> None:
        await self._connection.delete(f"/events/{event_id}")


class ScenarioEndpoints(WorldEndpoints):
    async def import_full(
        self, scenario: Mapping[str, JsonValue], strict_modalities: bool = False
    ) -> simulation.ScenarioImport:
        """Replace time, states and events with a scenario's. Refused while the simulation runs."""
        body: JsonObject = drop_none_values(scenario=scenario, strict_modalities=strict_modalities)
        return await self._connection.post(simulation.ScenarioImport, "/scenario/import/full", body)

    async def export_full(self, author: str | None = None, description: str | None = None) -> JsonValue:
        return await self._connection.get_json("/scenario/export/full", author=author, description=description)

    async def export_environment(self) -> JsonValue:
        return await self._connection.get_json("/scenario/export/environment")

    async def export_events(self) -> JsonValue:
        return await self._connection.get_json("/scenario/export/events")


class KeysEndpoints(WorldEndpoints):
    async def create(self, name: str, permissions: Sequence[str]) -> simulation.WorldKey:
        return await self._connection.post(
            simulation.WorldKey, "/keys", drop_none_values(name=name, permissions=permissions)
        )

    async def get(self, key_id: str) -> simulation.KeyDescription:
        return await self._connection.get(simulation.KeyDescription, f"/keys/{key_id}")

    async def revoke(self, key_id: str) -> None:
        """Revoke a key. One that does not exist counts as revoked."""
        try:
            await self._connection.delete(f"/keys/{key_id}")
        except NotFoundError:
            return


class AccessLogsEndpoints(WorldEndpoints):
    async def show(
        self,
        *,
        key_id: str | None = None,
        since: datetime | None = None,
        errors_only: bool | None = None,
        limit: int | None = None,
        offset: int | None = None,
    ) -> simulation.AccessLog:
        """The requests that match, newest first."""
        return await self._connection.get(
            simulation.AccessLog,
            "/access-logs",
            key_id=key_id,
            since=since,
            errors_only=errors_only,
            limit=limit,
            offset=offset,
        )


class WorldsEndpoints(WorldEndpoints):
    """Client of ``/worlds``, by which one simulator serves several worlds."""

    async def open(self, world_id: str) -> simulation.OpenedWorld:
        return await self._connection.post(simulation.OpenedWorld, "/worlds", drop_none_values(world_id=world_id))

    async def close(self, world_id: str) -> None:
        try:
            await self._connection.delete(f"/worlds/{world_id}")
        except NotFoundError:
            return


class EnvironmentEndpoints(WorldEndpoints):
    async def get_state(self) -> JsonValue:
        return await self._connection.get_json("/environment/state")

    async def get_compact_state(self) -> JsonValue:
        return await self._connection.get_json("/environment/state", compact=True)

    async def validate(self) -> JsonValue:
        return await self._connection.post_json("/environment/validate")


class PlainEndpoints:
    """The endpoints of a modality whose answers stay plain JSON, such as location, weather or contacts."""

    def __init__(self, connection: WorldConnection, name: str) -> None:
        self._connection = connection
        self._name = name

    async def get_state(self) -> JsonValue:
        return await self._connection.get_json(f"/{self._name}/state")

    async def query(self, **asked: JsonValue) -> JsonValue:
        return await self._connection.post_json(f"/{self._name}/query", drop_none_values(**asked))

    async def act(self, action: str, body: Mapping[str, JsonValue]) -> ActionResult:
        """Carry out an action, named by its route: update (location, weather), create, block,
        group/add ... (contacts).
        """
        return await self._connection.post(ActionResult, f"/{self._name}/{action}", body)


class ProctorClient(AsyncUESClient):
    """The simulator's client with all permissions: ``async with ProctorClient(base_url=..., api_key=...) as ues``."""

    time: TimeControl

    @override
    def _add_endpoints(self, connection: WorldConnection) -> None:
        super()._add_endpoints(connection)
        self.time = TimeControl(connection)
        self.simulation = SimulationEndpoints(connection)
        self.events = EventsEndpoints(connection)
        self.scenario = ScenarioEndpoints(connection)
        self.location = PlainEndpoints(connection, "location")
        self.weather = PlainEndpoints(connection, "weather")
        self.contacts = PlainEndpoints(connection, "contacts")
        self.environment = EnvironmentEndpoints(connection)
        self.keys = KeysEndpoints(connection)
        self.access_logs = AccessLogsEndpoints(connection)
        self.worlds = WorldsEndpoints(connection)

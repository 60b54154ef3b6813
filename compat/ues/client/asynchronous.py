"""The client as public agents use it: the product's own, with an answer wherever the server gives one."""

from datetime import datetime

from typing_extensions import override

from services.assessor.adapters.proctor_client import ProctorClient, SimulationEndpoints, TimeControl
from shared.infra.ues.connection import WorldConnection, drop_none_values
from ues.client.models import Paused, SimulationCleared, SimulationReset, SimulationStarted, SimulationStopped


class AsyncUESClient(ProctorClient):
    """``async with AsyncUESClient(base_url=..., api_key=...) as ues: await ues.simulation.start()``."""

    simulation: "SimulationClient"
    time: "TimeClient"

    @override
    def _add_endpoints(self, connection: WorldConnection) -> None:
        super()._add_endpoints(connection)
        self.simulation = SimulationClient(connection)
        self.time = TimeClient(connection)


class SimulationClient(SimulationEndpoints):
    async def start(self, auto_advance: bool = False, time_scale: float = 1.0) -> SimulationStarted:  # type: ignore[override]  # more of the same answer
        body = drop_none_values(auto_advance=auto_advance, time_scale=time_scale)
        return await self._connection.post(SimulationStarted, "/simulation/start", body)

    async def stop(self) -> SimulationStopped:  # type: ignore[override]  # an answer in place of none
        return await self._connection.post(SimulationStopped, "/simulation/stop")

    async def reset(self) -> SimulationReset:  # type: ignore[override]  # an answer in place of none
        return await self._connection.post(SimulationReset, "/simulation/reset")

    async def clear(self, reset_time_to: datetime | None = None) -> SimulationCleared:  # type: ignore[override]  # an answer in place of none
        return await self._connection.post(
            SimulationCleared, "/simulation/clear", drop_none_values(reset_time_to=reset_time_to)
        )


class TimeClient(TimeControl):
    async def pause(self) -> Paused:  # type: ignore[override]  # an answer in place of none
        return await self._connection.post(Paused, "/simulator/time/pause")

    async def resume(self) -> Paused:  # type: ignore[override]  # an answer in place of none
        return await self._connection.post(Paused, "/simulator/time/resume")

"""The client as public agents use it: the product's own, with an answer wherever the server gives one."""

from datetime import datetime

import httpx

from services.assessor.adapters.proctor_client import ProctorClient, SimulationEndpoints, TimeControl
from shared.infra.ues.line import WorldLine, given_values
from ues.client.models import Paused, SimulationCleared, SimulationReset, SimulationStarted, SimulationStopped


class AsyncUESClient(ProctorClient):
    """``async with AsyncUESClient(base_url=..., api_key=...) as ues: await ues.simulation.start()``."""

    simulation: "SimulationClient"
    time: "TimeClient"

    def __init__(
        self,
        base_url: str = "http://127.0.0.1:8000",
        timeout: float = 30.0,
        retry_enabled: bool = False,
        max_retries: int = 3,
        transport: httpx.AsyncBaseTransport | None = None,
        api_key: str | None = None,
    ) -> None:
        super().__init__(base_url, timeout, retry_enabled, max_retries, transport, api_key)
        self.simulation = SimulationClient(self._line)
        self.time = TimeClient(self._line)


class SimulationClient(SimulationEndpoints):
    def __init__(self, line: WorldLine) -> None:
        super().__init__(line)
        self._asked = line

    async def start(self, auto_advance: bool = False, time_scale: float = 1.0) -> SimulationStarted:  # type: ignore[override]  # more of the same answer
        body = given_values(auto_advance=auto_advance, time_scale=time_scale)
        return await self._asked.post(SimulationStarted, "/simulation/start", body)

    async def stop(self) -> SimulationStopped:  # type: ignore[override]  # an answer in place of none
        return await self._asked.post(SimulationStopped, "/simulation/stop")

    async def reset(self) -> SimulationReset:  # type: ignore[override]  # an answer in place of none
        return await self._asked.post(SimulationReset, "/simulation/reset")

    async def clear(self, reset_time_to: datetime | None = None) -> SimulationCleared:  # type: ignore[override]  # an answer in place of none
        return await self._asked.post(SimulationCleared, "/simulation/clear", given_values(reset_time_to=reset_time_to))


class TimeClient(TimeControl):
    def __init__(self, line: WorldLine) -> None:
        super().__init__(line)
        self._asked = line

    async def pause(self) -> Paused:  # type: ignore[override]  # an answer in place of none
        return await self._asked.post(Paused, "/simulator/time/pause")

    async def resume(self) -> Paused:  # type: ignore[override]  # an answer in place of none
        return await self._asked.post(Paused, "/simulator/time/resume")

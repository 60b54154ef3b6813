"""Opens an assessment's world: a simulator process of its own, or one of several worlds in a running simulator."""

import asyncio
import re
from typing import Protocol
from uuid import NAMESPACE_URL, uuid5

from structlog import get_logger
from typing_extensions import override

from services.assessor.adapters.proctor_client import ProctorClient
from services.assessor.adapters.ues_server import UESServerManager
from shared.infra.ues.connection import ConflictError
from shared.ports.simulator import SimulatorFailed

log = get_logger()
_LOOK_SECONDS = 2.0
_MOST_MISSES = 3
_WORLD_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:-]{0,99}")


class AssessmentWorld(Protocol):
    """The world of an assessment. ``base_url``: for the assessor; ``public_url``: told to the participant."""

    @property
    def base_url(self) -> str: ...

    @property
    def public_url(self) -> str: ...

    @property
    def admin_key(self) -> str: ...

    async def start(self) -> None:
        """Starts or opens the world; raises ``SimulatorFailed``."""

    async def stop(self) -> None: ...

    async def wait_for_loss(self) -> str:
        """Returns when the world is gone, with why; until then it does not."""


class OwnProcess(AssessmentWorld):
    def __init__(self, server: UESServerManager) -> None:
        self._server = server

    @property
    @override
    def base_url(self) -> str:
        return self._server.base_url

    @property
    @override
    def public_url(self) -> str:
        return self._server.public_url

    @property
    @override
    def admin_key(self) -> str:
        return self._server.admin_key

    @override
    async def start(self) -> None:
        await self._server.start()

    @override
    async def stop(self) -> None:
        await self._server.stop()

    @override
    async def wait_for_loss(self) -> str:
        """The process is watched at once, its health now and then: one slow answer is no end."""
        missed = 0
        while self._server.running:
            if missed >= _MOST_MISSES:
                return f"the simulator did not answer {missed} times in a row"
            ended = await self._server.has_ended_within(_LOOK_SECONDS)
            missed = 0 if ended or await self._server.check_health() else missed + 1
        return "the simulator process ended"


class WorldHost(Protocol):
    """A simulator that holds many worlds. Its addresses count once it is ``ready``."""

    @property
    def url(self) -> str: ...

    @property
    def public_url(self) -> str: ...

    @property
    def admin_key(self) -> str: ...

    async def ensure_ready(self) -> None:
        """Starts the simulator if it does not run; raises ``SimulatorFailed``."""

    async def has_ended_within(self, seconds: float) -> bool:
        """Whether it is known to be over by then."""


class RunningSimulator(WorldHost):
    """One that somebody else runs."""

    def __init__(self, url: str, public_url: str, admin_key: str) -> None:
        self._url = url.rstrip("/")
        self._public = (public_url or url).rstrip("/")
        self._admin_key = admin_key

    @property
    @override
    def url(self) -> str:
        return self._url

    @property
    @override
    def public_url(self) -> str:
        return self._public

    @property
    @override
    def admin_key(self) -> str:
        return self._admin_key

    @override
    async def ensure_ready(self) -> None:
        """Does nothing: the simulator runs already."""

    @override
    async def has_ended_within(self, seconds: float) -> bool:
        await asyncio.sleep(seconds)
        return False


class SharedProcess(WorldHost):
    """One process for all assessments: started when the first world is opened, and again after it died."""

    def __init__(self, server: UESServerManager) -> None:
        self._server = server
        self._starting = asyncio.Lock()

    @property
    @override
    def url(self) -> str:
        return self._server.base_url

    @property
    @override
    def public_url(self) -> str:
        return self._server.public_url

    @property
    @override
    def admin_key(self) -> str:
        return self._server.admin_key

    @override
    async def ensure_ready(self) -> None:
        async with self._starting:
            await self._server.start()

    @override
    async def has_ended_within(self, seconds: float) -> bool:
        return await self._server.has_ended_within(seconds)

    async def stop(self) -> None:
        async with self._starting:
            await self._server.stop()


class SharedWorld(AssessmentWorld):
    """One world of many in a simulator. ``name``: the world's; one that cannot be its id gets an id made of it."""

    def __init__(self, simulator: WorldHost, name: str) -> None:
        self._simulator = simulator
        self._id = name if _WORLD_ID.fullmatch(name) else str(uuid5(NAMESPACE_URL, name))

    @property
    @override
    def base_url(self) -> str:
        return f"{self._simulator.url}/worlds/{self._id}"

    @property
    @override
    def public_url(self) -> str:
        return f"{self._simulator.public_url}/worlds/{self._id}"

    @property
    @override
    def admin_key(self) -> str:
        return self._simulator.admin_key

    @override
    async def start(self) -> None:
        await self._simulator.ensure_ready()
        async with self._client() as simulator:
            try:
                await simulator.worlds.open(self._id)
            except ConflictError as error:
                if "exists" not in str(error):
                    raise

    @override
    async def stop(self) -> None:
        """Closes the world. A failure is only logged, so that no simulator that is gone can hold up the caller."""
        try:
            async with self._client() as simulator:
                await simulator.worlds.close(self._id)
        except SimulatorFailed as error:
            log.warning("world_not_closed", world_id=self._id, error=str(error))

    @override
    async def wait_for_loss(self) -> str:
        missed, reason = 0, ""
        while missed < _MOST_MISSES:
            if await self._simulator.has_ended_within(_LOOK_SECONDS):
                return "the simulator process ended"
            try:
                async with self._client() as simulator:
                    await simulator.health()
                missed = 0
            except SimulatorFailed as error:
                missed, reason = missed + 1, str(error)
        return reason

    def _client(self) -> ProctorClient:
        return ProctorClient(self._simulator.url, timeout=5.0, api_key=self._simulator.admin_key)

"""Questions that change nothing, asked again while who should answer is being replaced (``ToolServers``, ...)."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

import structlog
from typing_extensions import override

from services.executor.ports.policy import PolicyService, PolicyUnavailable
from services.executor.ports.tools import Tool, ToolAnswer, ToolServers, ToolSilent, ToolUnreachable
from shared.contracts.allowance import AllowanceRequest, Allowances
from shared.contracts.policy import EvaluateRequest, Verdict
from shared.contracts.prose import ProseAnswer, ProseRequest
from shared.contracts.tenant import Connection
from shared.domain.exact_json import JsonObject

PAUSES = (0.3, 0.8, 1.5)  # seconds between attempts: a process that was killed is back by then
PATIENCE = 5.0  # seconds after which nothing is asked again: who answers slowly is not asked four times

log = structlog.get_logger()

T = TypeVar("T")


async def patiently(
    ask: Callable[[], Awaitable[T]],
    unless: tuple[type[Exception], ...],
    pauses: tuple[float, ...] = PAUSES,
    patience: float = PATIENCE,
) -> T:
    """The answer, asked for again after each pause; the last error if there is none, or none in time."""
    clock = asyncio.get_running_loop().time
    until = clock() + patience
    for pause in pauses:
        try:
            return await ask()
        except unless:
            if clock() + pause > until:
                raise
        await asyncio.sleep(pause)
    return await ask()


class PatientTools(ToolServers):
    """Lists tools and reads patiently. Other calls are passed on as they are: they may change something."""

    def __init__(self, servers: ToolServers, pauses: tuple[float, ...] = PAUSES) -> None:
        self._servers = servers
        self._pauses = pauses

    @override
    async def discover(self, connection: Connection, session_id: str = "") -> tuple[Tool, ...]:
        lost = (ToolUnreachable, ToolSilent)
        return await patiently(lambda: self._servers.discover(connection, session_id), lost, self._pauses)

    @override
    def may_have_unlisted(self, connection: Connection) -> bool:
        return self._servers.may_have_unlisted(connection)

    @override
    async def call(
        self, connection: Connection, tool: str, arguments: JsonObject, timeout: float, session_id: str = ""
    ) -> ToolAnswer:
        return await self._servers.call(connection, tool, arguments, timeout, session_id)

    @override
    async def read(
        self, connection: Connection, tool: str, arguments: JsonObject, timeout: float, session_id: str = ""
    ) -> ToolAnswer:
        """Again while the server cannot be reached; once more after a silence; all of it within the time-out."""
        clock = asyncio.get_running_loop().time
        until, fell_silent = clock() + timeout, False
        for pause in self._pauses:
            try:
                return await self._servers.read(connection, tool, arguments, until - clock(), session_id)
            except (ToolUnreachable, ToolSilent) as error:
                silent = isinstance(error, ToolSilent)
                if clock() + pause >= until or (silent and fell_silent):
                    raise
                fell_silent = fell_silent or silent
                log.info("read_repeated", tool=tool, error=str(error))
            await asyncio.sleep(pause)
        return await self._servers.read(connection, tool, arguments, until - clock(), session_id)


class PatientPolicy(PolicyService):
    """Asks for verdicts patiently: one changes nothing, and without it nothing is written."""

    def __init__(self, service: PolicyService, pauses: tuple[float, ...] = PAUSES) -> None:
        self._service = service
        self._pauses = pauses

    @override
    async def evaluate(self, request: EvaluateRequest) -> Verdict:
        return await patiently(lambda: self._service.evaluate(request), (PolicyUnavailable,), self._pauses)

    @override
    async def allowances(self, request: AllowanceRequest) -> Allowances:
        return await patiently(lambda: self._service.allowances(request), (PolicyUnavailable,), self._pauses)

    @override
    async def check_prose(self, request: ProseRequest) -> ProseAnswer:
        return await patiently(lambda: self._service.check_prose(request), (PolicyUnavailable,), self._pauses)

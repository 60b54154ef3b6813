"""Questions that change nothing, asked again while who should answer is being replaced (``ToolServers``, ...)."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from typing_extensions import override

from services.executor.ports import (
    PolicyService,
    PolicyUnavailable,
    Tool,
    ToolAnswer,
    ToolServers,
    ToolSilent,
    ToolUnreachable,
)
from shared.contracts.allowance import AllowanceRequest, Allowances
from shared.contracts.policy import EvaluateRequest, Verdict
from shared.contracts.prose import ProseAnswer, ProseRequest
from shared.contracts.tenant import Connection
from shared.domain.exact_json import JsonObject

PAUSES = (0.3, 0.8, 1.5)  # seconds between attempts: a process that was killed is back by then
PATIENCE = 5.0  # seconds after which nothing is asked again: who answers slowly is not asked four times

T = TypeVar("T")


async def patiently(
    ask: Callable[[], Awaitable[T]], unless: tuple[type[Exception], ...], pauses: tuple[float, ...] = PAUSES
) -> T:
    """The answer, asked for again after each pause; the last error if there is none, or none in time."""
    clock = asyncio.get_running_loop().time
    until = clock() + PATIENCE
    for pause in pauses:
        try:
            return await ask()
        except unless:
            if clock() + pause > until:
                raise
        await asyncio.sleep(pause)
    return await ask()


class PatientTools(ToolServers):
    """Lists tools patiently. Calls are passed on as they are: only the caller knows which may be repeated."""

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

"""Questions that change nothing, asked again while who should answer is being replaced (``ToolServers``, ...)."""

import asyncio

import structlog
from typing_extensions import override

from services.executor.ports.policy import PolicyService, PolicyUnavailable
from services.executor.ports.tools import (
    Tool,
    ToolAnswer,
    ToolForbidden,
    ToolServers,
    ToolSilent,
    ToolUnreachable,
    WrappedServers,
)
from shared.contracts.allowance import AllowanceRequest, Allowances
from shared.contracts.policy import EvaluateRequest, Verdict
from shared.contracts.prose import ProseAnswer, ProseRequest
from shared.contracts.tenant import Connection
from shared.domain.exact_json import JsonObject
from shared.infra.patiently import PAUSES, retry_patiently

log = structlog.get_logger()


class PatientTools(WrappedServers):
    """Lists tools and reads patiently. Other calls are passed on as they are: they may change something."""

    def __init__(self, servers: ToolServers, pauses: tuple[float, ...] = PAUSES) -> None:
        super().__init__(servers)
        self._pauses = pauses

    @override
    async def discover(self, connection: Connection, session_id: str = "") -> tuple[Tool, ...]:
        lost = (ToolUnreachable, ToolSilent)
        return await retry_patiently(
            lambda: self._servers.discover(connection, session_id), lost, self._pauses, never=(ToolForbidden,)
        )

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
            except ToolForbidden:
                raise
            except (ToolUnreachable, ToolSilent) as error:
                silent = isinstance(error, ToolSilent)
                if clock() + pause >= until or (silent and fell_silent):
                    raise
                fell_silent = fell_silent or silent
                log.info("read_repeated", tool=tool, error=str(error))
            await asyncio.sleep(pause)
        return await self._servers.read(connection, tool, arguments, until - clock(), session_id)


class PatientPolicy(PolicyService):
    """Asks for verdicts patiently: one changes nothing, and without it nothing is written.

    One that decides nothing, on a task whose text no rule speaks about, is not waited for.
    """

    def __init__(self, service: PolicyService, pauses: tuple[float, ...] = PAUSES) -> None:
        self._service = service
        self._pauses = pauses

    @override
    async def evaluate(self, request: EvaluateRequest) -> Verdict:
        if not _decides(request):
            return await self._service.evaluate(request)
        return await retry_patiently(lambda: self._service.evaluate(request), (PolicyUnavailable,), self._pauses)

    @override
    async def allowances(self, request: AllowanceRequest) -> Allowances:
        return await retry_patiently(lambda: self._service.allowances(request), (PolicyUnavailable,), self._pauses)

    @override
    async def check_prose(self, request: ProseRequest) -> ProseAnswer:
        return await retry_patiently(lambda: self._service.check_prose(request), (PolicyUnavailable,), self._pauses)


def _decides(request: EvaluateRequest) -> bool:
    return request.binding or any(policy.judges_texts for policy in request.policies)

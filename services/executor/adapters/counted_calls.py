"""Counting what turns ask of tool servers and of the policy service (``ToolServers``, ``PolicyService``)."""

from collections.abc import Awaitable, Callable
from time import perf_counter
from typing import TypeVar

from typing_extensions import override

from services.executor.ports.policy import PolicyService, PolicyUnavailable
from services.executor.ports.tools import Tool, ToolAnswer, ToolForbidden, ToolServers, ToolSilent, ToolUnreachable
from shared.contracts.allowance import AllowanceRequest, Allowances
from shared.contracts.policy import EvaluateRequest, Verdict
from shared.contracts.prose import ProseAnswer, ProseRequest
from shared.contracts.tenant import Connection
from shared.contracts.verdict_word import verdict_word
from shared.domain import metric_names as names
from shared.domain.exact_json import JsonObject
from shared.ports.meter import Meter

T = TypeVar("T")


class CountedTools(ToolServers):
    def __init__(self, servers: ToolServers, meter: Meter) -> None:
        self._servers, self._meter = servers, meter

    @override
    async def discover(self, connection: Connection, session_id: str = "") -> tuple[Tool, ...]:
        return await self._count_call(connection, "discover", lambda: self._servers.discover(connection, session_id))

    @override
    def may_have_unlisted(self, connection: Connection) -> bool:
        return self._servers.may_have_unlisted(connection)

    @override
    def protocol_of(self, connection: Connection) -> str:
        return self._servers.protocol_of(connection)

    @override
    async def call(
        self, connection: Connection, tool: str, arguments: JsonObject, timeout: float, session_id: str = ""
    ) -> ToolAnswer:
        return await self._count_call(
            connection, "call", lambda: self._servers.call(connection, tool, arguments, timeout, session_id)
        )

    @override
    async def read(
        self, connection: Connection, tool: str, arguments: JsonObject, timeout: float, session_id: str = ""
    ) -> ToolAnswer:
        return await self._count_call(
            connection, "read", lambda: self._servers.read(connection, tool, arguments, timeout, session_id)
        )

    @override
    async def ask_outcome(
        self,
        connection: Connection,
        arguments: JsonObject,
        timeout: float,
        session_id: str = "",
        *,
        stop_agent: bool = False,
    ) -> ToolAnswer | None:
        return await self._count_call(
            connection,
            "recall",
            lambda: self._servers.ask_outcome(connection, arguments, timeout, session_id, stop_agent=stop_agent),
        )

    async def _count_call(self, connection: Connection, kind: str, ask: Callable[[], Awaitable[T]]) -> T:
        began, outcome = perf_counter(), "given_up"
        try:
            answer = await ask()
            outcome = "error" if isinstance(answer, ToolAnswer) and answer.is_error else "ok"
        except ToolForbidden:
            outcome = "forbidden"
            raise
        except ToolUnreachable:
            outcome = "unreachable"
            raise
        except ToolSilent:
            outcome = "silent"
            raise
        finally:
            self._meter.observe(names.TOOL_SECONDS, perf_counter() - began, kind=kind)
            self._meter.add(names.TOOL_CALLS, connection=connection.id, kind=kind, outcome=outcome)
        return answer


class CountedPolicy(PolicyService):
    def __init__(self, service: PolicyService, meter: Meter) -> None:
        self._service, self._meter = service, meter

    @override
    async def evaluate(self, request: EvaluateRequest) -> Verdict:
        return await self._count_question("verdict", lambda: self._service.evaluate(request), verdict_word)

    @override
    async def allowances(self, request: AllowanceRequest) -> Allowances:
        return await self._count_question("allowances", lambda: self._service.allowances(request))

    @override
    async def check_prose(self, request: ProseRequest) -> ProseAnswer:
        return await self._count_question("prose", lambda: self._service.check_prose(request))

    async def _count_question(
        self, question: str, ask: Callable[[], Awaitable[T]], word: Callable[[T], str] = lambda _: "answered"
    ) -> T:
        began, answer = perf_counter(), "given_up"
        try:
            found = await ask()
            answer = word(found)
        except PolicyUnavailable:
            answer = "unavailable"
            raise
        finally:
            self._meter.observe(names.POLICY_SECONDS, perf_counter() - began, question=question)
            self._meter.add(names.POLICY_ASKED, question=question, answer=answer)
        return found

"""Counting what turns ask of tool servers and of the policy service (``ToolServers``, ``PolicyService``)."""

from collections.abc import Awaitable, Callable
from time import perf_counter

from typing_extensions import override

from services.executor.ports.policy import PolicyService, PolicyUnavailable
from services.executor.ports.tools import (
    Send,
    ServerQuestion,
    T,
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
from shared.contracts.verdict_word import verdict_word
from shared.domain import metric_names as names
from shared.ports.meter import Meter


class CountedTools(WrappedServers):
    def __init__(self, servers: ToolServers, meter: Meter) -> None:
        super().__init__(servers)
        self._meter = meter

    @override
    async def _ask(self, question: ServerQuestion, send: Send[T]) -> T:
        began, outcome = perf_counter(), "given_up"
        try:
            answer = await super()._ask(question, send)
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
            self._meter.observe(names.TOOL_SECONDS, perf_counter() - began, kind=question.kind)
            self._meter.add(names.TOOL_CALLS, connection=question.connection.id, kind=question.kind, outcome=outcome)
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

"""The methods of early 2025: ``tasks/send``, ``tasks/get``, ``tasks/cancel``."""

from collections.abc import AsyncGenerator
from functools import partial

import structlog
from starlette.responses import JSONResponse, Response

from services.gateway.core.errors import Refusal
from services.gateway.core.fields import count_at, required_id
from services.gateway.core.tasks.desk import TaskDesk, Ticket
from services.gateway.core.tasks.message import metadata_of, read_legacy
from services.gateway.core.tasks.views import legacy_view
from services.gateway.entrypoints.a2a.replies import (
    FAILED,
    INTERNAL_ERROR,
    error_body,
    fault_body,
    fault_reply,
    result_body,
)
from services.gateway.entrypoints.edge.body import Call
from services.gateway.entrypoints.edge.kept_alive import JSON_BEAT, KeptAlive
from services.gateway.ports.identity import Caller, Identity
from services.gateway.ports.tasks import StoreUnavailable
from shared.contracts.task import TaskRecord

log = structlog.get_logger()
_BAD_REQUEST = 400


class LegacyMethods:
    def __init__(self, desk: TaskDesk, identity: Identity, notice: str) -> None:
        self._desk, self._identity, self._notice = desk, identity, notice

    async def send(self, call: Call, let_in: Caller | None) -> Response:
        """Accept the message, then answer in the same response when its turn is over."""
        try:
            length = count_at(call.params, "historyLength", "params.historyLength")
            caller = self._identity.caller_of(let_in, metadata_of(call.params))
            ticket = await self._desk.submit(read_legacy(call.params), caller)
        except (Refusal, StoreUnavailable) as fault:
            return fault_reply(call.call_id, fault, bad_input_status=_BAD_REQUEST)
        handed_over: list[TaskRecord] = []
        answer = self._answer(call, ticket, caller, length, handed_over)
        return KeptAlive(answer, "application/json", JSON_BEAT, partial(self._delivered, ticket, handed_over))

    async def get(self, call: Call, record: TaskRecord) -> Response:
        try:
            length = count_at(call.params, "historyLength", "params.historyLength")
        except Refusal as fault:
            return fault_reply(call.call_id, fault, bad_input_status=_BAD_REQUEST)
        return self._task(call, record, length)

    async def cancel(self, call: Call, let_in: Caller | None) -> Response:
        try:
            caller = self._identity.caller_of(let_in, metadata_of(call.params))
            record = await self._desk.cancel(required_id(call.params, "id", "params.id"), caller)
        except (Refusal, StoreUnavailable) as fault:
            return fault_reply(call.call_id, fault, bad_input_status=_BAD_REQUEST)
        return self._task(call, record, None)

    async def _answer(
        self, call: Call, ticket: Ticket, caller: Caller, length: int | None, handed_over: list[TaskRecord]
    ) -> AsyncGenerator[bytes, None]:
        try:
            record = await self._desk.wait(ticket, caller)
            body = result_body(call.call_id, legacy_view(record, ticket.client_id, length, self._notice))
        except (Refusal, StoreUnavailable) as fault:
            yield fault_body(call.call_id, fault)
            return
        except Exception:  # the outermost edge of a request: the status has gone out already
            log.exception("request_failed", method=call.method)
            yield error_body(call.call_id, INTERNAL_ERROR, FAILED)
            return
        yield body
        handed_over.append(record)

    async def _delivered(self, ticket: Ticket, handed_over: list[TaskRecord]) -> None:
        for record in handed_over:
            try:
                await self._desk.answered(ticket, record)
            except StoreUnavailable as error:  # the same words sent again will meet the old answer: not the worst
                log.warning("answer_not_noted", task_id=record.task_id, error=str(error))

    def _task(self, call: Call, record: TaskRecord, length: int | None) -> Response:
        shown = required_id(call.params, "id", "params.id")
        return JSONResponse(
            {"jsonrpc": "2.0", "id": call.call_id, "result": legacy_view(record, shown, length, self._notice)}
        )

"""The methods of early 2025: ``tasks/send`` and its family."""

from collections.abc import AsyncGenerator, Awaitable, Callable
from functools import partial

import structlog
from pydantic import JsonValue
from starlette.requests import Request
from starlette.responses import Response

from services.gateway.a2a.parts import NO_STREAMS, A2aParts
from services.gateway.a2a.streams import RpcEnvelope, last_event_id, legacy_shape_of, sse
from services.gateway.edge.body import RpcCall
from services.gateway.edge.errors import GatewayRefusal, InvalidField, PushUnsupported, Unsupported
from services.gateway.edge.fields import count_at, required_id
from services.gateway.edge.kept_alive import JSON_BEAT, KeptAlive
from services.gateway.edge.replies import fault_error, rpc_body
from services.gateway.features.identity.middleware import let_in
from services.gateway.features.identity.model import Caller
from services.gateway.features.streams.service import Streams, TaskStream
from services.gateway.features.tasks.message import metadata_of, read_legacy
from services.gateway.features.tasks.service import TaskService, Ticket
from services.gateway.features.tasks.views import legacy_view
from services.gateway.features.webhooks.config import legacy_shape, webhook_at
from services.gateway.features.webhooks.service import WebhookService
from shared.contracts.task import TaskRecord
from shared.domain.words import Dialect
from shared.ports.store import StoreUnavailable

log = structlog.get_logger()
LegacyAct = Callable[[RpcCall, Request], Awaitable[Response]]
_CONFIG = "pushNotificationConfig"


class LegacyMethods:
    """All raise ``GatewayRefusal`` and ``StoreUnavailable``. ``methods``: those whose names no later protocol has."""

    def __init__(self, parts: A2aParts) -> None:
        self._desk: TaskService = parts.desk
        self._push: WebhookService = parts.push
        self._identity, self._notice, self._streaming = parts.identity, parts.notice, parts.abilities.streaming
        self._streams = Streams(parts.desk)
        self.methods: dict[str, LegacyAct] = {
            "tasks/send": self.send,
            "tasks/sendSubscribe": self.stream,
            "tasks/pushNotification/set": self.set_webhook,
            "tasks/pushNotification/get": self.webhook,
        }
        self._shared: dict[str, LegacyAct] = {"tasks/get": self.get, "tasks/cancel": self.cancel}
        if self._streaming:
            self._shared["tasks/resubscribe"] = self.subscribe

    async def find_shared(self, call: RpcCall, request: Request) -> LegacyAct | None:
        """What answers a method that 0.3 has by the same name: for a task that was made by ``tasks/send``, these."""
        act = self._shared.get(call.method)
        if act is None:
            return None
        record = await self._desk.read(_task_id(call), self._caller(call, request))
        return act if record.dialect is Dialect.LEGACY else None

    async def send(self, call: RpcCall, request: Request) -> Response:
        """Accept the message, then answer in the same response when its turn is over."""
        length, caller = _history_length(call), self._caller(call, request)
        ticket = await self._desk.submit(read_legacy(call.params), caller)
        handed_over: list[TaskRecord] = []
        answer = self._answer(call, ticket, length, handed_over)
        return KeptAlive(answer, "application/json", JSON_BEAT, partial(self._note_delivery, ticket, handed_over))

    async def stream(self, call: RpcCall, request: Request) -> Response:
        if not self._streaming:
            raise Unsupported(NO_STREAMS)
        _history_length(call)
        message, caller = read_legacy(call.params), self._caller(call, request)
        return self._open_stream(call, await self._streams.send(message, caller, last_event_id(request)))

    async def subscribe(self, call: RpcCall, request: Request) -> Response:
        caller, seen = self._caller(call, request), last_event_id(request)
        return self._open_stream(call, await self._streams.subscribe(_task_id(call), caller, seen, Dialect.LEGACY))

    async def get(self, call: RpcCall, request: Request) -> Response:
        length = _history_length(call)
        return self._task(call, await self._desk.read(_task_id(call), self._caller(call, request)), length)

    async def cancel(self, call: RpcCall, request: Request) -> Response:
        return self._task(call, await self._desk.cancel(_task_id(call), self._caller(call, request)), None)

    async def set_webhook(self, call: RpcCall, request: Request) -> Response:
        self._check_push()
        task_id, caller = _task_id(call), self._caller(call, request)
        path = f"params.{_CONFIG}"
        webhook = webhook_at(call.params, _CONFIG, path, Dialect.LEGACY)
        if webhook is None:
            raise InvalidField(path, "is required")
        await self._push.enter(task_id, webhook._replace(shown_id=task_id), caller)
        token = {"token": webhook.token} if webhook.token else {}  # only whoever has just set it is told it again
        return _result(call, {"id": task_id, _CONFIG: {**legacy_shape(webhook), **token}})

    async def webhook(self, call: RpcCall, request: Request) -> Response:
        self._check_push()
        task_id, caller = _task_id(call), self._caller(call, request)
        return _result(call, {"id": task_id, _CONFIG: legacy_shape(await self._push.one(task_id, None, caller))})

    async def _answer(
        self, call: RpcCall, ticket: Ticket, length: int | None, handed_over: list[TaskRecord]
    ) -> AsyncGenerator[bytes, None]:
        try:
            record = await self._desk.wait(ticket)
            body = rpc_body(call.call_id, result=legacy_view(record, ticket.client_id, length, self._notice))
        except Exception as fault:  # the outermost edge of a request: the status has gone out already
            if not isinstance(fault, GatewayRefusal | StoreUnavailable):
                log.exception("request_failed", method=call.method)
            yield rpc_body(call.call_id, error=fault_error(fault, detailed=False))
            return
        yield body
        handed_over.append(record)

    async def _note_delivery(self, ticket: Ticket, handed_over: list[TaskRecord]) -> None:
        for record in handed_over:
            try:
                await self._desk.note_answer(ticket, record)
            except StoreUnavailable as error:  # the same words sent again will meet the old answer: not the worst
                log.warning("answer_not_noted", task_id=record.task_id, error=str(error))

    def _task(self, call: RpcCall, record: TaskRecord, length: int | None) -> Response:
        return _result(call, legacy_view(record, _task_id(call), length, self._notice))

    def _open_stream(self, call: RpcCall, stream: TaskStream) -> Response:
        return sse(stream, legacy_shape_of(stream, self._notice), RpcEnvelope(call.call_id))

    def _caller(self, call: RpcCall, request: Request) -> Caller:
        return self._identity.caller_of(let_in(request), metadata_of(call.params))

    def _check_push(self) -> None:
        if not self._push.offered:
            raise PushUnsupported


def _task_id(call: RpcCall) -> str:
    return required_id(call.params, "id", "params.id")


def _history_length(call: RpcCall) -> int | None:
    return count_at(call.params, "historyLength", "params.historyLength")


def _result(call: RpcCall, value: JsonValue) -> Response:
    return Response(rpc_body(call.call_id, result=value), media_type="application/json")

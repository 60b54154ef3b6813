"""The streaming methods of JSON-RPC."""

from collections.abc import Mapping

from starlette.requests import Request
from starlette.responses import Response

from services.gateway.core.errors import Refusal
from services.gateway.core.fields import count_at, required_id
from services.gateway.core.streaming.streams import Stream, Streams
from services.gateway.core.tasks.desk import TaskDesk
from services.gateway.core.tasks.message import read_legacy, read_message
from services.gateway.core.tasks.options import history_length, send_options
from services.gateway.entrypoints.a2a.calls import A2aCalls
from services.gateway.entrypoints.a2a.jsonrpc import Method
from services.gateway.entrypoints.a2a.replies import fault_reply
from services.gateway.entrypoints.a2a.streams import RpcEnvelope, last_event_id, sse
from services.gateway.entrypoints.a2a.updates import shape_of
from services.gateway.entrypoints.a2a.versions import version_of
from services.gateway.entrypoints.edge.body import Call
from services.gateway.entrypoints.edge.door import let_in
from services.gateway.ports.identity import Caller
from services.gateway.ports.tasks import StoreUnavailable
from shared.domain.words import Dialect

_BAD_REQUEST = 400


class RpcStreams:
    """Each opens a stream, or raises ``Refusal`` or ``StoreUnavailable`` before any has begun."""

    def __init__(self, desk: TaskDesk, calls: A2aCalls, notice: str) -> None:
        self._desk, self._calls, self._notice = desk, calls, notice
        self._streams = Streams(desk)

    def methods(self) -> Mapping[str, Method]:
        return {
            "tasks/sendSubscribe": Method(Dialect.LEGACY, self._send_legacy),
            "message/stream": Method(Dialect.A2A_0_3, self._send_0_3),
            "SendStreamingMessage": Method(Dialect.A2A_1_0, self._send_1_0),
            "tasks/resubscribe": Method(Dialect.A2A_0_3, self._resubscribe),
            "SubscribeToTask": Method(Dialect.A2A_1_0, self._subscribe_1_0),
        }

    async def _send_legacy(self, call: Call, request: Request) -> Response:
        try:
            count_at(call.params, "historyLength", "params.historyLength")
            message, caller = read_legacy(call.params), self._caller(call, request)
            stream = await self._streams.send(message, caller, last_event_id(request))
        except (Refusal, StoreUnavailable) as fault:
            return fault_reply(call.call_id, fault, bad_input_status=_BAD_REQUEST)
        return self._answer(call, stream, Dialect.LEGACY)

    async def _send_0_3(self, call: Call, request: Request) -> Response:
        return await self._send(call, request, Dialect.A2A_0_3)

    async def _send_1_0(self, call: Call, request: Request) -> Response:
        return await self._send(call, request, Dialect.A2A_1_0)

    async def _send(self, call: Call, request: Request, dialect: Dialect) -> Response:
        options = send_options(call.params, dialect)
        message, caller = read_message(call.params, dialect), self._caller(call, request)
        stream = await self._streams.send(message, caller, last_event_id(request))
        return self._answer(call, stream, dialect, options.history_length)

    async def _subscribe_1_0(self, call: Call, request: Request) -> Response:
        return await self._subscribe(call, request, Dialect.A2A_1_0)

    async def _resubscribe(self, call: Call, request: Request) -> Response:
        """A task made by ``tasks/send`` is told as one, unless the client says that it speaks 0.3."""
        task_id = required_id(call.params, "id", "params.id")
        record = await self._desk.read(task_id, self._caller(call, request))
        legacy = record.dialect is Dialect.LEGACY and not version_of(request)
        return await self._subscribe(call, request, Dialect.LEGACY if legacy else Dialect.A2A_0_3)

    async def _subscribe(self, call: Call, request: Request, dialect: Dialect) -> Response:
        task_id = required_id(call.params, "id", "params.id")
        length = history_length(call.params, "historyLength", dialect)
        caller = self._caller(call, request)
        stream = await self._streams.subscribe(task_id, caller, last_event_id(request), dialect)
        return self._answer(call, stream, dialect, length)

    def _answer(self, call: Call, stream: Stream, dialect: Dialect, length: int | None = None) -> Response:
        return sse(stream, shape_of(stream, dialect, self._notice, length), RpcEnvelope(call.call_id))

    def _caller(self, call: Call, request: Request) -> Caller:
        return self._calls.caller(call.params, let_in(request))

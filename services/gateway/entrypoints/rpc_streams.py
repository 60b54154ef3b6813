"""The streaming methods of JSON-RPC: which there are, and what each opens."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from starlette.requests import Request
from starlette.responses import Response

from services.gateway.core.desk import TaskDesk
from services.gateway.core.errors import Refusal
from services.gateway.core.fields import count_at, object_at, required_id
from services.gateway.core.message import metadata_of, read_legacy, read_message
from services.gateway.core.streams import Stream, Streams
from services.gateway.entrypoints.a2a_streams import RpcEnvelope, last_event_id, sse
from services.gateway.entrypoints.a2a_updates import shape_of
from services.gateway.entrypoints.body import Call
from services.gateway.entrypoints.door import let_in
from services.gateway.entrypoints.jsonrpc import Method
from services.gateway.entrypoints.replies import fault_reply
from services.gateway.entrypoints.versions import check_0_3, check_1_0, version_of
from services.gateway.ports import Caller, Identity, StoreUnavailable
from shared.domain.words import Dialect

_BAD_REQUEST = 400


class StreamMethod(NamedTuple):
    """``dialect``: None where the early protocol and 0.3 have the same name, and the task says which it is."""

    dialect: Dialect | None
    sends: bool


STREAM_METHODS: Mapping[str, StreamMethod] = MappingProxyType(
    {
        "tasks/sendSubscribe": StreamMethod(Dialect.LEGACY, sends=True),
        "message/stream": StreamMethod(Dialect.A2A_0_3, sends=True),
        "SendStreamingMessage": StreamMethod(Dialect.A2A_1_0, sends=True),
        "tasks/resubscribe": StreamMethod(None, sends=False),
        "SubscribeToTask": StreamMethod(Dialect.A2A_1_0, sends=False),
    }
)


class RpcStreams:
    def __init__(self, desk: TaskDesk, identity: Identity, notice: str) -> None:
        self._desk, self._identity, self._notice = desk, identity, notice
        self._streams = Streams(desk)

    def methods(self) -> Mapping[str, Method]:
        """By their names, as the endpoint finds them."""
        shared = Dialect.A2A_0_3  # whose check of the version the early protocol's clients pass too
        return {name: Method(method.dialect or shared, self.answer) for name, method in STREAM_METHODS.items()}

    async def answer(self, call: Call, request: Request) -> Response:
        """The stream that a call of one of ``STREAM_METHODS`` asks for, or an error reply before any stream."""
        method = STREAM_METHODS[call.method]
        try:
            return await self._open(call, method, request)
        except (Refusal, StoreUnavailable) as fault:
            bad_input = _BAD_REQUEST if method.dialect is Dialect.LEGACY else 200
            return fault_reply(call.call_id, fault, bad_input_status=bad_input)

    async def _open(self, call: Call, method: StreamMethod, request: Request) -> Response:
        _check_version(call.method, method, request)
        length = _history_length(call)
        caller = self._identity.caller_of(let_in(request), metadata_of(call.params))
        if method.sends and method.dialect is not None:
            dialect, stream = method.dialect, await self._send(call, method.dialect, caller, request)
        else:
            dialect, stream = await self._subscribe(call, method.dialect, caller, request)
        shape = shape_of(stream, dialect, self._notice, length)
        return sse(stream, shape, RpcEnvelope(call.call_id))

    async def _send(self, call: Call, dialect: Dialect, caller: Caller, request: Request) -> Stream:
        legacy = dialect is Dialect.LEGACY
        message = read_legacy(call.params) if legacy else read_message(call.params, dialect)
        return await self._streams.send(message, caller, last_event_id(request))

    async def _subscribe(
        self, call: Call, dialect: Dialect | None, caller: Caller, request: Request
    ) -> tuple[Dialect, Stream]:
        task_id = required_id(call.params, "id", "params.id")
        spoken = dialect or await self._dialect_of(task_id, caller, request)
        return spoken, await self._streams.subscribe(task_id, caller, last_event_id(request), spoken)

    async def _dialect_of(self, task_id: str, caller: Caller, request: Request) -> Dialect:
        """A task made by ``tasks/send`` is told as one, unless the client says that it speaks 0.3."""
        record = await self._desk.read(task_id, caller)
        return Dialect.LEGACY if record.dialect is Dialect.LEGACY and not version_of(request) else Dialect.A2A_0_3


def _check_version(name: str, method: StreamMethod, request: Request) -> None:
    check = check_1_0 if method.dialect is Dialect.A2A_1_0 else check_0_3
    check(version_of(request), name)


def _history_length(call: Call) -> int | None:
    configuration = object_at(call.params, "configuration", "configuration")
    count_at(call.params, "historyLength", "params.historyLength")
    return count_at(configuration, "historyLength", "configuration.historyLength")

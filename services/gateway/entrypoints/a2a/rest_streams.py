"""The REST paths of both protocols that answer with a stream."""

from collections.abc import Mapping
from typing import cast

from a2a.compat.v0_3 import types as types_0_3
from a2a.compat.v0_3.proto_utils import ToProto
from fastapi import APIRouter, Request
from google.protobuf.json_format import MessageToDict
from pydantic import TypeAdapter
from starlette.responses import Response

from services.gateway.core.errors import Unsupported
from services.gateway.core.streaming.streams import Stream, Streams, Told
from services.gateway.core.tasks.desk import TaskDesk
from services.gateway.core.tasks.message import from_rest_0_3, read_message
from services.gateway.core.tasks.options import history_length, send_options
from services.gateway.entrypoints.a2a.calls import A2aCalls
from services.gateway.entrypoints.a2a.not_offered import NO_STREAMS
from services.gateway.entrypoints.a2a.rest import REST_0_3, REST_1_0, Binding, Handler, answered, query_of
from services.gateway.entrypoints.a2a.streams import BARE, last_event_id, sse
from services.gateway.entrypoints.a2a.updates import Shape, shape_of
from services.gateway.entrypoints.a2a.wire import Shown
from services.gateway.entrypoints.edge.body import check_content_type, read_object
from services.gateway.entrypoints.edge.door import let_in
from shared.domain.exact_json import JsonObject

_Event = types_0_3.Message | types_0_3.Task | types_0_3.TaskStatusUpdateEvent | types_0_3.TaskArtifactUpdateEvent
_EVENT: TypeAdapter[_Event] = TypeAdapter(_Event)


class A2aRestStreams:
    def __init__(self, desk: TaskDesk, calls: A2aCalls, notice: str, max_body: int, *, offered: bool) -> None:
        self._calls, self._notice, self._max_body, self._offered = calls, notice, max_body, offered
        self._streams = Streams(desk)

    def routes(self) -> APIRouter:
        router = APIRouter()
        table: Mapping[str, tuple[str, Handler]] = {
            "/message:stream": ("POST", self.send),
            "/v1/message:stream": ("POST", self.send_0_3),
        }
        for path, (method, handler) in table.items():
            router.add_api_route(path, handler, methods=[method], response_class=Response)
        for path, handler in (
            ("/tasks/{task_id}:subscribe", self.subscribe),
            ("/v1/tasks/{task_id}:subscribe", self.subscribe_0_3),
        ):
            for method in ("GET", "POST"):
                name = f"{method.lower()}_{handler.__name__}"
                router.add_api_route(path, handler, methods=[method], response_class=Response, name=name)
        return router

    async def send(self, request: Request) -> Response:
        """SendStreamingMessage of protocol 1.0: one message; its task's updates as server-sent events."""
        return await self._send(request, REST_1_0)

    async def send_0_3(self, request: Request) -> Response:
        """message/stream of protocol 0.3."""
        return await self._send(request, REST_0_3)

    async def subscribe(self, task_id: str, request: Request) -> Response:
        """SubscribeToTask of protocol 1.0: the task as it stands, then its updates; ``Last-Event-ID`` goes on."""
        return await self._subscribe(task_id, request, REST_1_0)

    async def subscribe_0_3(self, task_id: str, request: Request) -> Response:
        """tasks/resubscribe of protocol 0.3."""
        return await self._subscribe(task_id, request, REST_0_3)

    async def _send(self, request: Request, binding: Binding) -> Response:
        async def act() -> Response:
            params = await self._params(request, binding)
            options = send_options(params, binding.dialect)
            message, caller = read_message(params, binding.dialect), self._calls.caller(params, let_in(request))
            stream = await self._streams.send(message, caller, last_event_id(request))
            return self._told(stream, binding, options.history_length)

        return await answered(binding, request, act)

    async def _subscribe(self, task_id: str, request: Request, binding: Binding) -> Response:
        async def act() -> Response:
            self._check_offered()
            params = query_of(request)
            length = history_length(params, "historyLength", binding.dialect)
            caller = self._calls.caller(params, let_in(request))
            stream = await self._streams.subscribe(task_id, caller, last_event_id(request), binding.dialect)
            return self._told(stream, binding, length)

        return await answered(binding, request, act)

    async def _params(self, request: Request, binding: Binding) -> JsonObject:
        self._check_offered()
        check_content_type(request)
        body = await read_object(request, self._max_body)
        return from_rest_0_3(body) if binding is REST_0_3 else body

    def _check_offered(self) -> None:
        if not self._offered:
            raise Unsupported(NO_STREAMS)

    def _told(self, stream: Stream, binding: Binding, length: int | None) -> Response:
        shape = shape_of(stream, binding.dialect, self._notice, length)
        return sse(stream, _as_rest_0_3(shape) if binding is REST_0_3 else shape, BARE)


def _as_rest_0_3(shape: Shape) -> Shape:
    def shaped(told: Told) -> Shown:
        """Each update under its name, as 0.3's REST has it."""
        event = _EVENT.validate_python(shape(told))
        return cast(Shown, MessageToDict(ToProto.stream_response(event)))

    return shaped

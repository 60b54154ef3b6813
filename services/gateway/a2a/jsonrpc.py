"""``POST /``: JSON-RPC calls of three protocols at one URL, each method by its name."""

from collections.abc import AsyncGenerator, Callable, Mapping
from functools import partial
from typing import NamedTuple

import structlog
from a2a.compat.v0_3 import types as old
from a2a.types import a2a_pb2 as new
from pydantic import BaseModel
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from services.gateway.a2a import streams
from services.gateway.a2a.methods import A2aMethods, LegacyMethods
from services.gateway.a2a.profile import GatewayProfile
from services.gateway.a2a.schema import read_by_schema, read_params, read_send, read_webhook, read_webhook_name
from services.gateway.a2a.views import NEW, OLD, Wording
from services.gateway.edge import replies
from services.gateway.edge.body import BadCall, RpcCall, check_body_size, check_content_type, parse_call, read_body
from services.gateway.edge.errors import GatewayRefusal
from services.gateway.edge.kept_alive import JSON_BEAT, KeptAlive
from services.gateway.features.identity.middleware import MESSAGE_METHODS, count_message
from shared.domain.exact_json import JsonObject
from shared.ports.store import StoreUnavailable

log = structlog.get_logger()
Reader = Callable[[JsonObject], JsonObject]
_SERVICE = new.DESCRIPTOR.services_by_name["A2AService"]
_JSON = "application/json"
_BAD_REQUEST = 400  # with which the early protocol's servers answer invalid requests


class Method(NamedTuple):
    """One method: the wording of its answer, the reader of its parameters, and its action."""

    wording: Wording
    read: Reader
    act: streams.Act


def rpc_methods(methods: A2aMethods) -> Mapping[str, Method]:
    def read(schema: type[BaseModel]) -> Reader:
        return partial(read_params, schema=schema)

    def hook(schema: type[BaseModel]) -> Reader:
        return partial(read_webhook_name, schema=schema)

    acts_1_0: Mapping[str, streams.Act] = {
        "SendMessage": methods.send,
        "SendStreamingMessage": methods.stream,
        "GetTask": methods.task,
        "ListTasks": methods.tasks,
        "CancelTask": methods.cancel,
        "SubscribeToTask": methods.subscribe,
        "CreateTaskPushNotificationConfig": methods.set_webhook,
        "GetTaskPushNotificationConfig": methods.webhook,
        "ListTaskPushNotificationConfigs": methods.webhooks,
        "DeleteTaskPushNotificationConfig": methods.drop_webhook,
        "GetExtendedAgentCard": methods.extended_card,
    }
    acts_0_3: Mapping[str, tuple[Reader, streams.Act]] = {
        "message/send": (read_send, methods.send),
        "message/stream": (read_send, methods.stream),
        "tasks/get": (read(old.TaskQueryParams), methods.task),
        "tasks/cancel": (read(old.TaskIdParams), methods.cancel),
        "tasks/resubscribe": (read(old.TaskIdParams), methods.subscribe),
        "tasks/pushNotificationConfig/set": (read_webhook, methods.set_webhook),
        "tasks/pushNotificationConfig/get": (hook(old.GetTaskPushNotificationConfigParams), methods.webhook),
        "tasks/pushNotificationConfig/list": (hook(old.ListTaskPushNotificationConfigParams), methods.webhooks),
        "tasks/pushNotificationConfig/delete": (hook(old.DeleteTaskPushNotificationConfigParams), methods.drop_webhook),
        "agent/getAuthenticatedExtendedCard": (lambda params: params, methods.extended_card),
    }
    schemas = {name: _SERVICE.methods_by_name[name].input_type for name in acts_1_0}
    known = {name: Method(NEW, partial(read_by_schema, schema=schemas[name]), act) for name, act in acts_1_0.items()}
    return known | {name: Method(OLD, reader, act) for name, (reader, act) in acts_0_3.items()}


class JsonRpcEndpoint:
    def __init__(self, methods: A2aMethods, legacy: LegacyMethods, profile: GatewayProfile) -> None:
        self.methods, self.legacy, self._profile = rpc_methods(methods), legacy, profile

    async def __call__(self, request: Request) -> Response:
        """A JSON-RPC call of any of the three protocols."""
        call = RpcCall(None, "", {})
        try:
            check_content_type(request)
            body = await read_body(request, self._profile.max_message)
            call = parse_call(body)
            if call.method not in MESSAGE_METHODS:
                check_body_size(len(body), self._profile.max_body, call)
            return await self._answer_call(call, request)
        except BadCall as bad:
            status = _BAD_REQUEST if bad.method in self.legacy.methods else 200
            return replies.fault_reply(bad.call_id, bad, detailed=replies.says_1(request), bad_input_status=status)
        except ClientDisconnect:  # nobody is there to be answered; the limiter counts it
            raise
        except Exception as fault:  # the outermost edge of a request: the client is owed an answer
            if not isinstance(fault, replies.Fault):
                log.exception("request_failed", method=call.method)
            return replies.fault_reply(call.call_id, fault, detailed=self._is_detailed(call, request))

    async def _answer_call(self, call: RpcCall, request: Request) -> Response:
        method, early = self.methods.get(call.method), self.legacy.methods.get(call.method)
        if method:
            check = replies.check_1_0 if method.wording is NEW else replies.check_0_3
            check(replies.version_of(request), f"the method {call.method!r}")
        if call.method in MESSAGE_METHODS:
            await count_message(request)
        read = partial(method.read, call.params) if method else lambda: call.params
        asked = streams.MethodCall(read, request)
        if early is None and method and method.wording is OLD and not replies.version_of(request):
            early = await self.legacy.find_shared(call.method, asked)
        if early:
            try:
                return _respond(call, await early(asked), detailed=False)
            except (GatewayRefusal, StoreUnavailable) as fault:
                return replies.fault_reply(call.call_id, fault, bad_input_status=_BAD_REQUEST)
        if method is None:
            reason = replies.NO_METHOD.reason if replies.says_1(request) else ""
            return replies.error_reply(
                call.call_id, replies.METHOD_NOT_FOUND, f"there is no method {call.method!r}", reason=reason
            )
        return _respond(call, await method.act(asked, method.wording), detailed=method.wording is NEW)

    def _is_detailed(self, call: RpcCall, request: Request) -> bool:
        """Whether errors give their reason beside the code, as in 1.0."""
        method = self.methods.get(call.method)
        return method.wording is NEW if method else replies.says_1(request)


class RpcFirst:
    """The innermost middleware: answers ``POST /`` without trying the routes of everything else."""

    def __init__(self, app: ASGIApp, endpoint: JsonRpcEndpoint) -> None:
        self._app, self._endpoint = app, endpoint
        self._route = Route("/", endpoint.__call__, methods=["POST"])  # what requests are counted under

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] != "/" or scope["method"] != "POST":
            return await self._app(scope, receive, send)
        scope["route"] = self._route
        response = await self._endpoint(Request(scope, receive))
        return await response(scope, receive, send)


def _respond(call: RpcCall, answer: streams.Answer, *, detailed: bool) -> Response:
    match answer:
        case streams.StreamAnswer(stream, shape):
            return streams.sse(stream, shape, streams.rpc_envelope(call.call_id, detailed=detailed))
        case streams.PendingAnswer():
            return KeptAlive(_await_answer(call, answer, detailed=detailed), _JSON, JSON_BEAT, answer.on_delivered)
        case streams.WrittenJson(result):
            return Response(replies.rpc_result(call.call_id, result), media_type=_JSON)
        case _:
            return Response(replies.rpc_body(call.call_id, result=answer), media_type=_JSON)


async def _await_answer(call: RpcCall, answer: streams.PendingAnswer, *, detailed: bool) -> AsyncGenerator[bytes, None]:
    """Yields the answer's body. The status has been sent by then, so a failure is told in the body too."""
    try:
        body = replies.rpc_body(call.call_id, result=await answer.answer())
    except Exception as fault:  # the outermost edge of a request
        if not isinstance(fault, replies.Fault):
            log.exception("request_failed", method=call.method)
        body = replies.rpc_body(call.call_id, error=replies.fault_error(fault, detailed=detailed))
    yield body

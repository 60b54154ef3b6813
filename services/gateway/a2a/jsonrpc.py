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

from services.gateway.a2a import schema, streams
from services.gateway.a2a.methods import A2aMethods
from services.gateway.a2a.profile import GatewayProfile
from services.gateway.a2a.views import LEGACY, NEW, OLD, Wording
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
    """Every method by its name."""
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
    schemas = {name: _SERVICE.methods_by_name[name].input_type for name in acts_1_0}
    of_1_0 = {
        name: Method(NEW, partial(schema.read_by_schema, schema=schemas[name]), act) for name, act in acts_1_0.items()
    }
    hook = "tasks/pushNotificationConfig"
    return of_1_0 | {
        "message/send": Method(OLD, schema.read_send, methods.send),
        "message/stream": Method(OLD, schema.read_send, methods.stream),
        "tasks/get": Method(OLD, _reader(old.TaskQueryParams), methods.task),
        "tasks/cancel": Method(OLD, _reader(old.TaskIdParams), methods.cancel),
        "tasks/resubscribe": Method(OLD, _reader(old.TaskIdParams), methods.subscribe),
        f"{hook}/set": Method(OLD, schema.read_old_webhook, methods.set_webhook),
        f"{hook}/get": Method(OLD, _hook_reader(old.GetTaskPushNotificationConfigParams), methods.webhook),
        f"{hook}/list": Method(OLD, _hook_reader(old.ListTaskPushNotificationConfigParams), methods.webhooks),
        f"{hook}/delete": Method(OLD, _hook_reader(old.DeleteTaskPushNotificationConfigParams), methods.drop_webhook),
        "agent/getAuthenticatedExtendedCard": Method(OLD, _read_nothing, methods.extended_card),
        "tasks/send": Method(LEGACY, _read_nothing, methods.send),
        "tasks/sendSubscribe": Method(LEGACY, _read_nothing, methods.stream),
        "tasks/pushNotification/set": Method(LEGACY, schema.read_early_webhook, methods.set_webhook),
        "tasks/pushNotification/get": Method(LEGACY, schema.read_early_webhook_name, methods.webhook),
    }


def _reader(model: type[BaseModel]) -> Reader:
    return partial(schema.read_params, schema=model)


def _hook_reader(model: type[BaseModel]) -> Reader:
    return partial(schema.read_old_webhook_name, schema=model)


def _read_nothing(params: JsonObject) -> JsonObject:
    """The parameters as they are: the method reads them itself."""
    return params


_VERSION_CHECKS = {NEW: replies.check_1_0, OLD: replies.check_0_3}
_SHARED = ("tasks/get", "tasks/cancel", "tasks/resubscribe")  # names of 0.3 that the early protocol had too


class JsonRpcEndpoint:
    def __init__(self, methods: A2aMethods, profile: GatewayProfile) -> None:
        self.acts, self.methods, self._profile = methods, rpc_methods(methods), profile
        self._shared = _SHARED if methods.abilities.streaming else _SHARED[:2]

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
            status = _BAD_REQUEST if self._wording_of(bad.method) is LEGACY else 200
            return replies.fault_reply(bad.call_id, bad, detailed=replies.says_1(request), bad_input_status=status)
        except ClientDisconnect:  # nobody is there to be answered; the limiter counts it
            raise
        except Exception as fault:  # the outermost edge of a request: the client is owed an answer
            if not isinstance(fault, replies.Fault):
                log.exception("request_failed", method=call.method)
            wording = self._wording_of(call.method)
            detailed = wording is NEW or (wording is not OLD and replies.says_1(request))
            return replies.fault_reply(call.call_id, fault, detailed=detailed)

    def _wording_of(self, method: str) -> Wording | None:
        known = self.methods.get(method)
        return known.wording if known else None

    async def _answer_call(self, call: RpcCall, request: Request) -> Response:
        method, version = self.methods.get(call.method), replies.version_of(request)
        if method is None:
            reason = replies.NO_METHOD.reason if replies.says_1(request) else ""
            told = f"there is no method {call.method!r}"
            return replies.error_reply(call.call_id, replies.METHOD_NOT_FOUND, told, reason=reason)
        wording = method.wording
        if check := _VERSION_CHECKS.get(wording):
            check(version, f"the method {call.method!r}")
        if call.method in MESSAGE_METHODS:
            await count_message(request)
        asked = streams.MethodCall(partial(method.read, call.params), request)
        if call.method in self._shared and not version and await self.acts.is_legacy_task(asked):
            wording = LEGACY
        try:
            return _respond(call, await method.act(asked, wording), detailed=wording is NEW)
        except (GatewayRefusal, StoreUnavailable) as fault:
            if wording is not LEGACY:
                raise
            return replies.fault_reply(call.call_id, fault, bad_input_status=_BAD_REQUEST)


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
        case streams.StreamAnswer():
            return streams.sse(answer, streams.rpc_envelope(call.call_id, detailed=detailed))
        case streams.PendingAnswer():
            return KeptAlive(_await_answer(call, answer, detailed=detailed), _JSON, JSON_BEAT, answer.note_delivery)
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

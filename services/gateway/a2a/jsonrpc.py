"""``POST /``: JSON-RPC calls of A2A 1.0, A2A 0.3 and the early protocol at one URL, told apart by method names."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import NamedTuple

import structlog
from a2a.compat.v0_3 import types as old
from a2a.types import a2a_pb2 as new
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from services.gateway.a2a import schema, streams
from services.gateway.a2a.methods import A2aMethods
from services.gateway.a2a.settings import A2aSettings
from services.gateway.a2a.views import FORMAT_0_3, FORMAT_1_0, LEGACY_FORMAT, AnswerFormat
from services.gateway.edge import replies
from services.gateway.edge.errors import GatewayRefusal
from services.gateway.edge.fields import BadCall, RpcCall, check_body_size, check_content_type, parse_call, read_body
from services.gateway.features.identity.middleware import MESSAGE_METHODS, count_message
from shared.domain.exact_json import Json, JsonObject
from shared.ports.store import StoreUnavailable

log = structlog.get_logger()
ReadParams = Callable[[JsonObject], JsonObject]
_A2A_SERVICE = new.DESCRIPTOR.services_by_name["A2AService"]
_BAD_REQUEST = 400  # with which the early protocol's servers answer invalid requests


class RpcMethod(NamedTuple):
    """A JSON-RPC method: the format of its answer, the function that parses its parameters, and its action."""

    answer_format: AnswerFormat
    read_params: ReadParams
    handle: streams.HandleMethodCall


def _build_rpc_methods(methods: A2aMethods) -> Mapping[str, RpcMethod]:
    """The JSON-RPC methods of all three protocols, by name."""
    handlers_1_0: Mapping[str, streams.HandleMethodCall] = {
        "SendMessage": methods.send_message,
        "SendStreamingMessage": methods.stream_message,
        "GetTask": methods.get_task,
        "ListTasks": methods.list_tasks,
        "CancelTask": methods.cancel_task,
        "SubscribeToTask": methods.subscribe_to_task,
        "CreateTaskPushNotificationConfig": methods.set_webhook,
        "GetTaskPushNotificationConfig": methods.get_webhook,
        "ListTaskPushNotificationConfigs": methods.list_webhooks,
        "DeleteTaskPushNotificationConfig": methods.drop_webhook,
        "GetExtendedAgentCard": methods.get_extended_card,
    }
    schemas = {name: _A2A_SERVICE.methods_by_name[name].input_type for name in handlers_1_0}
    of_1_0 = {
        name: RpcMethod(FORMAT_1_0, partial(schema.parse_by_schema, schema=schemas[name]), handle)
        for name, handle in handlers_1_0.items()
    }
    hook = "tasks/pushNotificationConfig"  # what ``dict`` reads, the method itself parses
    read, read_id = schema.parse_params_0_3, schema.convert_webhook_id_0_3
    return of_1_0 | {
        "message/send": RpcMethod(FORMAT_0_3, schema.parse_message_0_3, methods.send_message),
        "message/stream": RpcMethod(FORMAT_0_3, schema.parse_message_0_3, methods.stream_message),
        "tasks/get": RpcMethod(FORMAT_0_3, partial(read, schema=old.TaskQueryParams), methods.get_task),
        "tasks/cancel": RpcMethod(FORMAT_0_3, partial(read, schema=old.TaskIdParams), methods.cancel_task),
        "tasks/resubscribe": RpcMethod(FORMAT_0_3, partial(read, schema=old.TaskIdParams), methods.subscribe_to_task),
        f"{hook}/set": RpcMethod(FORMAT_0_3, schema.convert_webhook_0_3, methods.set_webhook),
        f"{hook}/get": RpcMethod(
            FORMAT_0_3, partial(read_id, schema=old.GetTaskPushNotificationConfigParams), methods.get_webhook
        ),
        f"{hook}/list": RpcMethod(
            FORMAT_0_3, partial(read_id, schema=old.ListTaskPushNotificationConfigParams), methods.list_webhooks
        ),
        f"{hook}/delete": RpcMethod(
            FORMAT_0_3, partial(read_id, schema=old.DeleteTaskPushNotificationConfigParams), methods.drop_webhook
        ),
        "agent/getAuthenticatedExtendedCard": RpcMethod(FORMAT_0_3, dict[str, Json], methods.get_extended_card),
        "tasks/send": RpcMethod(LEGACY_FORMAT, dict[str, Json], methods.send_message),
        "tasks/sendSubscribe": RpcMethod(LEGACY_FORMAT, dict[str, Json], methods.stream_message),
        "tasks/pushNotification/set": RpcMethod(LEGACY_FORMAT, schema.convert_legacy_webhook, methods.set_webhook),
        "tasks/pushNotification/get": RpcMethod(LEGACY_FORMAT, schema.convert_legacy_webhook_id, methods.get_webhook),
    }


_VERSION_CHECKS = {FORMAT_1_0: replies.require_protocol_1_0, FORMAT_0_3: replies.require_protocol_0_3}
_SHARED_METHODS = ("tasks/get", "tasks/cancel", "tasks/resubscribe")  # names of 0.3 that the early protocol had too


class JsonRpcEndpoint:
    """Answers JSON-RPC calls of all three protocol versions at one path."""

    def __init__(self, methods: A2aMethods, settings: A2aSettings) -> None:
        self.a2a_methods = methods
        self.methods = _build_rpc_methods(methods)
        self._settings = settings
        self._shared = _SHARED_METHODS if settings.a2a_streaming == "on" else _SHARED_METHODS[:2]

    async def __call__(self, request: Request) -> Response:
        """Answer a JSON-RPC call of A2A 1.0, A2A 0.3 or the early protocol."""
        call, names_1_0 = RpcCall(None, "", {}), replies.names_version_1(request)
        try:
            check_content_type(request)
            body = await read_body(request, self._settings.message_bytes)
            call = parse_call(body)
            if call.method not in MESSAGE_METHODS:
                check_body_size(len(body), self._settings.max_body_bytes, call)
            return await self._answer_call(call, request)
        except BadCall as bad_call:
            status = _BAD_REQUEST if self._find_answer_format(bad_call.method) is LEGACY_FORMAT else 200
            call_id = bad_call.call_id
            return replies.build_rpc_fault_reply(call_id, bad_call, includes_reason=names_1_0, bad_input_status=status)
        except ClientDisconnect:  # nobody is there to be answered; the limiter counts it
            raise
        except Exception as fault:  # the outermost edge of a request: the client is owed an answer
            if not isinstance(fault, replies.AnyRefusal):
                log.exception("request_failed", method=call.method)
            answer_format = self._find_answer_format(call.method)
            includes_reason = answer_format is FORMAT_1_0 or (names_1_0 and answer_format is not FORMAT_0_3)
            return replies.build_rpc_fault_reply(call.call_id, fault, includes_reason=includes_reason)

    def _find_answer_format(self, method: str) -> AnswerFormat | None:
        rpc_method = self.methods.get(method)
        return rpc_method.answer_format if rpc_method else None

    async def _answer_call(self, call: RpcCall, request: Request) -> Response:
        method, version = self.methods.get(call.method), replies.read_protocol_version(request)
        if method is None:
            reason = replies.NO_METHOD_CODES.reason if replies.names_version_1(request) else ""
            message = f"there is no method {call.method!r}"
            return replies.build_rpc_error_reply(call.call_id, replies.METHOD_NOT_FOUND, message, reason=reason)
        answer_format = method.answer_format
        if check := _VERSION_CHECKS.get(answer_format):
            check(version, f"the method {call.method!r}")
        if call.method in MESSAGE_METHODS:
            await count_message(request)
        method_call = streams.MethodCall(partial(method.read_params, call.params), request)
        if call.method in self._shared and not version and await self.a2a_methods.is_legacy_task(method_call):
            answer_format = LEGACY_FORMAT
        try:
            answer = await method.handle(method_call, answer_format)
            return streams.build_response(
                answer, streams.AnswerEnvelope(True, call.call_id, answer_format is FORMAT_1_0)
            )
        except (GatewayRefusal, StoreUnavailable) as fault:
            if answer_format is not LEGACY_FORMAT:
                raise
            return replies.build_rpc_fault_reply(call.call_id, fault, bad_input_status=_BAD_REQUEST)


class JsonRpcFastPath:
    """Answers ``POST /`` before the routes are matched, which saves time; passes any other request on to ``app``."""

    def __init__(self, app: ASGIApp, endpoint: JsonRpcEndpoint) -> None:
        self._app, self._endpoint = app, endpoint
        self._route = Route("/", endpoint.__call__, methods=["POST"])  # what requests are counted under

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] != "/" or scope["method"] != "POST":
            return await self._app(scope, receive, send)
        scope["route"] = self._route
        response = await self._endpoint(Request(scope, receive))
        return await response(scope, receive, send)

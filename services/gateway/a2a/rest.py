"""The REST bindings of protocols 1.0 and 0.3: each path with the method behind it."""

import re
from collections.abc import Callable
from functools import partial
from typing import NamedTuple
from urllib.parse import unquote

import structlog
from a2a.compat.v0_3 import a2a_v0_3_pb2 as old
from a2a.types import a2a_pb2 as new
from fastapi import APIRouter, Request
from google.protobuf.message import Message
from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from services.gateway.a2a.methods import A2aMethods
from services.gateway.a2a.schema import (
    parse_by_schema,
    parse_query_by_schema,
    parse_rest_message_0_3,
    parse_rest_webhook_0_3,
)
from services.gateway.a2a.settings import A2aSettings
from services.gateway.a2a.streams import BARE_ENVELOPE, JSON_TYPE, HandleMethodCall, MethodCall, build_response
from services.gateway.a2a.views import FORMAT_0_3, FORMAT_0_3_REST, FORMAT_1_0, AnswerFormat
from services.gateway.edge import replies
from services.gateway.edge.fields import check_content_type, read_json_object_body
from services.gateway.features.identity.middleware import get_identified_caller
from shared.contracts.tenant import DEFAULT_TENANT
from shared.domain.exact_json import JsonObject

log = structlog.get_logger()
_TASK_PATH = "/tasks/{task_id}"
_WEBHOOKS_PATH = _TASK_PATH + "/pushNotificationConfigs"
_WEBHOOK_PATH = _WEBHOOKS_PATH + "/{config_id}"
_V1_WEBHOOKS_PATH = "/v1" + _WEBHOOKS_PATH


class RestPath(NamedTuple):
    """A REST path and its method. ``schema`` parses the query, and the body unless ``read_body`` does."""

    verb: str
    path: str
    schema: type[Message]
    handle: HandleMethodCall
    read_body: Callable[[JsonObject], JsonObject] | None = None

    @property
    def is_0_3(self) -> bool:
        return self.path.startswith("/v1/")


def list_rest_paths(methods: A2aMethods) -> tuple[RestPath, ...]:
    return (
        RestPath("POST", "/message:send", new.SendMessageRequest, methods.send_message),
        RestPath("POST", "/message:stream", new.SendMessageRequest, methods.stream_message),
        RestPath("GET", "/tasks", new.ListTasksRequest, methods.list_tasks),
        RestPath("POST", f"{_TASK_PATH}:cancel", new.CancelTaskRequest, methods.cancel_task),
        RestPath("GET", f"{_TASK_PATH}:subscribe", new.SubscribeToTaskRequest, methods.subscribe_to_task),
        RestPath("POST", f"{_TASK_PATH}:subscribe", new.SubscribeToTaskRequest, methods.subscribe_to_task),
        RestPath("POST", _WEBHOOKS_PATH, new.TaskPushNotificationConfig, methods.set_webhook),
        RestPath("GET", _WEBHOOKS_PATH, new.ListTaskPushNotificationConfigsRequest, methods.list_webhooks),
        RestPath("GET", _WEBHOOK_PATH, new.GetTaskPushNotificationConfigRequest, methods.get_webhook),
        RestPath("DELETE", _WEBHOOK_PATH, new.DeleteTaskPushNotificationConfigRequest, methods.drop_webhook),
        RestPath("GET", "/extendedAgentCard", new.GetExtendedAgentCardRequest, methods.get_extended_card),
        RestPath("POST", "/v1/message:send", old.SendMessageRequest, methods.send_message, parse_rest_message_0_3),
        RestPath("POST", "/v1/message:stream", old.SendMessageRequest, methods.stream_message, parse_rest_message_0_3),
        RestPath("GET", "/v1/tasks", new.ListTasksRequest, methods.list_tasks),
        RestPath("POST", f"/v1{_TASK_PATH}:cancel", old.CancelTaskRequest, methods.cancel_task),
        RestPath("GET", f"/v1{_TASK_PATH}:subscribe", old.TaskSubscriptionRequest, methods.subscribe_to_task),
        RestPath("POST", f"/v1{_TASK_PATH}:subscribe", old.TaskSubscriptionRequest, methods.subscribe_to_task),
        RestPath("POST", _V1_WEBHOOKS_PATH, old.PushNotificationConfig, methods.set_webhook, parse_rest_webhook_0_3),
        RestPath("GET", _V1_WEBHOOKS_PATH, old.ListTaskPushNotificationConfigRequest, methods.list_webhooks),
        RestPath("GET", f"/v1{_WEBHOOK_PATH}", old.GetTaskPushNotificationConfigRequest, methods.get_webhook),
        RestPath("DELETE", f"/v1{_WEBHOOK_PATH}", old.DeleteTaskPushNotificationConfigRequest, methods.drop_webhook),
        RestPath("GET", "/v1/card", old.GetAgentCardRequest, methods.get_extended_card),
        # last: it fits ``{task_id}:subscribe`` too
        RestPath("GET", f"/v1{_TASK_PATH}", old.GetTaskRequest, methods.get_task),
    )


class A2aRest:
    """Answers A2A's REST paths of protocols 1.0 and 0.3."""

    def __init__(self, methods: A2aMethods, settings: A2aSettings) -> None:
        self._methods, self._settings = methods, settings
        self._get_task_path = RestPath("GET", _TASK_PATH, new.GetTaskRequest, methods.get_task)

    def list_routes(self) -> APIRouter:
        router = APIRouter()
        for path in list_rest_paths(self._methods):
            router.add_api_route(
                path.path,
                partial(self._answer_request, path),
                methods=[path.verb],
                response_class=Response,
                name=f"{path.verb.lower()}_{path.handle.__name__}",
                description=f"{path.handle.__doc__} Protocol {'0.3' if path.is_0_3 else '1.0'}.",
            )
        return router

    async def get_task_in_1_0(self, request: Request) -> Response:
        """GetTask of protocol 1.0; ``TaskAndProbeEndpoints`` serves the gateway's own form of the task at this path."""
        return await self._answer_request(self._get_task_path, request)

    async def _answer_request(self, path: RestPath, request: Request) -> Response:
        """Call the path's method; returns its answer, or its refusal as an error of the path's protocol version."""
        try:
            check = replies.require_protocol_0_3 if path.is_0_3 else replies.require_protocol_1_0
            check(replies.read_protocol_version(request), f"{request.method} {request.url.path}")
            body = await self._read_body(path, request) if path.verb == "POST" else {}
            answer_format = _choose_answer_format(path, body)
            call = MethodCall(lambda: _merge_params(path, request, body), request)
            answer = await path.handle(call, answer_format)
            accepted = request.headers.get("accept", "")
            media_type = replies.choose_media_type(accepted) if answer_format is FORMAT_1_0 else JSON_TYPE
            return build_response(answer, BARE_ENVELOPE, media_type, replies.PRIVATE_HEADERS)
        except ClientDisconnect:  # nobody is there to be answered; the limiter counts it
            raise
        except Exception as fault:  # the outermost edge of a request
            if not isinstance(fault, replies.AnyRefusal):
                log.exception("request_failed", path=request.url.path)
            return replies.build_rest_fault_reply(fault, is_0_3=path.is_0_3)

    async def _read_body(self, path: RestPath, request: Request) -> JsonObject:
        check_content_type(request)
        limit = self._settings.message_bytes if "/message:" in path.path else self._settings.max_body_bytes
        return await read_json_object_body(request, limit, may_lack_body=True)


def _merge_params(path: RestPath, request: Request, body: JsonObject) -> JsonObject:
    """The method's parameters; those in the path override the query, and those in the query override the body."""
    schema = path.schema.DESCRIPTOR
    params = path.read_body(body) if path.read_body else parse_by_schema(body, schema)
    return {**params, **parse_query_by_schema(request.query_params.multi_items(), schema), **_read_path_params(request)}


def _read_path_params(request: Request) -> JsonObject:
    task_id, config_id = request.path_params.get("task_id"), request.path_params.get("config_id")
    if "/pushNotificationConfigs" not in request.url.path:
        return {"id": task_id} if task_id else {}
    return {"taskId": task_id, "id": config_id} if config_id else {"taskId": task_id}


def _choose_answer_format(path: RestPath, body: JsonObject) -> AnswerFormat:
    """The format of the answer. Clients of 0.3 that send ``parts``, as JSON-RPC has it, get that of JSON-RPC."""
    message = body.get("message")
    if path.verb == "POST" and path.path == "/v1/message:send" and isinstance(message, dict) and "parts" in message:
        return FORMAT_0_3
    return FORMAT_0_3_REST if path.is_0_3 else FORMAT_1_0


_TENANT_PATH_PATTERN = re.compile(r"/(?P<tenant>[^/]+)(?P<rest>/(message:(send|stream)|tasks(/.+)?|extendedAgentCard))")
_RESERVED_FIRST_WORDS = frozenset({"v1", "tasks", "console", "tenants"})  # first words of the gateway's own paths


class TenantPathMiddleware:
    """Middleware, after authentication, that removes the caller's tenant from REST paths that begin with it."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not (stripped_path := _remove_tenant_from_path(scope)):
            return await self._app(scope, receive, send)
        stripped_scope = {**scope, "path": stripped_path, "raw_path": stripped_path.encode()}
        try:
            return await self._app(stripped_scope, receive, send)
        finally:
            scope["route"] = stripped_scope.get("route")  # the middleware that counts requests reads it afterwards


def _remove_tenant_from_path(scope: Scope) -> str | None:
    """The path after the caller's tenant; None if it does not begin with that tenant."""
    match = _TENANT_PATH_PATTERN.fullmatch(str(scope["path"]))
    if match is None or match["tenant"] in _RESERVED_FIRST_WORDS:
        return None
    caller = get_identified_caller(Request(scope))
    tenant = caller.tenant if caller else DEFAULT_TENANT
    return match["rest"] if unquote(match["tenant"]) == tenant else None

"""The REST bindings of protocols 1.0 and 0.3: each path with the method behind it."""

import json
import re
from collections.abc import AsyncGenerator, Callable
from functools import partial
from typing import NamedTuple
from urllib.parse import unquote

import structlog
from a2a.compat.v0_3 import a2a_v0_3_pb2 as old
from a2a.types import a2a_pb2 as new
from fastapi import APIRouter, Request
from google.protobuf.message import Message
from starlette.requests import ClientDisconnect
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from services.gateway.a2a.methods import A2aMethods
from services.gateway.a2a.profile import GatewayProfile
from services.gateway.a2a.schema import read_by_schema, read_query, read_rest_send, read_rest_webhook
from services.gateway.a2a.streams import BARE, Act, Answer, MethodCall, PendingAnswer, StreamAnswer, WrittenJson, sse
from services.gateway.a2a.views import NEW, OLD, OLD_REST, Wording
from services.gateway.edge.body import check_content_type, read_object
from services.gateway.edge.kept_alive import JSON_BEAT, KeptAlive
from services.gateway.edge.replies import PRIVATE, Fault, check_0_3, check_1_0, media_type_of, rest_fault, version_of
from services.gateway.features.identity.middleware import let_in
from services.gateway.features.identity.model import DEFAULT_TENANT
from shared.domain.exact_json import JsonObject

log = structlog.get_logger()
_TASK = "/tasks/{task_id}"
_WEBHOOKS = _TASK + "/pushNotificationConfigs"
_WEBHOOK = _WEBHOOKS + "/{config_id}"


class Path(NamedTuple):
    """A REST path. ``schema``: parses the query, and also the body unless ``read`` does."""

    verb: str
    path: str
    schema: type[Message]
    act: Act
    read: Callable[[JsonObject], JsonObject] | None = None

    @property
    def is_old(self) -> bool:
        return self.path.startswith("/v1/")


def paths_of(methods: A2aMethods) -> tuple[Path, ...]:
    return (
        Path("POST", "/message:send", new.SendMessageRequest, methods.send),
        Path("POST", "/message:stream", new.SendMessageRequest, methods.stream),
        Path("GET", "/tasks", new.ListTasksRequest, methods.tasks),
        Path("POST", f"{_TASK}:cancel", new.CancelTaskRequest, methods.cancel),
        Path("GET", f"{_TASK}:subscribe", new.SubscribeToTaskRequest, methods.subscribe),
        Path("POST", f"{_TASK}:subscribe", new.SubscribeToTaskRequest, methods.subscribe),
        Path("POST", _WEBHOOKS, new.TaskPushNotificationConfig, methods.set_webhook),
        Path("GET", _WEBHOOKS, new.ListTaskPushNotificationConfigsRequest, methods.webhooks),
        Path("GET", _WEBHOOK, new.GetTaskPushNotificationConfigRequest, methods.webhook),
        Path("DELETE", _WEBHOOK, new.DeleteTaskPushNotificationConfigRequest, methods.drop_webhook),
        Path("GET", "/extendedAgentCard", new.GetExtendedAgentCardRequest, methods.extended_card),
        Path("POST", "/v1/message:send", old.SendMessageRequest, methods.send, read_rest_send),
        Path("POST", "/v1/message:stream", old.SendMessageRequest, methods.stream, read_rest_send),
        Path("GET", "/v1/tasks", new.ListTasksRequest, methods.tasks),
        Path("POST", f"/v1{_TASK}:cancel", old.CancelTaskRequest, methods.cancel),
        Path("GET", f"/v1{_TASK}:subscribe", old.TaskSubscriptionRequest, methods.subscribe),
        Path("POST", f"/v1{_TASK}:subscribe", old.TaskSubscriptionRequest, methods.subscribe),
        Path("POST", f"/v1{_WEBHOOKS}", old.PushNotificationConfig, methods.set_webhook, read_rest_webhook),
        Path("GET", f"/v1{_WEBHOOKS}", old.ListTaskPushNotificationConfigRequest, methods.webhooks),
        Path("GET", f"/v1{_WEBHOOK}", old.GetTaskPushNotificationConfigRequest, methods.webhook),
        Path("DELETE", f"/v1{_WEBHOOK}", old.DeleteTaskPushNotificationConfigRequest, methods.drop_webhook),
        Path("GET", "/v1/card", old.GetAgentCardRequest, methods.extended_card),
        Path("GET", f"/v1{_TASK}", old.GetTaskRequest, methods.task),  # last: it fits ``{task_id}:subscribe`` too
    )


class A2aRest:
    def __init__(self, methods: A2aMethods, profile: GatewayProfile) -> None:
        self._methods, self._profile = methods, profile
        self._task = Path("GET", _TASK, new.GetTaskRequest, methods.task)

    def routes(self) -> APIRouter:
        router = APIRouter()
        for path in paths_of(self._methods):
            router.add_api_route(
                path.path,
                partial(self._answer, path),
                methods=[path.verb],
                response_class=Response,
                name=f"{path.verb.lower()}_{path.act.__name__}",
                description=f"{path.act.__doc__} Protocol {'0.3' if path.is_old else '1.0'}.",
            )
        return router

    async def task(self, request: Request) -> Response:
        """GetTask of protocol 1.0, whose path is shared with our own record."""
        return await self._answer(self._task, request)

    async def _answer(self, path: Path, request: Request) -> Response:
        """The method's answer, or its refusal in the words of the protocol."""
        try:
            check = check_0_3 if path.is_old else check_1_0
            check(version_of(request), f"{request.method} {request.url.path}")
            body = await self._read_body(path, request) if path.verb == "POST" else {}
            wording = _choose_wording(path, body)
            call = MethodCall(lambda: _read_params(path, request, body), request)
            return _build_response(await path.act(call, wording), request, wording)
        except ClientDisconnect:  # nobody is there to be answered; the limiter counts it
            raise
        except Exception as fault:  # the outermost edge of a request
            if not isinstance(fault, Fault):
                log.exception("request_failed", path=request.url.path)
            return rest_fault(fault, old=path.is_old)

    async def _read_body(self, path: Path, request: Request) -> JsonObject:
        check_content_type(request)
        limit = self._profile.max_message if "/message:" in path.path else self._profile.max_body
        return await read_object(request, limit, may_be_empty=True)


def _read_params(path: Path, request: Request, body: JsonObject) -> JsonObject:
    """The method's parameters: those of the path win over the query, and those of the query over the body."""
    schema = path.schema.DESCRIPTOR
    said = path.read(body) if path.read else read_by_schema(body, schema)
    return {**said, **read_query(request.query_params.multi_items(), schema), **_path_params(request)}


def _path_params(request: Request) -> JsonObject:
    task_id, config_id = request.path_params.get("task_id"), request.path_params.get("config_id")
    if "/pushNotificationConfigs" not in request.url.path:
        return {"id": task_id} if task_id else {}
    return {"taskId": task_id, "id": config_id} if config_id else {"taskId": task_id}


def _choose_wording(path: Path, body: JsonObject) -> Wording:
    """The wording of the answer: for messages of 0.3 with ``parts``, as in JSON-RPC, that of JSON-RPC."""
    message = body.get("message")
    if path.verb == "POST" and path.path == "/v1/message:send" and isinstance(message, dict) and "parts" in message:
        return OLD
    return OLD_REST if path.is_old else NEW


def _build_response(answer: Answer, request: Request, wording: Wording) -> Response:
    media_type = media_type_of(request.headers.get("accept", "")) if wording is NEW else "application/json"
    match answer:
        case StreamAnswer():
            return sse(answer, BARE)
        case PendingAnswer():
            return KeptAlive(_await_answer(answer), media_type, JSON_BEAT)
        case WrittenJson(result):
            return Response(result, media_type=media_type, headers=PRIVATE)
        case _:
            return JSONResponse(answer, media_type=media_type, headers=PRIVATE)


async def _await_answer(answer: PendingAnswer) -> AsyncGenerator[bytes, None]:
    """Yields the answer's body. The status has been sent, so after a failure the task is shown as accepted."""
    try:
        shown = await answer.answer()
    except Exception:  # the outermost edge of a request: the message is safe, and the client is owed its task
        log.exception("answer_not_followed")
        shown = answer.show_accepted()
    yield json.dumps(shown, ensure_ascii=False).encode()


_PATH = re.compile(r"/(?P<tenant>[^/]+)(?P<rest>/(message:(send|stream)|tasks(/.+)?|extendedAgentCard))")
_TAKEN = frozenset({"v1", "tasks", "console", "tenants"})  # first words of the gateway's own paths


class TenantPath:
    """Middleware behind authentication: accepts REST paths that begin with the caller's tenant."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not (rest := _rest_of(scope)):
            return await self._app(scope, receive, send)
        known = {**scope, "path": rest, "raw_path": rest.encode()}
        try:
            return await self._app(known, receive, send)
        finally:
            scope["route"] = known.get("route")  # whoever counts requests stands outside


def _rest_of(scope: Scope) -> str | None:
    found = _PATH.fullmatch(str(scope["path"]))
    if found is None or found["tenant"] in _TAKEN:
        return None
    caller = let_in(Request(scope))
    own = caller.tenant if caller else DEFAULT_TENANT
    return found["rest"] if unquote(found["tenant"]) == own else None

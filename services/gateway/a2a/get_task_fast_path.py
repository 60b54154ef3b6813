"""A fast path for ``GetTask`` of protocol 1.0, the call that clients repeat most, over JSON-RPC and REST.

It calls the checks of all middleware directly. Requests in any unusual form go through the whole application, which
would give the same answer byte for byte.
"""

import re
from collections.abc import Mapping
from time import perf_counter
from typing import NamedTuple, TypeGuard

import structlog
from pydantic_core import from_json
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from services.gateway.a2a.methods import A2aMethods
from services.gateway.a2a.views import FORMAT_1_0
from services.gateway.edge.fields import MAX_ID_LENGTH
from services.gateway.edge.replies import (
    PRIVATE_HEADERS,
    VERSION_HEADER,
    AnyRefusal,
    build_rest_fault_reply,
    build_rpc_fault_reply,
    choose_media_type,
    encode_rpc_result,
)
from services.gateway.edge.request_limits import OriginGuard, RequestLimiter, receive_if_ready, replay_first_message
from services.gateway.features.identity.middleware import CallerMiddleware, build_limit_headers
from services.gateway.features.identity.model import AdmittedCaller, Identity
from shared.infra.counted_app import RequestCounts

log = structlog.get_logger()
_JSON_TYPE = "application/json"
_LOWER_VERSION_HEADER = VERSION_HEADER.lower()
_MOST_CALL_BYTES = 2048
_LARGEST_NUMERIC_ID = 2**53
_TASK_PATH = "/tasks/{task_id}"
_REST_PATH_PATTERN = re.compile(r"/tasks/[A-Za-z0-9_.-]{1,256}")
_RAW_PRIVATE_HEADERS = tuple((name.lower().encode(), value.encode()) for name, value in PRIVATE_HEADERS.items())
_RPC_FIELDS = frozenset({"jsonrpc", "id", "method", "params"})


class _GetTaskCall(NamedTuple):
    """A call of ``GetTask``. ``call_id``: the id of the JSON-RPC call; None over REST."""

    task_id: str
    media_type: str = _JSON_TYPE
    call_id: str | int | None = None


class GetTaskFastPath:
    """The outermost ASGI layer: answers ``GetTask`` itself and passes every other request to ``app``.

    It makes the checks of the given middleware. ``origin_guard``: None if callers must authenticate.
    """

    def __init__(
        self,
        app: ASGIApp,
        methods: A2aMethods,
        limiter: RequestLimiter,
        origin_guard: OriginGuard | None,
        callers: CallerMiddleware,
        identity: Identity,
        counts: RequestCounts,
    ) -> None:
        self._app = app
        self._methods = methods
        self._limiter = limiter
        self._origin_guard = origin_guard
        self._callers = callers
        self._identity = identity
        self._counts = counts
        self._most_call_bytes = min(_MOST_CALL_BYTES, limiter.limits.body_bytes)
        self._routes = {path: Route(path, app, methods=[verb]) for verb, path in (("POST", "/"), ("GET", _TASK_PATH))}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        began = perf_counter()
        head = _select_fast_path_headers(scope, self._most_call_bytes) if scope["type"] == "http" else None
        if head is None or not self._passes_checks(scope, head):
            return await self._app(scope, receive, send)
        admitted = await self._callers.admit(scope, head, head.get("x-forwarded-for", ""))
        if isinstance(admitted, Response):
            return await self._app(scope, receive, send)
        if scope["method"] == "GET":
            task_id = scope["path"].removeprefix("/tasks/")
            media_type = choose_media_type(head.get("accept", ""))
            return await self._send_reply(scope, send, _GetTaskCall(task_id, media_type), admitted, began)
        first_message = await receive_if_ready(receive)  # who sends it is known before anything of it is read
        if first_message is None:
            return await self._app(scope, receive, send)
        is_whole = not first_message.get("more_body")
        get_task = _parse_rpc_get_task(first_message.get("body", b"")) if is_whole else None
        if get_task is None:
            return await self._app(scope, replay_first_message(first_message, receive), send)
        return await self._send_reply(scope, send, get_task, admitted, began)

    def _passes_checks(self, scope: Scope, head: Mapping[str, str]) -> bool:
        """Whether the request's head passes the limits and the origin check; if not, ``app`` refuses the request."""
        guard = self._origin_guard
        is_foreign = guard is not None and guard.why_refused(scope["path"], head) is not None
        return not is_foreign and self._limiter.build_refusal(scope) is None

    async def _send_reply(
        self, scope: Scope, send: Send, get_task: _GetTaskCall, admitted: AdmittedCaller, began: float
    ) -> None:
        counts, path = self._counts, "/" if scope["method"] == "POST" else _TASK_PATH
        scope["route"], status = self._routes[path], 500
        counts.change_open_count(1)
        self._limiter.open_requests += 1
        try:
            start, body = await self._build_answer(get_task, admitted)
            status = start["status"]
            await send(start)
            await send({"type": "http.response.body", "body": body})
        finally:
            self._limiter.open_requests -= 1
            counts.change_open_count(-1)
            counts.count_answer(scope["method"], path, status, perf_counter() - began)

    async def _build_answer(self, get_task: _GetTaskCall, admitted: AdmittedCaller) -> tuple[Message, bytes]:
        """The first ASGI message of the answer, and the answer's body."""
        call_id = get_task.call_id
        try:
            caller = self._identity.caller_of(admitted.caller, {})
            task = await self._methods.serialize_task(get_task.task_id, caller, FORMAT_1_0)
            body = task if call_id is None else encode_rpc_result(call_id, task)
            length = (b"content-length", b"%d" % len(body))
            kind = (b"content-type", get_task.media_type.encode())
            status = 200
            headers = [length, kind, *(_RAW_PRIVATE_HEADERS if call_id is None else ())]
        except Exception as fault:  # the outermost edge of a request: the client is owed an answer
            if not isinstance(fault, AnyRefusal):
                log.exception("request_failed", method="GetTask")
            is_rest = call_id is None
            refusal = (
                build_rest_fault_reply(fault)
                if is_rest
                else build_rpc_fault_reply(call_id, fault, includes_reason=True)
            )
            status = refusal.status_code
            headers = refusal.raw_headers
            body = bytes(refusal.body)
        limits = build_limit_headers(admitted.rate_limits)
        headers += [(name.lower().encode(), value.encode()) for name, value in limits.items()]
        return {"type": "http.response.start", "status": status, "headers": headers}, body


def _select_fast_path_headers(scope: Scope, most_bytes: int) -> Mapping[str, str] | None:
    """The headers of a request that may be a ``GetTask`` in its usual form; None for any other request."""
    path, raw_headers = scope["path"], scope["headers"]
    is_call = path == "/" and scope["method"] == "POST"
    is_rest = scope["method"] == "GET" and _REST_PATH_PATTERN.fullmatch(path)
    if scope["query_string"] or not (is_call or is_rest):
        return None
    head = {name.decode("latin-1"): value.decode("latin-1") for name, value in raw_headers}
    if len(head) < len(raw_headers) or head.get(_LOWER_VERSION_HEADER) != "1.0" or "transfer-encoding" in head:
        return None
    length = head.get("content-length", "")
    if not is_call:
        return None if length else head
    is_short = length.isdecimal() and len(length) < 5 and int(length) <= most_bytes
    return head if is_short and head.get("content-type", _JSON_TYPE) == _JSON_TYPE else None


def _parse_rpc_get_task(body: bytes) -> _GetTaskCall | None:
    """Parse a JSON-RPC ``GetTask`` whose only parameter is the task's id; None for any other body."""
    if b'"GetTask"' not in body:
        return None
    try:
        call = from_json(body)  # what it reads unlike ``parse_json``, fractions above all, is no id here
    except ValueError:
        return None
    if not isinstance(call, dict) or call.keys() != _RPC_FIELDS:
        return None
    if call["method"] != "GetTask" or call["jsonrpc"] != "2.0":
        return None
    call_id, params = call["id"], call["params"]
    task_id = params.get("id") if isinstance(params, dict) and len(params) == 1 else None
    is_number = type(call_id) is int and abs(call_id) < _LARGEST_NUMERIC_ID
    if not (_is_usable_id(task_id) and (is_number or _is_usable_id(call_id))):
        return None
    return _GetTaskCall(task_id, call_id=call_id)


def _is_usable_id(value: object) -> TypeGuard[str]:
    """Whether the value is certainly an id that ``id_at`` takes; those that begin with ``~`` are left to ``app``."""
    return type(value) is str and 0 < len(value) <= MAX_ID_LENGTH and value.isprintable() and value[0] != "~"

"""Answers ``GetTask`` of protocol 1.0, the call that clients repeat most, in one step over either binding.

All checks that a request passes one after the other (limits, own pages, identity, counters, routes, the schema) are
made here by the same functions, without a wrapper around each message. A request of any unusual form goes the common
way, which would give the same answer byte for byte.
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
from services.gateway.a2a.views import NEW
from services.gateway.edge.fields import MAX_ID
from services.gateway.edge.replies import HEADER, PRIVATE, Fault, fault_reply, media_type_of, rest_fault, rpc_result
from services.gateway.edge.request_limits import (
    OwnPages,
    PendingMessage,
    RequestLimiter,
    receive_again,
    receive_at_once,
)
from services.gateway.features.identity.middleware import CallerMiddleware, limit_headers
from services.gateway.features.identity.model import AdmittedCaller, Identity
from shared.infra.counted_app import AnswerCounts

log = structlog.get_logger()
_JSON = "application/json"
_VERSION = HEADER.lower()
_MOST = 2048  # bytes of a call
_LARGEST = 2**53  # of ids that are numbers
_TASK = "/tasks/{task_id}"
_REST_PATH = re.compile(r"/tasks/[A-Za-z0-9_.-]{1,256}")
_PRIVATE = tuple((name.lower().encode(), value.encode()) for name, value in PRIVATE.items())
_MEMBERS = frozenset({"jsonrpc", "id", "method", "params"})


class ReadChecks(NamedTuple):
    """The checks before every request. ``own_pages``: None where keys are required."""

    limiter: RequestLimiter
    own_pages: OwnPages | None
    callers: CallerMiddleware
    identity: Identity
    counts: AnswerCounts


class _RpcRead(NamedTuple):
    """A request for a task by JSON-RPC."""

    task_id: str
    call_id: str | int
    content_type: bytes = _JSON.encode()
    more_headers: tuple[tuple[bytes, bytes], ...] = ()

    def write(self, task: bytes) -> bytes:
        return rpc_result(self.call_id, task)

    def refuse(self, fault: Exception) -> Response:
        return fault_reply(self.call_id, fault, detailed=True)


class _RestRead(NamedTuple):
    """A request for a task by REST."""

    task_id: str
    content_type: bytes
    more_headers: tuple[tuple[bytes, bytes], ...] = _PRIVATE

    def write(self, task: bytes) -> bytes:
        return task

    def refuse(self, fault: Exception) -> Response:
        return rest_fault(fault)


_Read = _RpcRead | _RestRead


class HotReads:
    """The outermost ASGI layer. ``app`` answers whatever is not answered here."""

    def __init__(self, app: ASGIApp, checks: ReadChecks, methods: A2aMethods) -> None:
        self._app, self._checks, self._methods = app, checks, methods
        self._most = min(_MOST, checks.limiter.limits.body_bytes)
        self._routes = {path: Route(path, app, methods=[verb]) for verb, path in (("POST", "/"), ("GET", _TASK))}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        began = perf_counter()
        head = _usual_head(scope, self._most) if scope["type"] == "http" else None
        if head is None or not self._may_pass(scope, head):
            return await self._app(scope, receive, send)
        admitted = await self._checks.callers.admit(scope, head, head.get("x-forwarded-for", ""))
        if isinstance(admitted, Response):
            return await self._app(scope, receive, send)
        if scope["method"] == "GET":
            task_id, media_type = scope["path"].removeprefix("/tasks/"), media_type_of(head.get("accept", ""))
            return await self._send_reply(scope, send, _RestRead(task_id, media_type.encode()), admitted, began)
        first = receive_at_once(receive)  # who sends it is known before anything of it is read
        read = (
            None if isinstance(first, PendingMessage) or first.get("more_body") else _rpc_read(first.get("body", b""))
        )
        if read is None:
            return await self._app(scope, receive_again(first, receive), send)
        return await self._send_reply(scope, send, read, admitted, began)

    def _may_pass(self, scope: Scope, head: Mapping[str, str]) -> bool:
        """Whether the request passes the limits and the check for foreign pages. If not, the common way refuses it."""
        pages = self._checks.own_pages
        is_foreign = pages is not None and pages.why_refused(scope["path"], head) is not None
        return not is_foreign and self._checks.limiter.refusal(scope) is None

    async def _send_reply(self, scope: Scope, send: Send, read: _Read, admitted: AdmittedCaller, began: float) -> None:
        counts, path = self._checks.counts, "/" if scope["method"] == "POST" else _TASK
        scope["route"], status = self._routes[path], 500
        counts.count_open(1)
        try:
            with self._checks.limiter.open_requests:
                start, body = await self._answer_read(read, admitted)
                status = start["status"]
                await send(start)
                await send({"type": "http.response.body", "body": body})
        finally:
            counts.count_open(-1)
            counts.count_answer(scope["method"], path, status, perf_counter() - began)

    async def _answer_read(self, read: _Read, admitted: AdmittedCaller) -> tuple[Message, bytes]:
        """The first message of the answer, and its body."""
        try:
            caller = self._checks.identity.caller_of(admitted.caller, {})
            body = read.write(await self._methods.write_task(read.task_id, caller, NEW))
            length, kind = (b"content-length", b"%d" % len(body)), (b"content-type", read.content_type)
            status, headers = 200, [length, kind, *read.more_headers]
        except Exception as fault:  # the outermost edge of a request: the client is owed an answer
            if not isinstance(fault, Fault):
                log.exception("request_failed", method="GetTask")
            refusal = read.refuse(fault)
            status, headers, body = refusal.status_code, refusal.raw_headers, bytes(refusal.body)
        if admitted.standing.measures:
            limits = limit_headers(admitted.standing)
            headers += [(name.lower().encode(), value.encode()) for name, value in limits.items()]
        return {"type": "http.response.start", "status": status, "headers": headers}, body


def _usual_head(scope: Scope, most: int) -> Mapping[str, str] | None:
    """The headers of a request that may be a read of 1.0, if each comes once; None for any other request."""
    path, raw = scope["path"], scope["headers"]
    is_call = path == "/" and scope["method"] == "POST"
    if scope["query_string"] or not (is_call or (scope["method"] == "GET" and _REST_PATH.fullmatch(path))):
        return None
    head = {name.decode("latin-1"): value.decode("latin-1") for name, value in raw}
    if len(head) < len(raw) or head.get(_VERSION) != "1.0" or "transfer-encoding" in head:
        return None
    length = head.get("content-length", "")
    if not is_call:
        return None if length else head
    is_short = length.isdigit() and len(length) < 5 and int(length) <= most
    return head if is_short and head.get("content-type", _JSON) == _JSON else None


def _rpc_read(body: bytes) -> _RpcRead | None:
    """The read in a JSON-RPC body whose only parameter is a task's id; None for any other body."""
    if b'"GetTask"' not in body:
        return None
    try:
        call = from_json(body)  # what it reads unlike ``decode_json``, fractions above all, is no id here
    except ValueError:
        return None
    if not isinstance(call, dict) or call.keys() != _MEMBERS or call["method"] != "GetTask" or call["jsonrpc"] != "2.0":
        return None
    call_id, params = call["id"], call["params"]
    task_id = params.get("id") if isinstance(params, dict) and len(params) == 1 else None
    if not _is_name(task_id) or not (_is_name(call_id) or (type(call_id) is int and abs(call_id) < _LARGEST)):
        return None
    return _RpcRead(task_id, call_id)


def _is_name(value: object) -> TypeGuard[str]:
    return type(value) is str and 0 < len(value) <= MAX_ID and value.isprintable()

"""``POST /``: one URL, three dialects."""

import json
import re
from collections.abc import AsyncGenerator

import structlog
from a2a.server.routes.jsonrpc_dispatcher import JsonRpcDispatcher
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Message

from services.gateway.core import errors
from services.gateway.core.desk import TaskDesk
from services.gateway.core.fields import count_at, object_at, required_id
from services.gateway.core.message import metadata_of, read_message
from services.gateway.entrypoints.a2a import SCOPE_KEY, ContextBuilder, DeskHandler, Understood
from services.gateway.entrypoints.body import BadCall, Call, parse_call, read_body
from services.gateway.entrypoints.door import let_in
from services.gateway.entrypoints.kept_alive import JSON_BEAT, KeptAlive
from services.gateway.entrypoints.legacy import LegacyMethods
from services.gateway.entrypoints.lenient import as_0_3
from services.gateway.entrypoints.replies import (
    FAILED,
    INTERNAL_ERROR,
    METHOD_NOT_FOUND,
    VERSION_NOT_SUPPORTED,
    bad_call_reply,
    error_body,
    error_reply,
    fault_reply,
)
from services.gateway.ports import Identity, StoreUnavailable
from shared.contracts.task import TaskRecord
from shared.domain.exact_json import JsonObject, wire
from shared.domain.words import Dialect

log = structlog.get_logger()
_SHARED = frozenset({"tasks/get", "tasks/cancel"})  # named alike in the early protocol and in 0.3
_SENDS = {"message/send": Dialect.A2A_0_3, "SendMessage": Dialect.A2A_1_0}
_BY_ID = frozenset({"tasks/get", "tasks/cancel", "tasks/resubscribe", "GetTask", "CancelTask", "SubscribeToTask"})
_SLOW = frozenset({*_SENDS, "tasks/cancel", "CancelTask"})
_STREAMS = frozenset({"tasks/sendSubscribe", "message/stream", "tasks/resubscribe"})
_PUSH = ("tasks/pushNotification/", "tasks/pushNotificationConfig/")
_0_3 = re.compile(r"(0(\.\d+)*)?")


class JsonRpcEndpoint:
    def __init__(self, desk: TaskDesk, identity: Identity, notice: str, max_body: int) -> None:
        self._desk, self._identity, self._max_body = desk, identity, max_body
        self._legacy = LegacyMethods(desk, identity, notice)
        handler = DeskHandler(desk, notice)
        self._sdk = JsonRpcDispatcher(handler, context_builder=ContextBuilder(), enable_v0_3_compat=True)

    async def __call__(self, request: Request) -> Response:
        version = request.headers.get("a2a-version", "")
        try:
            call = parse_call(await read_body(request, self._max_body))
        except BadCall as bad:
            return bad_call_reply(bad, plain_http=bool(version))
        try:
            return await self._route(call, request, version)
        except (errors.Refusal, StoreUnavailable) as fault:
            return fault_reply(call.call_id, fault)
        except Exception:  # the outermost edge of a request: the client is owed an answer
            log.exception("request_failed", method=call.method)
            return error_reply(call.call_id, INTERNAL_ERROR, FAILED)

    async def _route(self, call: Call, request: Request, version: str) -> Response:
        if call.method == "tasks/send":
            return await self._legacy.send(call, let_in(request))
        if call.method in _STREAMS:
            raise errors.Unsupported("streaming over JSON-RPC is not offered; read GET /tasks/{id}/events")
        if call.method.startswith(_PUSH):
            raise errors.PushUnsupported
        if call.method in _SHARED and not version:
            return await self._in_its_own_dialect(call, request)
        return await self._by_sdk(call, request, version)

    async def _in_its_own_dialect(self, call: Call, request: Request) -> Response:
        """A task made by ``tasks/send`` is answered as one, although 0.3 has methods of the same names."""
        record = await self._made_by_legacy(call, request)
        if record is None:
            return await self._by_sdk(call, request, "")
        if call.method == "tasks/get":
            return await self._legacy.get(call, record)
        return await self._legacy.cancel(call, let_in(request))

    async def _made_by_legacy(self, call: Call, request: Request) -> TaskRecord | None:
        task_id = required_id(call.params, "id", "params.id")
        caller = self._identity.caller_of(let_in(request), metadata_of(call.params))
        record = await self._desk.read(task_id, caller)
        return record if record.dialect is Dialect.LEGACY else None

    async def _by_sdk(self, call: Call, request: Request, version: str) -> Response:
        old = call.method in _V0_3
        if not old and call.method not in JsonRpcDispatcher.METHOD_TO_MODEL:
            return error_reply(call.call_id, METHOD_NOT_FOUND, f"there is no method {call.method!r}")
        if old and not _0_3.fullmatch(version):
            message = f"{call.method!r} is a method of protocol 0.3, but the header A2A-Version says {version!r}"
            return error_reply(call.call_id, VERSION_NOT_SUPPORTED, message)
        params = as_0_3(call.method, call.params)
        request.scope[SCOPE_KEY] = self._understand(call.method, params, request)
        inner = _rewritten(request, call, params)
        if call.method in _SLOW:
            return KeptAlive(self._patiently(inner, call), "application/json", JSON_BEAT)
        return await self._sdk.handle_requests(inner)

    def _understand(self, method: str, params: JsonObject, request: Request) -> Understood:
        dialect = _SENDS.get(method)
        if method in _BY_ID:
            required_id(params, "id", "params.id")
        count_at(params, "historyLength", "params.historyLength")
        count_at(object_at(params, "configuration", "configuration"), "historyLength", "configuration.historyLength")
        caller = self._identity.caller_of(let_in(request), metadata_of(params))
        return Understood(caller, read_message(params, dialect) if dialect else None)

    async def _patiently(self, request: Request, call: Call) -> AsyncGenerator[bytes, None]:
        try:
            response = await self._sdk.handle_requests(request)
        except Exception:  # the outermost edge of a request: the status has gone out already
            log.exception("request_failed", method=call.method)
            yield error_body(call.call_id, INTERNAL_ERROR, FAILED)
            return
        yield bytes(response.body)


_V0_3 = frozenset(
    {
        "message/send",
        "message/stream",
        "tasks/get",
        "tasks/cancel",
        "tasks/resubscribe",
        "tasks/pushNotificationConfig/set",
        "tasks/pushNotificationConfig/get",
        "tasks/pushNotificationConfig/list",
        "tasks/pushNotificationConfig/delete",
        "agent/getAuthenticatedExtendedCard",
    }
)


def _rewritten(request: Request, call: Call, params: JsonObject) -> Request:
    """The same request with the body that we made sure of."""
    value = {"jsonrpc": "2.0", "id": call.call_id, "method": call.method, "params": wire(params)}
    body = json.dumps(value).encode()

    async def receive() -> Message:
        return {"type": "http.request", "body": body, "more_body": False}

    return Request(request.scope, receive)

"""``POST /``: one URL, three dialects, each method by its name."""

from collections.abc import Awaitable, Callable, Mapping
from typing import NamedTuple

import structlog
from starlette.requests import Request
from starlette.responses import Response

from services.gateway.core import errors
from services.gateway.core.fields import required_id
from services.gateway.core.tasks.admission import MESSAGE_METHODS
from services.gateway.core.tasks.desk import TaskDesk
from services.gateway.core.tasks.message import metadata_of
from services.gateway.entrypoints.a2a.legacy import LegacyMethods
from services.gateway.entrypoints.a2a.replies import (
    FAILED,
    INTERNAL_ERROR,
    METHOD_NOT_FOUND,
    bad_call_reply,
    error_reply,
    fault_reply,
)
from services.gateway.entrypoints.a2a.versions import check_0_3, check_1_0, version_of
from services.gateway.entrypoints.edge.body import BadCall, Call, check_content_type, parse_call, read_body
from services.gateway.entrypoints.edge.door import count_message, let_in
from services.gateway.ports.identity import Identity
from services.gateway.ports.tasks import StoreUnavailable
from shared.contracts.task import TaskRecord
from shared.domain.words import Dialect

log = structlog.get_logger()
_SHARED = frozenset({"tasks/get", "tasks/cancel"})  # named alike in the early protocol and in 0.3
_CHECKS: Mapping[Dialect, Callable[[str, str], None]] = {Dialect.A2A_0_3: check_0_3, Dialect.A2A_1_0: check_1_0}


class Method(NamedTuple):
    """One method: the protocol that it belongs to, and what answers it."""

    dialect: Dialect
    act: Callable[[Call, Request], Awaitable[Response]]


class JsonRpcEndpoint:
    def __init__(
        self, desk: TaskDesk, identity: Identity, notice: str, max_body: int, methods: Mapping[str, Method]
    ) -> None:
        self._desk, self._identity, self._max_body = desk, identity, max_body
        self._legacy = LegacyMethods(desk, identity, notice)
        self._methods = {"tasks/send": Method(Dialect.LEGACY, self._send), **methods}

    @property
    def method_names(self) -> frozenset[str]:
        return frozenset(self._methods)

    async def __call__(self, request: Request) -> Response:
        """A JSON-RPC call of any of the three protocols."""
        try:
            check_content_type(request)
            call = parse_call(await read_body(request, self._max_body))
        except errors.UnsupportedMediaType as fault:
            return fault_reply(None, fault)
        except BadCall as bad:
            return bad_call_reply(bad, plain_http=bool(version_of(request)))
        try:
            return await self._route(call, request)
        except (errors.Refusal, StoreUnavailable) as fault:
            return fault_reply(call.call_id, fault)
        except Exception:  # the outermost edge of a request: the client is owed an answer
            log.exception("request_failed", method=call.method)
            return error_reply(call.call_id, INTERNAL_ERROR, FAILED)

    async def _route(self, call: Call, request: Request) -> Response:
        method, version = self._methods.get(call.method), version_of(request)
        if method is None:
            return error_reply(call.call_id, METHOD_NOT_FOUND, f"there is no method {call.method!r}")
        if method.dialect in _CHECKS:
            _CHECKS[method.dialect](version, f"the method {call.method!r}")
        if call.method in MESSAGE_METHODS:
            await count_message(request)
        if call.method in _SHARED and not version:
            return await self._in_its_own_dialect(call, request, method)
        return await method.act(call, request)

    async def _send(self, call: Call, request: Request) -> Response:
        return await self._legacy.send(call, let_in(request))

    async def _in_its_own_dialect(self, call: Call, request: Request, method: Method) -> Response:
        """A task made by ``tasks/send`` is answered as one, although 0.3 has methods of the same names."""
        record = await self._made_by_legacy(call, request)
        if record is None:
            return await method.act(call, request)
        if call.method == "tasks/get":
            return await self._legacy.get(call, record)
        return await self._legacy.cancel(call, let_in(request))

    async def _made_by_legacy(self, call: Call, request: Request) -> TaskRecord | None:
        task_id = required_id(call.params, "id", "params.id")
        caller = self._identity.caller_of(let_in(request), metadata_of(call.params))
        record = await self._desk.read(task_id, caller)
        return record if record.dialect is Dialect.LEGACY else None

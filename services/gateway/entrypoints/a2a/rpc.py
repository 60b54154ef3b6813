"""The JSON-RPC methods of protocols 0.3 and 1.0 that have one answer."""

from collections.abc import AsyncGenerator, Callable, Mapping

import structlog
from a2a.types.a2a_pb2 import Message, Task
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from services.gateway.core import errors
from services.gateway.entrypoints.a2a.calls import A2aCalls, Sent
from services.gateway.entrypoints.a2a.jsonrpc import Method
from services.gateway.entrypoints.a2a.replies import FAILED, INTERNAL_ERROR, error_body, fault_body, result_body
from services.gateway.entrypoints.a2a.wire import Shown, listed, sent_1_0, shown_0_3, shown_1_0
from services.gateway.entrypoints.edge.body import Call
from services.gateway.entrypoints.edge.door import let_in
from services.gateway.entrypoints.edge.kept_alive import JSON_BEAT, KeptAlive
from services.gateway.ports.tasks import StoreUnavailable
from shared.domain.words import Dialect

log = structlog.get_logger()
Word = Callable[[Task | Message], Shown]


class A2aRpc:
    def __init__(self, calls: A2aCalls) -> None:
        self._calls = calls

    def methods(self) -> Mapping[str, Method]:
        new, old = Dialect.A2A_1_0, Dialect.A2A_0_3
        return {
            "SendMessage": Method(new, self._send),
            "GetTask": Method(new, self._get),
            "CancelTask": Method(new, self._cancel),
            "ListTasks": Method(new, self._list),
            "message/send": Method(old, self._send_0_3),
            "tasks/get": Method(old, self._get_0_3),
            "tasks/cancel": Method(old, self._cancel_0_3),
        }

    async def _send(self, call: Call, request: Request) -> Response:
        sent = await self._calls.submit(call.params, Dialect.A2A_1_0, let_in(request))
        return self._kept_alive(call, sent, sent_1_0)

    async def _send_0_3(self, call: Call, request: Request) -> Response:
        sent = await self._calls.submit(call.params, Dialect.A2A_0_3, let_in(request))
        return self._kept_alive(call, sent, shown_0_3)

    async def _get(self, call: Call, request: Request) -> Response:
        return result(call, shown_1_0(await self._calls.task(call.params, Dialect.A2A_1_0, let_in(request))))

    async def _get_0_3(self, call: Call, request: Request) -> Response:
        return result(call, shown_0_3(await self._calls.task(call.params, Dialect.A2A_0_3, let_in(request))))

    async def _cancel(self, call: Call, request: Request) -> Response:
        return result(call, shown_1_0(await self._calls.cancel(call.params, let_in(request))))

    async def _cancel_0_3(self, call: Call, request: Request) -> Response:
        return result(call, shown_0_3(await self._calls.cancel(call.params, let_in(request))))

    async def _list(self, call: Call, request: Request) -> Response:
        return result(call, listed(shown_1_0, *await self._calls.tasks(call.params, let_in(request))))

    def _kept_alive(self, call: Call, sent: Sent, word: Word) -> Response:
        return KeptAlive(self._answer(call, sent, word), "application/json", JSON_BEAT)

    async def _answer(self, call: Call, sent: Sent, word: Word) -> AsyncGenerator[bytes, None]:
        try:
            body = result_body(call.call_id, word(await self._calls.answer(sent)))
        except (errors.Refusal, StoreUnavailable) as fault:
            yield fault_body(call.call_id, fault)
            return
        except Exception:  # the outermost edge of a request: the status has gone out already
            log.exception("request_failed", method=call.method)
            yield error_body(call.call_id, INTERNAL_ERROR, FAILED)
            return
        yield body


def result(call: Call, value: Shown) -> Response:
    return JSONResponse({"jsonrpc": "2.0", "id": call.call_id, "result": value})

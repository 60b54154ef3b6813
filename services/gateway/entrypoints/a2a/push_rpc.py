"""The JSON-RPC methods about webhooks, of all three protocols."""

from collections.abc import Awaitable, Callable, Mapping

from pydantic import JsonValue
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from services.gateway.entrypoints.a2a.jsonrpc import Method
from services.gateway.entrypoints.a2a.push_calls import PushCalls
from services.gateway.entrypoints.edge.body import Call
from services.gateway.entrypoints.edge.door import let_in
from services.gateway.ports.identity import Caller
from shared.domain.exact_json import JsonObject
from shared.domain.words import Dialect

Act = Callable[[JsonObject, Caller | None], Awaitable[JsonValue]]


def push_methods(calls: PushCalls) -> Mapping[str, Method]:
    return {
        "tasks/pushNotification/set": _method(Dialect.LEGACY, calls.set_legacy),
        "tasks/pushNotification/get": _method(Dialect.LEGACY, calls.get_legacy),
        "tasks/pushNotificationConfig/set": _method(Dialect.A2A_0_3, calls.set_0_3),
        "tasks/pushNotificationConfig/get": _method(Dialect.A2A_0_3, calls.get_0_3),
        "tasks/pushNotificationConfig/list": _method(Dialect.A2A_0_3, calls.list_0_3),
        "tasks/pushNotificationConfig/delete": _method(Dialect.A2A_0_3, calls.delete_0_3),
        "CreateTaskPushNotificationConfig": _method(Dialect.A2A_1_0, calls.create_1_0),
        "GetTaskPushNotificationConfig": _method(Dialect.A2A_1_0, calls.get_1_0),
        "ListTaskPushNotificationConfigs": _method(Dialect.A2A_1_0, calls.list_1_0),
        "DeleteTaskPushNotificationConfig": _method(Dialect.A2A_1_0, calls.delete_1_0),
    }


def _method(dialect: Dialect, act: Act) -> Method:
    async def answer(call: Call, request: Request) -> Response:
        """A result that is null is still a result: JSON-RPC wants the member."""
        value = await act(call.params, let_in(request))
        return JSONResponse({"jsonrpc": "2.0", "id": call.call_id, "result": value})

    return Method(dialect, answer)

"""The REST paths about webhooks, of both protocols."""

from collections.abc import Awaitable, Callable

from fastapi import APIRouter, Request
from pydantic import JsonValue
from starlette.responses import JSONResponse, Response

from services.gateway.entrypoints.a2a.push_calls import PushCalls
from services.gateway.entrypoints.a2a.rest import REST_0_3, REST_1_0, Binding, answered, query_of
from services.gateway.entrypoints.edge.body import check_content_type, read_object
from services.gateway.entrypoints.edge.door import let_in
from shared.domain.exact_json import JsonObject

_ALL = "/tasks/{task_id}/pushNotificationConfigs"
_ONE = _ALL + "/{config_id}"
_CONFIG = "pushNotificationConfig"


class A2aRestPush:
    def __init__(self, calls: PushCalls, max_body: int) -> None:
        self._calls, self._max_body = calls, max_body

    def routes(self) -> APIRouter:
        router = APIRouter()
        for method, path, handler in (
            ("POST", _ALL, self.create),
            ("GET", _ALL, self.listed),
            ("GET", _ONE, self.one),
            ("DELETE", _ONE, self.delete),
            ("POST", f"/v1{_ALL}", self.create_0_3),
            ("GET", f"/v1{_ALL}", self.listed_0_3),
            ("GET", f"/v1{_ONE}", self.one_0_3),
            ("DELETE", f"/v1{_ONE}", self.delete_0_3),
        ):
            router.add_api_route(path, handler, methods=[method], response_class=JSONResponse)
        return router

    async def create(self, task_id: str, request: Request) -> Response:
        """CreateTaskPushNotificationConfig of protocol 1.0."""

        async def act() -> JsonValue:
            params = {**await self._body(request), "taskId": task_id}
            return await self._calls.create_1_0(params, let_in(request))

        return await _shown(REST_1_0, request, act)

    async def listed(self, task_id: str, request: Request) -> Response:
        """ListTaskPushNotificationConfigs of protocol 1.0."""

        async def act() -> JsonValue:
            return await self._calls.list_1_0({**query_of(request), "taskId": task_id}, let_in(request))

        return await _shown(REST_1_0, request, act)

    async def one(self, task_id: str, config_id: str, request: Request) -> Response:
        """GetTaskPushNotificationConfig of protocol 1.0."""

        async def act() -> JsonValue:
            return await self._calls.get_1_0({"taskId": task_id, "id": config_id}, let_in(request))

        return await _shown(REST_1_0, request, act)

    async def delete(self, task_id: str, config_id: str, request: Request) -> Response:
        """DeleteTaskPushNotificationConfig of protocol 1.0."""

        async def act() -> JsonValue:
            return await self._calls.delete_1_0({"taskId": task_id, "id": config_id}, let_in(request))

        return await _shown(REST_1_0, request, act)

    async def create_0_3(self, task_id: str, request: Request) -> Response:
        """tasks/pushNotificationConfig/set of protocol 0.3."""

        async def act() -> JsonValue:
            params: JsonObject = {"taskId": task_id, _CONFIG: _config_in(await self._body(request))}
            return _named(await self._calls.set_0_3(params, let_in(request)))

        return await _shown(REST_0_3, request, act)

    async def listed_0_3(self, task_id: str, request: Request) -> Response:
        """tasks/pushNotificationConfig/list of protocol 0.3."""

        async def act() -> JsonValue:
            found = await self._calls.list_0_3({"id": task_id}, let_in(request))
            return {"configs": [_named(one) for one in found if isinstance(one, dict)]}

        return await _shown(REST_0_3, request, act)

    async def one_0_3(self, task_id: str, config_id: str, request: Request) -> Response:
        """tasks/pushNotificationConfig/get of protocol 0.3."""

        async def act() -> JsonValue:
            params: JsonObject = {"id": task_id, f"{_CONFIG}Id": config_id}
            return _named(await self._calls.get_0_3(params, let_in(request)))

        return await _shown(REST_0_3, request, act)

    async def delete_0_3(self, task_id: str, config_id: str, request: Request) -> Response:
        """tasks/pushNotificationConfig/delete of protocol 0.3."""

        async def act() -> JsonValue:
            await self._calls.delete_0_3({"id": task_id, f"{_CONFIG}Id": config_id}, let_in(request))
            return {}

        return await _shown(REST_0_3, request, act)

    async def _body(self, request: Request) -> JsonObject:
        check_content_type(request)
        return await read_object(request, self._max_body)


async def _shown(binding: Binding, request: Request, act: Callable[[], Awaitable[JsonValue]]) -> Response:
    async def answer() -> Response:
        return JSONResponse(await act(), media_type=binding.media_type)

    return await answered(binding, request, answer)


def _config_in(body: JsonObject) -> JsonObject:
    """0.3's REST wraps it twice (``{"config": {"pushNotificationConfig": ...}}``); some clients send it as it is."""
    config = body.get("config", body)
    inner = config.get(_CONFIG, config) if isinstance(config, dict) else body
    return inner if isinstance(inner, dict) else body


def _named(config: dict[str, JsonValue]) -> dict[str, JsonValue]:
    """With the name that 0.3's REST gives a webhook: the path where it is found."""
    inner = config.get(_CONFIG)
    config_id = inner.get("id") if isinstance(inner, dict) else None
    return {"name": f"tasks/{config.get('taskId')}/pushNotificationConfigs/{config_id}", _CONFIG: inner}

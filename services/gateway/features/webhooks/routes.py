"""How webhooks fare: of one task, and what fails of a tenant; and what a tenant's receivers verify with."""

from collections.abc import Awaitable, Callable

from fastapi import APIRouter, Request
from pydantic import JsonValue
from starlette.responses import JSONResponse, Response

from services.gateway.edge.body import read_object
from services.gateway.edge.errors import InvalidField, NotAnOperator, NoVisibleTask, PushUnsupported
from services.gateway.edge.fields import object_at
from services.gateway.edge.replies import Statuses, kinds, refusal_reply
from services.gateway.features.identity.middleware import let_in
from services.gateway.features.identity.model import Identity
from services.gateway.features.webhooks.config import delivery_view, failing_view
from services.gateway.features.webhooks.service import WebhookService
from shared.ports.store import StoreUnavailable

_STATUS: Statuses = {
    InvalidField: 400,
    NotAnOperator: 403,
    NoVisibleTask: 404,
    PushUnsupported: 404,
    StoreUnavailable: 503,
}


class WebhookEndpoints:
    def __init__(self, desk: WebhookService, identity: Identity, max_body: int) -> None:
        self._desk, self._identity, self._max_body = desk, identity, max_body

    def routes(self) -> APIRouter:
        router = APIRouter()
        router.add_api_route("/tasks/{task_id}/webhooks", self.of_task, methods=["GET"], response_class=JSONResponse)
        router.add_api_route("/webhooks", self.failing, methods=["GET"], response_class=JSONResponse)
        router.add_api_route("/webhooks/secret", self.secret, methods=["POST"], response_class=JSONResponse)
        return router

    async def of_task(self, task_id: str, request: Request) -> Response:
        """The task's webhooks: active, failing or disabled, how much was delivered, and the last error."""

        async def act() -> dict[str, JsonValue]:
            caller = self._identity.caller_of(let_in(request), {})
            return {"webhooks": [delivery_view(one) for one in await self._desk.list_webhooks(task_id, caller)]}

        return await _answer_with(act)

    async def failing(self, request: Request) -> Response:
        """What fails of the tenant's webhooks and notices, or was given up, the newest first."""

        async def act() -> dict[str, JsonValue]:
            caller = self._identity.caller_of(let_in(request), {})
            return {"failing": [failing_view(one) for one in await self._desk.failing(caller)]}

        return await _answer_with(act)

    async def secret(self, request: Request) -> Response:
        """``{"metadata"}``; for operators: what the tenant's receivers verify signatures with, the newest first."""

        async def act() -> dict[str, JsonValue]:
            body = await read_object(request, self._max_body, may_be_empty=True)
            caller = self._identity.caller_of(let_in(request), object_at(body, "metadata", "metadata"))
            return {"tenant": caller.tenant, "secrets": [*self._desk.secrets(caller)]}

        return await _answer_with(act)


async def _answer_with(act: Callable[[], Awaitable[dict[str, JsonValue]]]) -> Response:
    try:
        return JSONResponse(await act(), headers={"Cache-Control": "no-store"})
    except kinds(_STATUS) as fault:
        return refusal_reply(fault, _STATUS)

"""Routes on webhooks: those of a task, a tenant's that fail, and the secrets its receivers verify with."""

from fastapi import APIRouter
from pydantic import JsonValue
from starlette.responses import JSONResponse, Response

from services.gateway.features.identity.api_paths import ApiCall, ApiPath, ApiRouterFactory, PathRules
from services.gateway.features.webhooks.model import delivery_view, failing_view
from services.gateway.features.webhooks.service import WebhookService


class WebhookEndpoints:
    def __init__(self, service: WebhookService) -> None:
        self._service = service

    def routes(self, own: ApiRouterFactory) -> APIRouter:
        return own.router(
            ApiPath("GET", "/tasks/{task_id}/webhooks", self.of_task),
            ApiPath("GET", "/webhooks", self.failing),
            ApiPath("POST", "/webhooks/secret", self.secret),
            rules=PathRules(may_be_empty=True),
        )

    async def of_task(self, call: ApiCall) -> Response:
        """Show the task's webhooks: active, failing or disabled, how much was delivered, and the last error."""
        webhooks = await self._service.list_webhooks(call.path_word("task_id"), call.caller)
        return _answer({"webhooks": [delivery_view(one) for one in webhooks]})

    async def failing(self, call: ApiCall) -> Response:
        """List what fails of the tenant's webhooks and notices, or was given up, the newest first."""
        self._service.check_may_see_all(call.caller)
        return _answer({"failing": [failing_view(one) for one in await self._service.failing(call.caller)]})

    async def secret(self, call: ApiCall) -> Response:
        """Show what the tenant's receivers verify signatures with, the newest first."""
        return _answer({"tenant": call.caller.tenant, "secrets": [*self._service.secrets(call.caller)]})


def _answer(said: dict[str, JsonValue]) -> Response:
    return JSONResponse(said, headers={"Cache-Control": "no-store"})

"""``/webhooks/secret``: the secrets with which a tenant's receivers verify webhooks."""

from fastapi import APIRouter
from pydantic import JsonValue
from starlette.responses import JSONResponse, Response

from services.gateway.features.identity.api_paths import ApiCall, ApiPath, ApiRouterFactory, PathRules
from services.gateway.features.webhooks.service import WebhookService


class WebhookEndpoints:
    def __init__(self, service: WebhookService) -> None:
        self._service = service

    def routes(self, own: ApiRouterFactory) -> APIRouter:
        rules = PathRules(may_be_empty=True, operators=True)
        return own.router(ApiPath("POST", "/webhooks/secret", self.secret), rules=rules)

    async def secret(self, call: ApiCall) -> Response:
        """Show the secrets with which the tenant's receivers verify webhooks, the newest first."""
        tenant = call.caller.tenant
        found: dict[str, JsonValue] = {"tenant": tenant, "secrets": [*self._service.secrets_of(tenant)]}
        return JSONResponse(found, headers={"Cache-Control": "no-store"})

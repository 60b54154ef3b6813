"""``/webhooks/secret``: the secrets with which a tenant's receivers verify webhooks."""

from pydantic import JsonValue
from starlette.responses import JSONResponse, Response

from services.gateway.features.identity.api_paths import ApiCall, ApiEndpoints, api_path
from services.gateway.features.webhooks.service import WebhookService


class WebhookEndpoints(ApiEndpoints[WebhookService]):
    requires_operator = True

    @api_path("POST", "/webhooks/secret")
    async def show_secrets(self, call: ApiCall) -> Response:
        """Show the secrets with which the tenant's receivers verify webhooks, the newest first."""
        tenant = call.caller.tenant
        webhooks: dict[str, JsonValue] = {"tenant": tenant, "secrets": [*self._service.list_secrets(tenant)]}
        return JSONResponse(webhooks, headers={"Cache-Control": "no-store"})

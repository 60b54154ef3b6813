"""``/keys``: an operator makes a tenant's API keys, lists them, revokes one."""

from fastapi import APIRouter
from pydantic import JsonValue
from starlette.responses import JSONResponse, Response

from services.gateway.edge.fields import object_at
from services.gateway.features.identity.api_keys import KeyService, key_view, read_wish
from services.gateway.features.identity.api_paths import ApiCall, ApiPath, ApiRouterFactory, PathRules

_SECRET = {"Cache-Control": "no-store"}  # the one answer with a key's secret in it


class KeyEndpoints:
    def __init__(self, service: KeyService) -> None:
        self._service = service

    def routes(self, own: ApiRouterFactory) -> APIRouter:
        return own.router(
            ApiPath("POST", "/keys/create", self.create),
            ApiPath("POST", "/keys/list", self.list_all),
            ApiPath("POST", "/keys/{key_id}/revoke", self.revoke),
            rules=PathRules(operators=True),
        )

    async def create(self, call: ApiCall) -> Response:
        """Make an API key; 201 with the key and its token.

        ``{"key": {"principal", "roles", "levels", "label", "days"}, "metadata"}``.
        The token is in this answer and nowhere else.
        """
        made, now = await self._service.create(read_wish(object_at(call.body, "key", "key")), call.caller)
        return JSONResponse({**key_view(made.key, now), "token": made.token}, 201, _SECRET)

    async def list_all(self, call: ApiCall) -> JsonValue:
        """List the tenant's API keys, the newest first, without their secrets."""
        keys, now = await self._service.list_keys(call.caller)
        return {"keys": [key_view(key, now) for key in keys]}

    async def revoke(self, call: ApiCall) -> JsonValue:
        """Revoke an API key: it lets nobody in any more."""
        return key_view(*await self._service.revoke(call.path_word("key_id"), call.caller))

"""``/keys``: operators create, list and revoke their tenant's API keys."""

from collections.abc import Callable

from fastapi import APIRouter
from pydantic import JsonValue
from starlette.responses import JSONResponse, Response

from services.gateway.edge.errors import NotFound
from services.gateway.edge.fields import object_at
from services.gateway.features.identity.api_keys import NewKeyValues, key_view, make_key, parse_key_request
from services.gateway.features.identity.api_paths import ApiCall, ApiPath, ApiRouterFactory, PathRules
from services.gateway.features.identity.store import Keyring

_SECRET = {"Cache-Control": "no-store"}  # the one answer with a key's secret in it


class KeyEndpoints:
    def __init__(self, keyring: Keyring, fresh: Callable[[], NewKeyValues]) -> None:
        self._keyring, self._fresh = keyring, fresh

    def routes(self, own: ApiRouterFactory) -> APIRouter:
        return own.router(
            ApiPath("POST", "/keys/create", self.create),
            ApiPath("POST", "/keys/list", self.list_all),
            ApiPath("POST", "/keys/{key_id}/revoke", self.revoke),
            rules=PathRules(operators=True),
        )

    async def create(self, call: ApiCall) -> Response:
        """Create an API key: ``{"key": {"principal", "roles", "levels", "label", "days"}, "metadata"}``.

        201 with the key and its token. The token is shown in this answer only.
        """
        fresh, wish = self._fresh(), parse_key_request(object_at(call.body, "key", "key"))
        made = make_key(wish, call.caller.tenant, call.caller.principal.id, fresh)
        await self._keyring.add(made.key)
        return JSONResponse({**key_view(made.key, fresh.now), "token": made.token}, 201, _SECRET)

    async def list_all(self, call: ApiCall) -> JsonValue:
        """List the tenant's API keys, the newest first, without their secrets."""
        # Revoked and expired ones too, while they are stored.
        keys, now = await self._keyring.keys_of(call.caller.tenant), self._fresh().now
        newest_first = sorted(keys, key=lambda key: key.created_at, reverse=True)
        return {"keys": [key_view(key, now) for key in newest_first]}

    async def revoke(self, call: ApiCall) -> JsonValue:
        """Revoke an API key: from now on it is refused."""
        key_id, now = call.path_value("key_id"), self._fresh().now
        key = await self._keyring.find(key_id)
        if key is None or key.tenant != call.caller.tenant:
            raise NotFound(f"key {key_id!r}")
        await self._keyring.revoke(key, now)  # a repeat changes nothing
        return key_view(await self._keyring.find(key_id) or key, now)

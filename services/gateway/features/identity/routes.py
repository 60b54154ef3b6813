"""``/keys``: operators create, list and revoke their tenant's API keys."""

from datetime import UTC, datetime

from pydantic import JsonValue
from starlette.responses import JSONResponse, Response

from services.gateway.edge.errors import NotFound
from services.gateway.edge.fields import object_at
from services.gateway.features.identity.api_keys import build_key_view, generate_key_values, make_key, parse_key_request
from services.gateway.features.identity.api_paths import ApiCall, ApiEndpoints, PathRules, api_path
from services.gateway.features.identity.store import Keyring

_NO_STORE_HEADERS = {"Cache-Control": "no-store"}  # the one answer with a key's secret in it


class KeyEndpoints(ApiEndpoints[Keyring]):
    rules = PathRules(requires_operator=True)

    @api_path("POST", "/keys/create")
    async def create(self, call: ApiCall) -> Response:
        """Create an API key: ``{"key": {"principal", "roles", "levels", "label", "days"}, "metadata"}``.

        201 with the key and its token. The token is shown in this answer only.
        """
        generated, request = generate_key_values(), parse_key_request(object_at(call.body, "key", "key"))
        created = make_key(request, call.caller.tenant, call.caller.principal.id, generated)
        await self._service.add(created.key)
        return JSONResponse(
            {**build_key_view(created.key, generated.now), "token": created.token}, 201, _NO_STORE_HEADERS
        )

    @api_path("POST", "/keys/list")
    async def list_all(self, call: ApiCall) -> JsonValue:
        """List the tenant's API keys, the newest first, without their secrets."""
        # Revoked and expired ones too, while they are stored.
        keys, now = await self._service.list_keys(call.caller.tenant), datetime.now(UTC)
        newest_first = sorted(keys, key=lambda key: key.created_at, reverse=True)
        return {"keys": [build_key_view(key, now) for key in newest_first]}

    @api_path("POST", "/keys/{key_id}/revoke")
    async def revoke(self, call: ApiCall) -> JsonValue:
        """Revoke an API key: from now on it is refused."""
        key_id, now = call.path_value("key_id"), datetime.now(UTC)
        key = await self._service.find(key_id)
        if key is None or key.tenant != call.caller.tenant:
            raise NotFound(f"key {key_id!r}")
        await self._service.revoke(key, now)  # a repeat changes nothing
        return build_key_view(await self._service.find(key_id) or key, now)

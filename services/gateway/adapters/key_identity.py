"""Identity by API key: ``Authorization: Bearer`` or ``X-API-Key``."""

from collections.abc import Callable, Mapping
from datetime import datetime

from typing_extensions import override

from services.gateway.core.api_keys import holder, opens, split
from services.gateway.core.errors import Unauthenticated
from services.gateway.core.identity import check_claim
from services.gateway.ports import Caller, Identity, Keyring
from shared.domain.exact_json import JsonObject

_BEARER = "bearer "


class KeyIdentity(Identity):
    def __init__(self, keyring: Keyring, clock: Callable[[], datetime]) -> None:
        self._keyring, self._clock = keyring, clock

    @override
    async def at_the_door(self, headers: Mapping[str, str]) -> Caller:
        token = _token(headers)
        if token is None:
            raise Unauthenticated("an API key is needed, as in Authorization: Bearer pa_...")
        parts = split(token)
        key = await self._keyring.find(parts[0]) if parts else None
        if key is None or parts is None or not opens(key, parts[1], self._clock()):
            raise Unauthenticated("the API key is unknown, expired or revoked")
        return holder(key)

    @override
    def caller_of(self, let_in: Caller | None, metadata: JsonObject) -> Caller:
        if let_in is None:
            raise Unauthenticated("the request did not come through the door")
        check_claim(let_in.principal, metadata)
        return let_in


def _token(headers: Mapping[str, str]) -> str | None:
    given = headers.get("authorization", "")
    if given.lower().startswith(_BEARER):
        return given[len(_BEARER) :].strip()
    return headers.get("x-api-key")

"""Identity by an API key or by a token: what is presented tells which of them it is."""

from collections.abc import Mapping

from typing_extensions import override

from services.gateway.core.errors import Unauthenticated
from services.gateway.core.identity.api_keys import PREFIX
from services.gateway.ports.identity import Admitted, Caller, Errand, Identity
from shared.domain.exact_json import JsonObject


class EitherIdentity(Identity):
    def __init__(self, keys: Identity, tokens: Identity) -> None:
        self._keys, self._tokens = keys, tokens

    @override
    async def at_the_door(self, headers: Mapping[str, str]) -> Caller | None:
        return await self._of(headers).at_the_door(headers)

    @override
    async def admit(self, headers: Mapping[str, str], errand: Errand) -> Admitted:
        return await self._of(headers).admit(headers, errand)

    @override
    def caller_of(self, let_in: Caller | None, metadata: JsonObject) -> Caller:
        return self._keys.caller_of(let_in, metadata)

    def _of(self, headers: Mapping[str, str]) -> Identity:
        given = headers.get("authorization", "")
        if not given and "x-api-key" not in headers:
            raise Unauthenticated("an API key or a token is needed, as in Authorization: Bearer pa_... or eyJ...")
        is_key = not given or given.split(" ")[-1].startswith(f"{PREFIX}_")
        return self._keys if is_key else self._tokens

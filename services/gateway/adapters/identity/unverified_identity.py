"""Identity where callers need no key: they are who they say, and it shows that nobody checked."""

from collections.abc import Mapping

from typing_extensions import override

from services.gateway.core.identity.roles import DEFAULT_TENANT, claimed_principal
from services.gateway.ports.identity import Caller, Identity
from shared.domain.exact_json import JsonObject


class UnverifiedIdentity(Identity):
    @override
    async def at_the_door(self, headers: Mapping[str, str]) -> None:
        return None

    @override
    def caller_of(self, let_in: Caller | None, metadata: JsonObject) -> Caller:
        return Caller(DEFAULT_TENANT, claimed_principal(metadata))

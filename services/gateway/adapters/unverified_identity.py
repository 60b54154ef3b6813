"""Identity where callers need no key: they are who they say, and it shows that nobody checked."""

from collections.abc import Mapping

from typing_extensions import override

from services.gateway.core.identity import DEFAULT_TENANT, claimed_principal
from services.gateway.ports import Caller, Identity
from shared.domain.exact_json import JsonObject


class UnverifiedIdentity(Identity):
    @override
    def caller_of(self, headers: Mapping[str, str], metadata: JsonObject) -> Caller:
        return Caller(DEFAULT_TENANT, claimed_principal(metadata))

"""Callers known by their API keys, by either a key or a token, or by name alone."""

from collections.abc import Callable, Mapping
from datetime import datetime
from functools import partial

from typing_extensions import override

from services.gateway.edge.errors import RateStanding, Unauthenticated
from services.gateway.edge.limits import RequestCost
from services.gateway.features.identity.api_keys import PREFIX, digest_of, holder, opens, split
from services.gateway.features.identity.middleware import check
from services.gateway.features.identity.model import AdmittedCaller, Allowance, Caller, Identity, RateMeter
from services.gateway.features.identity.roles import DEFAULT_TENANT, check_claim, claimed_principal
from shared.domain.exact_json import JsonObject


class UnverifiedIdentity(Identity):
    @override
    async def identify(self, headers: Mapping[str, str]) -> None:
        return None

    @override
    def caller_of(self, let_in: Caller | None, metadata: JsonObject) -> Caller:
        return Caller(DEFAULT_TENANT, claimed_principal(metadata))


_BEARER = "bearer "


class KeyIdentity(Identity):
    """``usual`` is what a key may ask for that has no allowance of its own."""

    def __init__(self, meter: RateMeter, clock: Callable[[], datetime], usual: Allowance) -> None:
        self._meter, self._clock, self._usual = meter, clock, usual

    @override
    async def identify(self, headers: Mapping[str, str]) -> Caller | None:
        return (await self.admit(headers, RequestCost.LOOK)).caller

    @override
    async def admit(self, headers: Mapping[str, str], cost: RequestCost) -> AdmittedCaller:
        token = _token(headers)
        if token is None:
            raise Unauthenticated("an API key is needed, as in Authorization: Bearer pa_...")
        parts = split(token)
        if parts is None:
            raise _unknown_key()
        key_id, digest = parts[0], digest_of(parts[1])
        key, standing = await self._meter.of_key(key_id, digest, cost, self._usual)
        if key is None or not opens(key, parts[1], self._clock()):
            raise _unknown_key()
        return AdmittedCaller(holder(key), check(standing), partial(self._count_message, key_id, digest))

    @override
    def caller_of(self, let_in: Caller | None, metadata: JsonObject) -> Caller:
        if let_in is None:
            raise Unauthenticated("nobody checked who sends the request")
        check_claim(let_in.principal, metadata)
        return let_in

    async def _count_message(self, key_id: str, digest: str) -> RateStanding:
        _, standing = await self._meter.of_key(key_id, digest, RequestCost.MESSAGE, self._usual)
        return check(standing)


def _unknown_key() -> Unauthenticated:
    return Unauthenticated("the API key is unknown, expired or revoked")


def _token(headers: Mapping[str, str]) -> str | None:
    given = headers.get("authorization", "")
    if given.lower().startswith(_BEARER):
        return given[len(_BEARER) :].strip()
    return headers.get("x-api-key")


class EitherIdentity(Identity):
    def __init__(self, keys: Identity, tokens: Identity) -> None:
        self._keys, self._tokens = keys, tokens

    @override
    async def identify(self, headers: Mapping[str, str]) -> Caller | None:
        return await self._identity_for(headers).identify(headers)

    @override
    async def admit(self, headers: Mapping[str, str], cost: RequestCost) -> AdmittedCaller:
        return await self._identity_for(headers).admit(headers, cost)

    @override
    def caller_of(self, let_in: Caller | None, metadata: JsonObject) -> Caller:
        return self._keys.caller_of(let_in, metadata)

    def _identity_for(self, headers: Mapping[str, str]) -> Identity:
        given = headers.get("authorization", "")
        if not given and "x-api-key" not in headers:
            raise Unauthenticated("an API key or a token is needed, as in Authorization: Bearer pa_... or eyJ...")
        is_key = not given or given.split(" ")[-1].startswith(f"{PREFIX}_")
        return self._keys if is_key else self._tokens

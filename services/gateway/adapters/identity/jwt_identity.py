"""Identity by a bearer token that an issuer signed (JWT): verified by its published keys, read by its claims."""

from collections.abc import Mapping
from functools import partial
from typing import NamedTuple, cast

import jwt
from jwt import exceptions as faults
from typing_extensions import override

from services.gateway.adapters.identity.signing_keys import SigningKeys
from services.gateway.core.errors import Unauthenticated
from services.gateway.core.identity.claims import ClaimNames, caller_in
from services.gateway.core.identity.roles import check_claim
from services.gateway.core.tasks.admission import check
from services.gateway.ports.identity import Admitted, Allowance, Caller, Errand, Identity, Meter, Standing
from shared.domain.exact_json import JsonObject

_BEARER = "bearer "
_LONGEST = 16 * 1024
_REQUIRED = ["exp", "iss", "aud"]
_UNREADABLE = (faults.PyJWTError, RecursionError, OverflowError)  # the last two by JSON that is too deep, or too large
_SAID: tuple[tuple[type[Exception], str], ...] = (
    (faults.ExpiredSignatureError, "the token has expired"),
    (faults.ImmatureSignatureError, "the token is not valid yet"),
    (faults.InvalidAudienceError, "the token is meant for another audience"),
    (faults.InvalidIssuerError, "the token comes from another issuer"),
    (faults.InvalidSignatureError, "the token's signature is wrong"),
)


class Expected(NamedTuple):
    """``leeway``: seconds by which clocks may differ."""

    issuer: str
    audiences: tuple[str, ...]
    leeway: float = 30


class JwtIdentity(Identity):
    """``usual`` is what each principal may ask for, whatever tokens it presents."""

    def __init__(
        self, keys: SigningKeys, expected: Expected, names: ClaimNames, meter: Meter, usual: Allowance
    ) -> None:
        self._keys, self._expected, self._names = keys, expected, names
        self._meter, self._usual = meter, usual

    @override
    async def admit(self, headers: Mapping[str, str], errand: Errand) -> Admitted:
        caller = await self.at_the_door(headers)
        standing = await self._meter.of_bearer(caller, errand, self._usual) if any(self._usual) else Standing()
        return Admitted(caller, check(standing), partial(self._count_message, caller))

    @override
    async def at_the_door(self, headers: Mapping[str, str]) -> Caller:
        """Raises ``Unauthenticated``, ``NotEntitled`` and ``IssuerUnavailable``."""
        given = headers.get("authorization", "")
        if not given.lower().startswith(_BEARER):
            raise Unauthenticated("a token is needed, as in Authorization: Bearer eyJ...")
        return await self.bearer_of(given[len(_BEARER) :].strip())

    async def bearer_of(self, token: str) -> Caller:
        """Who may present that token; the same errors."""
        algorithm, kid = _header(token)
        key = await self._keys.find(kid, algorithm)
        if key is None:
            raise Unauthenticated("the token is signed by a key or an algorithm that its issuer does not publish")
        return caller_in(self._verified(token, key.key, algorithm), self._names)

    @override
    def caller_of(self, let_in: Caller | None, metadata: JsonObject) -> Caller:
        if let_in is None:
            raise Unauthenticated("the request did not come through the door")
        check_claim(let_in.principal, metadata)
        return let_in

    async def _count_message(self, caller: Caller) -> Standing:
        if not any(self._usual):
            return Standing()
        return check(await self._meter.of_bearer(caller, Errand.MESSAGE, self._usual))

    def _verified(self, token: str, key: object, algorithm: str) -> JsonObject:
        """The claims. The algorithm is one that the key's kind permits, whatever else the token's header says."""
        try:
            claims = jwt.decode(
                token,
                cast("jwt.PyJWK", key),
                algorithms=[algorithm],
                audience=self._expected.audiences,
                issuer=self._expected.issuer,
                leeway=self._expected.leeway,
                options={"require": _REQUIRED},
            )
        except faults.MissingRequiredClaimError as fault:
            raise Unauthenticated(f"the token has no claim {fault.claim!r}") from None
        except _UNREADABLE as fault:
            raise Unauthenticated(_sentence(fault)) from None
        return cast(JsonObject, claims)


def _header(token: str) -> tuple[str, str | None]:
    """The algorithm and the key's id that a token names, neither of which is believed."""
    if len(token) > _LONGEST:
        raise Unauthenticated(f"the token is longer than {_LONGEST} characters")
    try:
        header = jwt.get_unverified_header(token)
    except _UNREADABLE:
        raise Unauthenticated("the token cannot be read") from None
    kid = header.get("kid")
    return str(header.get("alg")), str(kid) if kid is not None else None


def _sentence(fault: Exception) -> str:
    return next((said for kind, said in _SAID if isinstance(fault, kind)), "the token cannot be verified")

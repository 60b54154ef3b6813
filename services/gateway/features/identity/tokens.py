"""Identifies callers by the tokens (JWT) of an issuer."""

from collections.abc import Mapping
from functools import partial
from typing import cast

import jwt
from jwt import exceptions as faults

from services.gateway.edge.errors import NotEntitled, RateLimitStatus, Unauthenticated
from services.gateway.edge.fields import MAX_ID_LENGTH
from services.gateway.features.identity import model as identity
from services.gateway.features.identity.middleware import require_unused_limits
from services.gateway.features.identity.settings import IdentitySettings
from services.gateway.features.identity.signing_keys import SigningKeys
from services.gateway.features.identity.store import RateMeter
from shared.contracts.task import Principal
from shared.domain.exact_json import Json, JsonObject
from shared.domain.words import EscalationLevel, Role


def build_caller_from_claims(claims: JsonObject, settings: IdentitySettings) -> identity.Caller:
    """The caller that a token's claims name; raises ``NotEntitled``, which names a missing or wrong claim."""
    tenant = settings.jwt_tenant or _read_text_claim(claims, settings.jwt_tenant_claim, "tenant")
    principal_id = _read_text_claim(claims, settings.jwt_principal_claim, "principal")
    roles, levels = _read_roles(claims, settings), _read_escalation_levels(claims, settings)
    return identity.Caller(tenant, Principal(id=principal_id, roles=roles, levels=levels, verified=True))


def _read_text_claim(claims: JsonObject, name: str, meaning: str) -> str:
    value = _find_claim(claims, name)
    if isinstance(value, str) and 0 < len(value) <= MAX_ID_LENGTH and value.isprintable():
        return value
    problem = "is missing" if value is None else f"must be 1 to {MAX_ID_LENGTH} printable characters"
    raise NotEntitled(f"the token names no {meaning}: its claim {name!r} {problem}")


def _read_roles(claims: JsonObject, settings: IdentitySettings) -> tuple[Role, ...]:
    """This product's roles in the token's roles; raises ``NotEntitled`` if there are none."""
    roles_by_word = {f"{settings.jwt_roles_prefix}{role.value}": role for role in Role}
    words = _read_words_claim(claims, settings.jwt_roles_claim)
    roles = tuple(dict.fromkeys(roles_by_word[word] for word in words if word in roles_by_word))
    if not roles:
        claim = f"its claim {settings.jwt_roles_claim!r} must name one of {', '.join(roles_by_word)}"
        raise NotEntitled(f"the token gives no role here: {claim}")
    return roles


def _read_escalation_levels(claims: JsonObject, settings: IdentitySettings) -> tuple[str, ...]:
    """The levels at which the token's holder may approve. Raises ``NotEntitled`` for an unknown level."""
    try:
        return tuple(
            dict.fromkeys(
                EscalationLevel.parse(word).word for word in _read_words_claim(claims, settings.jwt_levels_claim)
            )
        )
    except ValueError as error:
        raise NotEntitled(f"the token's claim {settings.jwt_levels_claim!r} cannot be used: {error}") from None


def _read_words_claim(claims: JsonObject, name: str) -> list[str]:
    """The words in a claim: a list of texts, or one text with spaces, like ``scope``. Raises ``NotEntitled``."""
    value = _find_claim(claims, name)
    if isinstance(value, str):
        return value.split()
    if isinstance(value, list) and all(isinstance(word, str) for word in value):
        return [str(word) for word in value]
    if value is None:
        return []
    raise NotEntitled(f"the token's claim {name!r} must be a list of texts, or one text")


def _find_claim(claims: JsonObject, name: str) -> Json:
    """The value of a claim: by its whole name (often a URL), else by the dots in its name; None if absent."""
    if name in claims:
        return claims[name]
    value: Json = claims
    for step in name.split("."):
        value = value.get(step) if isinstance(value, dict) else None
    return value


_LONGEST_TOKEN = 16 * 1024
_REQUIRED_CLAIMS = ["exp", "iss", "aud"]
_TOKEN_ERRORS = (faults.PyJWTError, RecursionError, OverflowError)  # the last two: JSON that is too deep, or too large
_ERROR_SENTENCES: tuple[tuple[type[Exception], str], ...] = (
    (faults.ExpiredSignatureError, "the token has expired"),
    (faults.ImmatureSignatureError, "the token is not valid yet"),
    (faults.InvalidAudienceError, "the token is meant for another audience"),
    (faults.InvalidIssuerError, "the token comes from another issuer"),
    (faults.InvalidSignatureError, "the token's signature is wrong"),
)


class JwtIdentity(identity.Identity):
    """Identifies callers by bearer tokens. Each principal has the rate limits of the settings."""

    def __init__(self, keys: SigningKeys, settings: IdentitySettings, meter: RateMeter) -> None:
        self._keys = keys
        self._settings = settings
        self._meter = meter
        self._default_allowance = settings.allowance

    async def admit(self, headers: Mapping[str, str], use: identity.LimitUse) -> identity.AdmittedCaller:
        """Identifies the holder of a bearer token as the caller, and counts the request against its limits. Raises as
        ``Identity.admit``, and ``NotEntitled`` and ``IssuerUnavailable``.
        """
        token = identity.read_bearer_token(headers)
        if token is None:
            raise Unauthenticated("a token is needed, as in Authorization: Bearer eyJ...")
        caller = await self.caller_of_token(token)
        count_message = partial(self._count_request, caller, identity.LimitUse.MESSAGE)
        return identity.AdmittedCaller(caller, await self._count_request(caller, use), count_message)

    async def caller_of_token(self, token: str) -> identity.Caller:
        """Verify a token and return its caller; raises as ``admit`` does."""
        algorithm, kid = _read_token_header(token)
        key = await self._keys.find_key(kid, algorithm)
        if key is None:
            raise Unauthenticated("the token is signed by a key or an algorithm that its issuer does not publish")
        return build_caller_from_claims(self._verify_token(token, key.key, algorithm), self._settings)

    async def _count_request(self, caller: identity.Caller, use: identity.LimitUse) -> RateLimitStatus:
        if use is identity.LimitUse.UNCOUNTED or not any(self._default_allowance):
            return RateLimitStatus()
        return require_unused_limits(await self._meter.count_request_of_bearer(caller, use, self._default_allowance))

    def _verify_token(self, token: str, key: object, algorithm: str) -> JsonObject:
        """Verify a token's signature, issuer, audience and times; returns its claims. Raises ``Unauthenticated``."""
        try:
            claims = jwt.decode(
                token,
                cast("jwt.PyJWK", key),
                algorithms=[algorithm],
                audience=self._settings.jwt_audience,
                issuer=self._settings.jwt_issuer,
                leeway=self._settings.jwt_leeway,
                options={"require": _REQUIRED_CLAIMS},
            )
        except faults.MissingRequiredClaimError as fault:
            raise Unauthenticated(f"the token has no claim {fault.claim!r}") from None
        except _TOKEN_ERRORS as fault:
            sentences = (sentence for kind, sentence in _ERROR_SENTENCES if isinstance(fault, kind))
            raise Unauthenticated(next(sentences, "the token cannot be verified")) from None
        return cast(JsonObject, claims)


def _read_token_header(token: str) -> tuple[str, str | None]:
    """The algorithm and key id in a token's unverified header; raises ``Unauthenticated``."""
    if len(token) > _LONGEST_TOKEN:
        raise Unauthenticated(f"the token is longer than {_LONGEST_TOKEN} characters")
    try:
        header = jwt.get_unverified_header(token)
    except _TOKEN_ERRORS:
        raise Unauthenticated("the token cannot be read") from None
    kid = header.get("kid")
    return str(header.get("alg")), str(kid) if kid is not None else None

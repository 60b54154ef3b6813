"""API keys: how they are made, written and checked. A key reads ``pa_<id>_<secret>``."""

import hmac
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial
from hashlib import sha256
from typing import NamedTuple

from pydantic import JsonValue
from typing_extensions import override

from services.gateway.edge.errors import InvalidField, RateLimitStatus, Unauthenticated
from services.gateway.edge.fields import count_at, required_id_at, short_text_at
from services.gateway.features.identity import model as identity
from services.gateway.features.identity.middleware import check
from shared.contracts.api_key import ApiKey
from shared.contracts.task import Principal
from shared.domain.exact_json import JsonObject
from shared.domain.words import Role

PREFIX = "pa"
_LONGEST_LABEL = 200
_MOST_DAYS = 3650
_MOST_LIMIT = 1_000_000_000
_WARNING = timedelta(days=14)
LIMITS = ("requests_a_minute", "messages_a_minute", "messages_a_day")


class KeyRequest(NamedTuple):
    """The properties of a key to be made."""

    principal_id: str
    roles: tuple[Role, ...] = (Role.CLIENT,)
    levels: tuple[str, ...] = ()
    label: str = ""
    days: int | None = None  # how long it is good; None is until it is revoked
    requests_a_minute: int | None = None  # None is as usual, 0 is without limit
    messages_a_minute: int | None = None
    messages_a_day: int | None = None


class Fresh(NamedTuple):
    """Values for a new key: the time, an unused id, and a random secret."""

    now: datetime
    key_id: str
    secret: str


class MadeKey(NamedTuple):
    """A new key. ``token``: what the holder sends; it is shown this once and stored nowhere."""

    key: ApiKey
    token: str


def make(wish: KeyRequest, tenant: str, created_by: str, fresh: Fresh) -> MadeKey:
    key = ApiKey(
        key_id=fresh.key_id,
        tenant=tenant,
        principal_id=wish.principal_id,
        roles=wish.roles,
        levels=wish.levels,
        label=wish.label,
        secret_sha256=digest_of(fresh.secret),
        created_at=fresh.now,
        created_by=created_by,
        expires_at=None if wish.days is None else fresh.now + timedelta(days=wish.days),
        requests_a_minute=wish.requests_a_minute,
        messages_a_minute=wish.messages_a_minute,
        messages_a_day=wish.messages_a_day,
    )
    return MadeKey(key, "_".join((PREFIX, fresh.key_id, fresh.secret)))


def split(token: str) -> tuple[str, str] | None:
    """The id and the secret of a token; None if it is not a key of ours."""
    parts = token.split("_", 2)
    if len(parts) != 3 or parts[0] != PREFIX or not parts[1].isalnum():
        return None
    return parts[1], parts[2]


def opens(key: ApiKey | None, secret: str, now: datetime) -> bool:
    """Whether the secret is that of a valid key; takes equally long for wrong and right secrets."""
    known = key.secret_sha256 if key else digest_of("")
    return hmac.compare_digest(digest_of(secret), known) and key is not None and key.is_good(now)


def holder(key: ApiKey) -> identity.Caller:
    return identity.Caller(
        key.tenant, Principal(id=key.principal_id, roles=key.roles, levels=key.levels, verified=True)
    )


def read_wish(body: JsonObject) -> KeyRequest:
    """Parse ``{"principal", "roles", "levels", "label", "days"}`` and limits under ``key``; raises ``InvalidField``."""
    label = short_text_at(body, "label", _LONGEST_LABEL, "key.label")
    days = count_at(body, "days", "key.days")
    if days is not None and not 1 <= days <= _MOST_DAYS:
        raise InvalidField("key.days", f"must be from 1 to {_MOST_DAYS}")
    principal_id = required_id_at(body, "principal", "key.principal")
    limits = {name: _limit_at(body, name) for name in LIMITS}
    roles, levels = identity.roles_in(body, "key"), identity.levels_in(body, "key")
    if levels and Role.APPROVER not in roles:
        raise InvalidField("key.levels", "only the role approver decides at levels, and it is not among the roles")
    return KeyRequest(principal_id, roles, levels, label, days, **limits)


def _limit_at(body: JsonObject, name: str) -> int | None:
    limit = count_at(body, name, f"key.{name}")
    if limit is not None and limit > _MOST_LIMIT:
        raise InvalidField(f"key.{name}", f"must be at most {_MOST_LIMIT}")
    return limit


def key_view(key: ApiKey, now: datetime) -> dict[str, JsonValue]:
    """The key as operators see it: everything but its secret."""
    shown = key.model_dump(mode="json", exclude={"v", "secret_sha256"})
    return {**shown, "good": key.is_good(now), "warning": _find_warning(key, now)}


def _find_warning(key: ApiKey, now: datetime) -> str | None:
    """A warning that the key expires soon; None if it does not."""
    if key.expires_at is None or not key.is_good(now) or key.expires_at - now > _WARNING:
        return None
    days = (key.expires_at - now).days
    return f"expires in {days} days" if days > 1 else "expires within two days"


class HasOperator(Exception):
    """An operator of the tenant has a key already."""

    def __init__(self, tenant: str, operator: str) -> None:
        super().__init__(f"{operator!r} operates tenant {tenant!r} and can make keys: purple keys create")


def operator_of(keys: Sequence[ApiKey], now: datetime) -> str | None:
    """The principal of a valid operator's key; None if there is none."""
    return next((key.principal_id for key in keys if Role.OPERATOR in key.roles and key.is_good(now)), None)


def digest_of(secret: str) -> str:
    """The digest that is stored in place of a secret."""
    return sha256(secret.encode()).hexdigest()


class UnverifiedIdentity(identity.Identity):
    @override
    async def identify(self, headers: Mapping[str, str]) -> None:
        return None

    @override
    def caller_of(self, let_in: identity.Caller | None, metadata: JsonObject) -> identity.Caller:
        return identity.Caller(identity.DEFAULT_TENANT, identity.claimed_principal(metadata))


_BEARER = "bearer "


class KeyIdentity(identity.Identity):
    """Identifies callers by API keys. ``usual``: the allowance of keys without one of their own."""

    def __init__(self, meter: identity.RateMeter, clock: Callable[[], datetime], usual: identity.Allowance) -> None:
        self._meter, self._clock, self._usual = meter, clock, usual

    async def identify(self, headers: Mapping[str, str]) -> identity.Caller | None:
        return (await self.admit(headers, identity.RequestCost.LOOK)).caller

    @override
    async def admit(self, headers: Mapping[str, str], cost: identity.RequestCost) -> identity.AdmittedCaller:
        token = _token_in(headers)
        if token is None:
            raise Unauthenticated("an API key is needed, as in Authorization: Bearer pa_...")
        parts = split(token)
        if parts is None:
            raise _unknown_key()
        key_id, digest = parts[0], digest_of(parts[1])
        key, standing = await self._meter.of_key(key_id, digest, cost, self._usual)
        if key is None or not opens(key, parts[1], self._clock()):
            raise _unknown_key()
        return identity.AdmittedCaller(holder(key), check(standing), partial(self._count_message, key_id, digest))

    async def _count_message(self, key_id: str, digest: str) -> RateLimitStatus:
        _, standing = await self._meter.of_key(key_id, digest, identity.RequestCost.MESSAGE, self._usual)
        return check(standing)


def _unknown_key() -> Unauthenticated:
    return Unauthenticated("the API key is unknown, expired or revoked")


def _token_in(headers: Mapping[str, str]) -> str | None:
    given = headers.get("authorization", "")
    if given.lower().startswith(_BEARER):
        return given[len(_BEARER) :].strip()
    return headers.get("x-api-key")


class EitherIdentity(identity.Identity):
    def __init__(self, keys: identity.Identity, tokens: identity.Identity) -> None:
        self._keys, self._tokens = keys, tokens

    async def identify(self, headers: Mapping[str, str]) -> identity.Caller | None:
        return await self._identity_for(headers).identify(headers)

    @override
    async def admit(self, headers: Mapping[str, str], cost: identity.RequestCost) -> identity.AdmittedCaller:
        return await self._identity_for(headers).admit(headers, cost)

    def _identity_for(self, headers: Mapping[str, str]) -> identity.Identity:
        given = headers.get("authorization", "")
        if not given and "x-api-key" not in headers:
            raise Unauthenticated("an API key or a token is needed, as in Authorization: Bearer pa_... or eyJ...")
        is_key = not given or given.split(" ")[-1].startswith(f"{PREFIX}_")
        return self._keys if is_key else self._tokens

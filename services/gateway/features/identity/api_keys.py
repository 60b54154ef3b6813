"""API keys: making, parsing and checking them, and ``/keys``. A key's token is ``pa_<id>_<secret>``."""

import hmac
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from functools import partial
from hashlib import sha256
from secrets import token_hex, token_urlsafe
from typing import NamedTuple

from pydantic import JsonValue
from starlette.responses import JSONResponse, Response
from typing_extensions import override

from services.gateway.edge.errors import InvalidField, NotFound, RateLimitStatus, Unauthenticated
from services.gateway.edge.fields import object_at, required_id_at, short_text_at, whole_number_at
from services.gateway.features.identity import model as identity
from services.gateway.features.identity.api_paths import ApiCall, ApiEndpoints, api_path
from services.gateway.features.identity.middleware import require_unused_limits
from services.gateway.features.identity.settings import RateAllowance
from services.gateway.features.identity.store import Keyring, RateMeter
from shared.contracts.api_key import ApiKey
from shared.contracts.task import Principal
from shared.contracts.tenant import DEFAULT_TENANT
from shared.domain.exact_json import JsonObject
from shared.domain.words import Role

PREFIX_OF_KEYS = "pa"
_LONGEST_LABEL = 200
_MOST_DAYS = 3650
_MOST_LIMIT = 1_000_000_000
_WARNING_BEFORE_EXPIRY = timedelta(days=14)
LIMIT_FIELDS = ("requests_a_minute", "messages_a_minute", "messages_a_day")
_KEY_FIELDS = frozenset({"principal", "roles", "levels", "label", "days", *LIMIT_FIELDS})


class KeyRequest(NamedTuple):
    """The API key that an operator asks for. ``label``: what the key is for."""

    principal_id: str
    roles: tuple[Role, ...] = (Role.CLIENT,)
    levels: tuple[str, ...] = ()
    label: str = ""
    days: int | None = None  # how long it is good; None is until it is revoked
    requests_a_minute: int | None = None  # None is as usual, 0 is without limit
    messages_a_minute: int | None = None
    messages_a_day: int | None = None


class CreatedKey(NamedTuple):
    """A new key. ``token``: what its holder sends; it is shown once, and not stored."""

    key: ApiKey
    token: str


def make_api_key(request: KeyRequest, tenant: str, created_by: str, now: datetime | None = None) -> CreatedKey:
    """A new key with an unused id and a random secret. ``now``: when it was made, if not at this moment."""
    properties = request._asdict()
    secret = token_urlsafe(32)
    created_at = now or datetime.now(UTC)
    days = properties.pop("days")
    key = ApiKey(
        **properties,
        key_id=token_hex(6),
        tenant=tenant,
        secret_sha256=hash_secret(secret),
        created_at=created_at,
        created_by=created_by,
        expires_at=None if days is None else created_at + timedelta(days=days),
    )
    return CreatedKey(key, "_".join((PREFIX_OF_KEYS, key.key_id, secret)))


def _split_api_key(token: str) -> tuple[str, str] | None:
    """The key's id and the secret in a token; None if it has not the form of an API key."""
    parts = token.split("_", 2)
    if len(parts) != 3 or parts[0] != PREFIX_OF_KEYS or not parts[1].isalnum():
        return None
    return parts[1], parts[2]


def _is_valid_secret(key: ApiKey | None, secret: str, now: datetime) -> bool:
    """Whether ``secret`` is that of a valid, unexpired key; the comparison takes constant time."""
    stored_hash = key.secret_sha256 if key else hash_secret("")
    return hmac.compare_digest(hash_secret(secret), stored_hash) and key is not None and key.is_valid(now)


def parse_key_request(body: JsonObject) -> KeyRequest:
    """Parse ``{"principal", "roles", "levels", "label", "days"}`` and limits under ``key``; raises ``InvalidField``."""
    if unread := sorted(body.keys() - _KEY_FIELDS):
        raise InvalidField(f"key.{unread[0]}", "nobody reads this field")  # a misspelled "days" would never expire
    label = short_text_at(body, "label", _LONGEST_LABEL, "key.label")
    days = whole_number_at(body, "days", "key.days")
    if days is not None and not 1 <= days <= _MOST_DAYS:
        raise InvalidField("key.days", f"must be from 1 to {_MOST_DAYS}")
    principal_id = required_id_at(body, "principal", "key.principal")
    limits = {name: _rate_limit_at(body, name) for name in LIMIT_FIELDS}
    roles, levels = identity.parse_roles(body, "key"), identity.parse_escalation_levels(body, "key")
    if levels and Role.APPROVER not in roles:
        raise InvalidField("key.levels", "only the role approver decides at levels, and it is not among the roles")
    return KeyRequest(principal_id, roles, levels, label, days, **limits)


def _rate_limit_at(body: JsonObject, name: str) -> int | None:
    limit = whole_number_at(body, name, f"key.{name}")
    if limit is not None and limit > _MOST_LIMIT:
        raise InvalidField(f"key.{name}", f"must be at most {_MOST_LIMIT}")
    return limit


def build_key_view(key: ApiKey, now: datetime) -> dict[str, JsonValue]:
    """The key as JSON for operators, without the hash of its secret."""
    fields = key.model_dump(mode="json", exclude={"v", "secret_sha256"})
    return {**fields, "good": key.is_valid(now), "warning": _write_expiry_warning(key, now)}


def _write_expiry_warning(key: ApiKey, now: datetime) -> str | None:
    """A warning that the key expires soon; None if it does not."""
    if key.expires_at is None or not key.is_valid(now) or key.expires_at - now > _WARNING_BEFORE_EXPIRY:
        return None
    days = (key.expires_at - now).days
    return f"expires in {days} days" if days > 1 else "expires within two days"


class OperatorExists(Exception):
    """An operator of the tenant already has a valid key."""


def hash_secret(secret: str) -> str:
    """The SHA-256 that is stored in place of a secret."""
    return sha256(secret.encode()).hexdigest()


class UnverifiedIdentity(identity.Identity):
    """Identifies callers by what their requests claim, without authentication."""

    @override
    async def admit(self, headers: Mapping[str, str], use: identity.LimitUse) -> identity.AdmittedCaller:
        return identity.AdmittedCaller(None)

    @override
    def caller_of(self, authenticated_caller: identity.Caller | None, metadata: JsonObject) -> identity.Caller:
        return identity.Caller(DEFAULT_TENANT, identity.parse_claimed_principal(metadata))


_UNKNOWN_KEY_TEXT = "the API key is unknown, expired or revoked"


class KeyIdentity(identity.Identity):
    """Identifies callers by API keys. ``default_allowance``: the rate limits of keys that have none of their own."""

    def __init__(self, meter: RateMeter, clock: Callable[[], datetime], default_allowance: RateAllowance) -> None:
        self._meter = meter
        self._clock = clock
        self._default_allowance = default_allowance

    async def admit(self, headers: Mapping[str, str], use: identity.LimitUse) -> identity.AdmittedCaller:
        bearer = identity.read_bearer_token(headers)
        token = headers.get("x-api-key") if bearer is None else bearer
        if token is None:
            raise Unauthenticated("an API key is needed, as in Authorization: Bearer pa_...")
        parts = _split_api_key(token)
        if parts is None:
            raise Unauthenticated(_UNKNOWN_KEY_TEXT)
        key_id, digest = parts[0], hash_secret(parts[1])
        key, rate_limits = await self._meter.count_request_of_key(key_id, digest, use, self._default_allowance)
        if key is None or not _is_valid_secret(key, parts[1], self._clock()):
            raise Unauthenticated(_UNKNOWN_KEY_TEXT)
        principal = Principal(id=key.principal_id, roles=key.roles, levels=key.levels, verified=True)
        return identity.AdmittedCaller(
            identity.Caller(key.tenant, principal),
            require_unused_limits(rate_limits),
            partial(self._count_message, key_id, digest),
        )

    async def _count_message(self, key_id: str, digest: str) -> RateLimitStatus:
        _, rate_limits = await self._meter.count_request_of_key(
            key_id, digest, identity.LimitUse.MESSAGE, self._default_allowance
        )
        return require_unused_limits(rate_limits)


class KeyOrTokenIdentity(identity.Identity):
    """Identifies callers by API keys and by bearer tokens."""

    def __init__(self, keys: identity.Identity, tokens: identity.Identity) -> None:
        self._keys, self._tokens = keys, tokens

    async def admit(self, headers: Mapping[str, str], use: identity.LimitUse) -> identity.AdmittedCaller:
        bearer = identity.read_bearer_token(headers)
        if bearer is None and "x-api-key" not in headers:
            raise Unauthenticated("an API key or a token is needed, as in Authorization: Bearer pa_... or eyJ...")
        is_key = bearer is None or bearer.startswith(f"{PREFIX_OF_KEYS}_")
        return await (self._keys if is_key else self._tokens).admit(headers, use)


_NO_STORE_HEADERS = {"Cache-Control": "no-store"}  # the one answer with a key's secret in it


class KeyEndpoints(ApiEndpoints[Keyring]):
    requires_operator = True

    @api_path("POST", "/keys/create")
    async def create(self, call: ApiCall) -> Response:
        """Create an API key: ``{"key": {"principal", "roles", "levels", "label", "days"}, "metadata"}``.

        201 with the key and its token. The token is shown in this answer only.
        """
        request = parse_key_request(object_at(call.body, "key"))
        created = make_api_key(request, call.caller.tenant, call.caller.principal.id)
        await self._service.add_key(created.key)
        return JSONResponse(
            {**build_key_view(created.key, created.key.created_at), "token": created.token}, 201, _NO_STORE_HEADERS
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
        """Revoke an API key, which is refused from now on. May be repeated; 404 if there is no key of that id."""
        key_id, now = call.path_value("key_id"), datetime.now(UTC)
        key = await self._service.find_key(key_id)
        if key is None or key.tenant != call.caller.tenant:
            raise NotFound(f"key {key_id!r}")
        await self._service.revoke_key(key, now)  # a repeat changes nothing
        return build_key_view(await self._service.find_key(key_id) or key, now)

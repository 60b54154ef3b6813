"""API keys, use of rate limits, and console sign-ins, in Redis."""

import hmac
import json
from base64 import urlsafe_b64encode
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from secrets import token_urlsafe
from typing import cast

from cryptography.fernet import Fernet, InvalidToken

from services.gateway.edge.errors import QuotaUsage, RateLimitStatus
from services.gateway.features.identity import model as identity
from shared.contracts.api_key import ApiKey
from shared.infra import keys
from shared.infra.lua import Argument, ScriptedStore

_USED_SECONDS = 60  # a key's last use is noted at most so often
_MINUTE, _DAY = 60, 86400
_REQUEST = (identity.RequestCost.REQUEST, identity.RequestCost.REQUEST_AND_MESSAGE)
_MESSAGE = (identity.RequestCost.MESSAGE, identity.RequestCost.REQUEST_AND_MESSAGE)
_MICRO = 1_000_000


class RedisMeter(ScriptedStore, identity.RateMeter):
    async def of_key(
        self, key_id: str, digest: str, cost: identity.RequestCost, usual: identity.Allowance
    ) -> tuple[ApiKey | None, RateLimitStatus]:
        names = [*keys.rate_keys_of_key(key_id), keys.api_key(key_id)]
        reply = await self._admit(names, cost, usual, digest)
        return read_key(reply[0], reply[1], reply[2]), _read_status(reply[3:])

    async def of_bearer(
        self, caller: identity.Caller, cost: identity.RequestCost, usual: identity.Allowance
    ) -> RateLimitStatus:
        names = keys.rate_keys_of_bearer(caller.tenant, caller.principal.id)
        return _read_status((await self._admit(names, cost, usual, ""))[3:])

    async def _admit(
        self, names: Sequence[str], cost: identity.RequestCost, usual: identity.Allowance, digest: str
    ) -> list[str]:
        wants: list[Argument] = [int(cost in _REQUEST), int(cost in _MESSAGE)]
        reply = await self._scripts.run("admit", names, [*wants, *usual, digest, _USED_SECONDS])
        return cast("list[str]", reply)


def read_key(json: str | None, revoked_at: str | None, used_at: str | None) -> ApiKey | None:
    """The key in a hash, with its revocation and last use; None if there is none."""
    if not json:
        return None
    since = {
        "revoked_at": datetime.fromisoformat(revoked_at) if revoked_at else None,
        "last_used_at": datetime.fromtimestamp(int(used_at), UTC) if used_at else None,
    }
    return ApiKey.model_validate_json(json).model_copy(update=since)


def _read_status(reply: Sequence[str]) -> RateLimitStatus:
    """The rate limits in a script's reply, which is empty for a key that is not valid."""
    if not reply:
        return RateLimitStatus()
    used_up, wait, *numbers = reply
    rows = (
        _measure("requests", _MINUTE, numbers[0:3]),
        _measure("messages", _MINUTE, numbers[3:6]),
        _measure("daily", _DAY, numbers[6:9]),
    )
    return RateLimitStatus(tuple(row for row in rows if row.quota), used_up, int(wait) / _MICRO)


def _measure(name: str, window: int, numbers: Sequence[str]) -> QuotaUsage:
    quota, left, whole_in = map(int, numbers)
    return QuotaUsage(name, quota, window, left, whole_in / _MICRO)


class RedisKeyring(ScriptedStore, identity.Keyring):
    async def find(self, key_id: str) -> ApiKey | None:
        row = await self._scripts.command("HMGET", keys.api_key(key_id), "json", "revoked_at", "used_at")
        return read_key(*cast("tuple[str | None, str | None, str | None]", row))

    async def keys_of(self, tenant: str) -> Sequence[ApiKey]:
        ids = cast("list[str]", await self._scripts.command("SMEMBERS", keys.api_keys_of(tenant)))
        found = {key_id: await self.find(key_id) for key_id in ids}
        if gone := [key_id for key_id, key in found.items() if key is None]:
            await self._scripts.command("SREM", keys.api_keys_of(tenant), *gone)
        return [key for key in found.values() if key is not None]

    async def add(self, key: ApiKey) -> None:
        """Store the key, then list it: a key that is in no list can still be revoked by its id."""
        name = keys.api_key(key.key_id)
        await self._scripts.command("HSETNX", name, "limits", _format_limits(key))
        await self._scripts.command("HSETNX", name, "json", key.model_dump_json())
        await self._scripts.command("SADD", keys.api_keys_of(key.tenant), key.key_id)
        if key.expires_at:
            await self._keep_until(name, key.expires_at)

    async def revoke(self, key: ApiKey, at: datetime) -> None:
        name = keys.api_key(key.key_id)
        await self._scripts.command("HSETNX", name, "revoked_at", at.isoformat())
        await self._keep_until(name, at)

    async def _keep_until(self, name: str, end: datetime) -> None:
        leaves = end + timedelta(seconds=keys.DEAD_KEY_SECONDS)
        await self._scripts.command("EXPIREAT", name, int(leaves.timestamp()))


def _format_limits(key: ApiKey) -> str:
    """The key's limits as the counting script reads them; empty where the usual ones hold."""
    own = (key.requests_a_minute, key.messages_a_minute, key.messages_a_day)
    return ":".join("" if limit is None else str(limit) for limit in own)


class RedisSignIns(ScriptedStore, identity.SignIns):
    async def begin(self, credential: identity.SignInCredential) -> str:
        secret = token_urlsafe(32)
        sealed = _seal(secret).encrypt(json.dumps(credential._asdict()).encode()).decode()
        await self._scripts.command("SET", _cookie_key(secret), sealed, "EX", keys.CONSOLE_SECONDS)
        return secret

    async def find(self, secret: str) -> identity.SignInCredential | None:
        sealed = await self._scripts.command("GET", _cookie_key(secret))
        if sealed is None:
            return None
        try:
            return identity.SignInCredential(**json.loads(_seal(secret).decrypt(str(sealed).encode())))
        except (InvalidToken, TypeError, ValueError):  # written by another version: sign in anew
            return None

    async def end(self, secret: str) -> None:
        await self._scripts.command("DEL", _cookie_key(secret))

    async def count_refusal(self, address: str) -> None:
        """Count a refusal in a fixed window, which the first refusal opens."""
        name = keys.console_refused_key(address)
        await self._scripts.command("INCR", name)
        await self._scripts.command("EXPIRE", name, keys.REFUSED_SECONDS, "NX")

    async def refusals(self, address: str) -> int:
        return int(str(await self._scripts.command("GET", keys.console_refused_key(address)) or 0))


def _cookie_key(secret: str) -> str:
    return keys.console_key(_derive_key(secret, b"name").hex())


def _seal(secret: str) -> Fernet:
    return Fernet(urlsafe_b64encode(_derive_key(secret, b"seal")))


def _derive_key(secret: str, use: bytes) -> bytes:
    return hmac.digest(secret.encode(), b"purple console " + use, "sha256")

"""API keys and counters of rate limits, in Redis."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import cast

from services.gateway.edge.errors import QuotaUsage, RateLimitStatus
from services.gateway.features.identity import model as identity
from services.gateway.features.identity.settings import RateAllowance
from shared.contracts.api_key import ApiKey
from shared.infra import keys
from shared.infra.lua import Argument, ScriptedStore

_LAST_USE_SECONDS = 60  # a key's last use is noted at most so often
_LIMIT_WINDOWS = {"requests": 60, "messages": 60, "daily": 86400}  # seconds, in the order of the script's reply
_USES_COUNTED_AS_REQUEST = (identity.LimitUse.REQUEST, identity.LimitUse.REQUEST_AND_MESSAGE)
_USES_COUNTED_AS_MESSAGE = (identity.LimitUse.MESSAGE, identity.LimitUse.REQUEST_AND_MESSAGE)
_MICROS_PER_SECOND = 1_000_000


class RateMeter(ScriptedStore):
    """Counts requests and messages of callers over all replicas. Both methods may raise ``StoreUnavailable``."""

    async def count_request_of_key(
        self, key_id: str, digest: str, use: identity.LimitUse, default_allowance: RateAllowance
    ) -> tuple[ApiKey | None, RateLimitStatus]:
        """Count a request for a key; returns the key, None if there is none, and its rate limits afterwards.

        The key's own allowance applies, else the default one. A request counts only if ``digest`` is the hash of the
        key's secret, so that nobody can use up another's limits.
        """
        names = [*keys.rate_keys_of_api_key(key_id), keys.api_key(key_id)]
        reply = await self._count_request(names, use, default_allowance, digest)
        return _read_stored_key(reply[0], reply[1], reply[2]), _parse_rate_limits(reply[3:])

    async def count_request_of_bearer(
        self, caller: identity.Caller, use: identity.LimitUse, default_allowance: RateAllowance
    ) -> RateLimitStatus:
        names = keys.rate_keys_of_bearer(caller.tenant, caller.principal.id)
        return _parse_rate_limits((await self._count_request(names, use, default_allowance, ""))[3:])

    async def _count_request(
        self, key_names: Sequence[str], use: identity.LimitUse, default_allowance: RateAllowance, digest: str
    ) -> list[str]:
        counted: list[Argument] = [int(use in _USES_COUNTED_AS_REQUEST), int(use in _USES_COUNTED_AS_MESSAGE)]
        reply = await self._scripts.run("admit", key_names, [*counted, *default_allowance, digest, _LAST_USE_SECONDS])
        return cast("list[str]", reply)


def _read_stored_key(json: str | None, revoked_at: str | None, used_at: str | None) -> ApiKey | None:
    """Parse the fields of a key's hash; None if the key does not exist."""
    if not json:
        return None
    since = {
        "revoked_at": datetime.fromisoformat(revoked_at) if revoked_at else None,
        "last_used_at": datetime.fromtimestamp(int(used_at), UTC) if used_at else None,
    }
    return ApiKey.model_validate_json(json).model_copy(update=since)


def _parse_rate_limits(reply: Sequence[str]) -> RateLimitStatus:
    """Parse the rate limits in a script's reply, which is empty for a key that is not valid."""
    if not reply:
        return RateLimitStatus()
    used_up, wait, *texts = reply
    numbers = [int(text) for text in texts]
    usages = zip(_LIMIT_WINDOWS.items(), numbers[::3], numbers[1::3], numbers[2::3], strict=True)
    rows = [
        QuotaUsage(name, quota, window, remaining, reset_micros / _MICROS_PER_SECOND)
        for (name, window), quota, remaining, reset_micros in usages
        if quota
    ]
    return RateLimitStatus(tuple(rows), used_up, int(wait) / _MICROS_PER_SECOND)


class Keyring(ScriptedStore):
    """The API keys of all tenants, in Redis. All methods may raise ``StoreUnavailable`` and may be repeated."""

    async def find_key(self, key_id: str) -> ApiKey | None:
        """The key of that id, also a revoked one; None if there is none."""
        return (await self._find_keys([key_id]))[0]

    async def list_keys(self, tenant: str) -> Sequence[ApiKey]:
        ids = cast("list[str]", await self._scripts.execute("SMEMBERS", keys.tenant_api_keys_key(tenant)))
        found_keys = await self._find_keys(ids) if ids else []
        if missing_ids := [key_id for key_id, key in zip(ids, found_keys, strict=True) if key is None]:
            await self._scripts.execute("SREM", keys.tenant_api_keys_key(tenant), *missing_ids)
        return [key for key in found_keys if key is not None]

    async def _find_keys(self, key_ids: Sequence[str]) -> list[ApiKey | None]:
        """The keys with these ids, in one round trip; None for one that does not exist."""
        commands = (("HMGET", keys.api_key(key_id), "json", "revoked_at", "used_at") for key_id in key_ids)
        rows = cast("list[tuple[str | None, str | None, str | None]]", await self._scripts.execute_commands(*commands))
        return [_read_stored_key(*row) for row in rows]

    async def add_key(self, key: ApiKey) -> None:
        """Store the key, then add it to the tenant's list; an unlisted key could still be revoked by its id."""
        redis_key = keys.api_key(key.key_id)
        own_limits = (key.requests_a_minute, key.messages_a_minute, key.messages_a_day)  # as the counting script reads
        limits = ":".join("" if limit is None else str(limit) for limit in own_limits)
        await self._scripts.execute("HSETNX", redis_key, "limits", limits)
        await self._scripts.execute("HSETNX", redis_key, "json", key.model_dump_json())
        await self._scripts.execute("SADD", keys.tenant_api_keys_key(key.tenant), key.key_id)
        if key.expires_at:
            await self._expire_at(redis_key, key.expires_at)

    async def revoke_key(self, key: ApiKey, time: datetime) -> None:
        """Revoke a key as of ``time``; a repeat does not change the time."""
        redis_key = keys.api_key(key.key_id)
        await self._scripts.execute("HSETNX", redis_key, "revoked_at", time.isoformat())
        await self._expire_at(redis_key, time)

    async def _expire_at(self, redis_key: str, end: datetime) -> None:
        expires_at = end + timedelta(seconds=keys.REVOKED_KEY_SHOWN_SECONDS)
        await self._scripts.execute("EXPIREAT", redis_key, int(expires_at.timestamp()))

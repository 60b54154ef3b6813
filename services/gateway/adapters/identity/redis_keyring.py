"""API keys in state Redis: a hash each, and a set of ids for each tenant."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import cast

from redis.asyncio import Redis
from typing_extensions import override

from services.gateway.adapters.identity.redis_meter import read_key
from services.gateway.ports.identity import Keyring
from shared.contracts.api_key import ApiKey
from shared.infra import keys
from shared.infra.lua import Scripts


class RedisKeyring(Keyring):
    def __init__(self, redis: Redis) -> None:
        self._scripts = Scripts(redis)

    @override
    async def find(self, key_id: str) -> ApiKey | None:
        row = await self._scripts.command("HMGET", keys.api_key(key_id), "json", "revoked_at", "used_at")
        return read_key(*cast("tuple[str | None, str | None, str | None]", row))

    @override
    async def of(self, tenant: str) -> Sequence[ApiKey]:
        ids = cast("list[str]", await self._scripts.command("SMEMBERS", keys.api_keys_of(tenant)))
        found = {key_id: await self.find(key_id) for key_id in ids}
        if gone := [key_id for key_id, key in found.items() if key is None]:
            await self._scripts.command("SREM", keys.api_keys_of(tenant), *gone)
        return [key for key in found.values() if key is not None]

    @override
    async def add(self, key: ApiKey) -> None:
        """The key first: one that no list names can still be revoked by whoever holds its id."""
        name = keys.api_key(key.key_id)
        await self._scripts.command("HSETNX", name, "limits", _limits(key))
        await self._scripts.command("HSETNX", name, "json", key.model_dump_json())
        await self._scripts.command("SADD", keys.api_keys_of(key.tenant), key.key_id)
        if key.expires_at:
            await self._kept_until(name, key.expires_at)

    @override
    async def revoke(self, key: ApiKey, at: datetime) -> None:
        name = keys.api_key(key.key_id)
        await self._scripts.command("HSETNX", name, "revoked_at", at.isoformat())
        await self._kept_until(name, at)

    async def _kept_until(self, name: str, end: datetime) -> None:
        leaves = end + timedelta(seconds=keys.DEAD_KEY_SECONDS)
        await self._scripts.command("EXPIREAT", name, int(leaves.timestamp()))


def _limits(key: ApiKey) -> str:
    """As the counting script reads them: empty where the usual ones hold."""
    own = (key.requests_a_minute, key.messages_a_minute, key.messages_a_day)
    return ":".join("" if limit is None else str(limit) for limit in own)

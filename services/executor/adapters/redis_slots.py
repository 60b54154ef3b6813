"""The slots of tenants with a cap, on Redis (``SlotStore``). A dead process's slots end with their time."""

import asyncio
from collections import defaultdict
from collections.abc import Sequence

from redis.asyncio import Redis
from typing_extensions import override

from services.executor.ports.sessions import SlotStore
from shared.infra import keys
from shared.infra.lua import Argument, Scripts

_PUT_OFF_MS = 30_000  # until the reaper asks again for a session that waits for a slot
_QUEUE_SECONDS = keys.DAY


class RedisSlots(SlotStore):
    def __init__(self, redis: Redis) -> None:
        self._scripts = Scripts(redis)

    @override
    async def take(self, tenant: str, session_id: str, cap: int, seconds: float) -> bool:
        arguments: list[Argument] = [session_id, cap, int(seconds * 1000), _QUEUE_SECONDS]
        return await self._scripts.run("take_slot", keys.slot_keys(tenant), arguments) == 1

    @override
    async def leave(self, tenant: str, session_id: str) -> str | None:
        following = await self._scripts.run("free_slot", keys.slot_keys(tenant), [session_id])
        return None if following is None else str(following)

    @override
    async def extend(self, slots: Sequence[tuple[str, str]], seconds: float) -> None:
        by_tenant: defaultdict[str, list[Argument]] = defaultdict(list)
        for tenant, session_id in slots:
            by_tenant[tenant].append(session_id)
        milliseconds = int(seconds * 1000)
        running = {keys.slot_keys(tenant)[0]: sessions for tenant, sessions in by_tenant.items()}
        if running:
            calls = [([key], ["CH", milliseconds, *sessions]) for key, sessions in running.items()]
            lives = (("PEXPIRE", key, 10 * milliseconds) for key in running)
            await asyncio.gather(self._scripts.run_many("queue_due", calls), self._scripts.commands(*lives))

    @override
    async def put_off(self, tenant: str, session_id: str) -> None:
        waiting = keys.partition_keys_of(tenant, session_id).waiting
        member = keys.pack(keys.Member(tenant, session_id))
        await self._scripts.run("queue_due", [waiting], ["XX", _PUT_OFF_MS, member])

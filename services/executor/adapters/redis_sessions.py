"""Sessions on Redis: leases, and the turns that wait. Redis time alone decides who owns what."""

from typing import cast

from redis.asyncio import Redis

from services.executor.adapters.redis_turns import RedisTurnStore
from services.executor.ports import Lease, LeaseLost, Sessions, TurnStore, Work
from shared.contracts.task import TaskRecord, Turn
from shared.infra import keys
from shared.infra.lua import Argument, Reply, Scripts

_PATIENCE_SECONDS = 10.0  # a turn outlasts a restart of Redis; its lease decides at the end what counts


class RedisSessions(Sessions):
    """``owner`` names this process; every method may raise ``StoreUnavailable``."""

    def __init__(self, redis: Redis, owner: str, lease_seconds: float) -> None:
        self._scripts = Scripts(redis, _PATIENCE_SECONDS)
        self._owner = owner
        self._lease_ms = int(lease_seconds * 1000)

    async def claim(self, tenant: str, session_id: str) -> Lease | None:
        session, partition = keys.session_keys(tenant, session_id), keys.partition_keys_of(tenant, session_id)
        names = [session.lease, session.inbox, session.signals, partition.waiting, partition.leased]
        arguments: list[Argument] = [self._owner, self._lease_ms, keys.pack(keys.Member(tenant, session_id))]
        fence = await self._scripts.run("claim", names, arguments)
        return None if fence is None else Lease(tenant, session_id, int(cast(int, fence)), self._owner)

    async def extend(self, lease: Lease) -> None:
        session, partition = _keys_of(lease)
        await self._fenced("extend", lease, [session.lease, partition.leased], [self._lease_ms, _member(lease)])

    async def next(self, lease: Lease) -> Work | None:
        session, _ = _keys_of(lease)
        names = [session.lease, session.inbox, session.signals, session.turns, session.begun]
        match await self._fenced("next", lease, names, []):
            case ["ok", turn, attempts, waited]:
                return await self._work(
                    lease, Turn.model_validate_json(str(turn)), int(str(attempts)), int(str(waited))
                )
            case _:
                return None

    async def release(self, lease: Lease) -> bool:
        session, partition = _keys_of(lease)
        names = [session.lease, session.inbox, session.signals, session.session, session.open, partition.leased]
        reply = await self._fenced("release", lease, names, [_member(lease), keys.SESSION_RETENTION_SECONDS])
        return reply[0] == "ok"

    async def abandon(self, lease: Lease, retry_in: float = 0.0, *, handed_over: bool = False) -> None:
        session, partition = _keys_of(lease)
        names = [session.lease, session.inbox, session.signals, session.begun, partition.waiting, partition.leased]
        arguments: list[Argument] = [_member(lease), int(retry_in * 1000), int(handed_over)]
        await self._fenced("abandon", lease, names, arguments)

    async def ping(self) -> None:
        """Raise ``StoreUnavailable`` unless Redis answers."""
        await self._scripts.command("PING")

    def turn_store(self, lease: Lease, work: Work) -> TurnStore:
        return RedisTurnStore(self._scripts, lease, work)

    async def _work(self, lease: Lease, turn: Turn, attempts: int, waited_us: int) -> Work:
        name = keys.task_keys(lease.tenant, lease.session_id, turn.task_id).record
        json, version = cast(list[str], await self._scripts.command("HMGET", name, "json", "version"))
        return Work(turn, TaskRecord.model_validate_json(json), attempts, waited_us, int(version))

    async def _fenced(self, script: str, lease: Lease, names: list[str], arguments: list[Argument]) -> list[Reply]:
        reply = await self._scripts.run(script, names, [lease.owner, lease.fence, *arguments])
        if not isinstance(reply, list) or reply[0] == "lost":
            raise LeaseLost(lease.session_id)
        return reply


def _keys_of(lease: Lease) -> tuple[keys.SessionKeys, keys.PartitionKeys]:
    tenant, session_id = lease.tenant, lease.session_id
    return keys.session_keys(tenant, session_id), keys.partition_keys_of(tenant, session_id)


def _member(lease: Lease) -> str:
    return keys.pack(keys.Member(lease.tenant, lease.session_id))

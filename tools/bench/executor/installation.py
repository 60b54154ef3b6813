"""Gateway, executor, archiver and learner as far as they read and store, in one process: for measuring Redis alone."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import cast
from uuid import uuid4

from redis.asyncio import Redis
from typing_extensions import override

from services.executor.adapters.redis_idle import Archiver
from services.executor.adapters.redis_sessions import RedisSessions
from shared.infra import keys
from shared.infra.channel_listener import ChannelListener
from shared.infra.redis import connect
from shared.infra.task_store import TaskStore
from shared.ports.archive import Archive
from tools.bench.executor.typical import TypicalMessage, TypicalWorker, typical_message

TENANT = "bench"
_LEASE_SECONDS = 60.0


class NoArchive(Archive):
    """Takes everything and keeps nothing."""

    @override
    async def put(self, tenant: str, task_id: str, content: bytes) -> None: ...

    @override
    async def get(self, tenant: str, task_id: str) -> bytes | None:
        return None

    @override
    async def list(self, tenant: str) -> tuple[str, ...]:
        return ()

    @override
    async def delete(self, tenant: str, task_id: str) -> bool:
        return False


class BenchInstallation:
    """``redis`` is the server that is measured."""

    def __init__(self, redis: Redis, live: ChannelListener) -> None:
        self.redis = redis
        self._store = TaskStore(redis, live)
        self._sessions = RedisSessions(redis, f"bench:{uuid4().hex}", _LEASE_SECONDS)
        self._archiver = Archiver(redis, NoArchive())
        self._worker = TypicalWorker()

    async def run_turn(self, session_id: str) -> None:
        """One message of the session, from its acceptance to the session's release.

        Raises ``LookupError`` if nothing can be claimed.
        """
        sent = await self.accept(session_id)
        await self._note_thread(sent.client_id, sent.record.task_id, sent.turn.turn_id)
        lease = await self._sessions.claim(TENANT, session_id)
        if lease is None:
            raise LookupError(session_id)
        while work := await self._sessions.begin_next_turn(lease):
            await self._worker.run(work, self._sessions.turn_store(lease, work))

    async def accept(self, session_id: str) -> TypicalMessage:
        """One message of the session, which waits for somebody."""
        sent = typical_message(TENANT, session_id)
        await self._store.accept(sent.record, sent.turn, None)
        return sent

    async def archive(self) -> None:
        """Bring to the archive what has ended."""
        await self._archiver.archive_once()

    async def learn(self) -> None:
        """Note each outcome as applied and trim it, as the learner does."""
        for partition in keys.all_partitions():
            rows = cast("list[tuple[str, dict[str, str]]]", await self.redis.xrange(partition.outcomes))
            if rows:
                moments = {fields["id"]: int(row_id.partition("-")[0]) for row_id, fields in rows}
                await self.redis.zadd(keys.learned_keys(TENANT).applied, moments)
                await self.redis.xtrim(partition.outcomes, maxlen=0, approximate=False)

    async def _note_thread(self, client_id: str, task_id: str, turn_id: str) -> None:
        """What a gateway remembers of a client's own task id."""
        name = keys.client_task_key(TENANT, client_id)
        fields = {"task": task_id, f"answered:{uuid4().hex}": turn_id}
        async with self.redis.pipeline(transaction=True) as pipe:
            pipe.hset(name, mapping=fields)
            pipe.expire(name, keys.CLIENT_TASK_ID_SECONDS)
            await pipe.execute()


@asynccontextmanager
async def installation(url: str) -> AsyncIterator[BenchInstallation]:
    redis = connect(url)
    try:
        async with ChannelListener(redis) as live:
            yield BenchInstallation(redis, live)
    finally:
        await redis.aclose()

"""Wakes through arq's queue: one tiny job each, and a doorbell that rings an executor out of its poll."""

import time
from collections.abc import Mapping
from typing import cast
from uuid import uuid4

from arq.constants import job_key_prefix
from arq.jobs import serialize_job
from redis.asyncio import Redis

from shared.domain.exact_json import Json, dumps, loads
from shared.infra.keys import BELL, QUEUE
from shared.infra.lua import answering
from shared.ports.tasks import Wakes

WAKE_JOB = "wake"
WAKE_LIVES_MS = 30_000  # an older wake is of no use: the reaper has made others
_RINGS_KEPT = 64


def to_bytes(job: Mapping[str, Json]) -> bytes:
    return dumps(dict(job)).encode()


def from_bytes(job: bytes) -> dict[str, Json]:
    return cast(dict[str, Json], loads(job))


class ArqWakes(Wakes):
    """Enqueues for ``QUEUE_REDIS_URL``; one round trip. Raises ``StoreUnavailable``, which a caller may ignore."""

    def __init__(self, redis: Redis) -> None:
        self._redis = redis

    async def wake(self, tenant: str, session_id: str) -> None:
        now = int(time.time() * 1000)
        name = uuid4().hex
        job = serialize_job(WAKE_JOB, (tenant, session_id), {}, None, now, serializer=to_bytes)
        async with answering(), self._redis.pipeline(transaction=True) as pipe:
            pipe.set(job_key_prefix + name, job, px=WAKE_LIVES_MS)
            pipe.zadd(QUEUE, {name: now})
            pipe.rpush(BELL, 1)
            pipe.ltrim(BELL, -_RINGS_KEPT, -1)
            await pipe.execute()

    async def ping(self) -> None:
        """Raise ``StoreUnavailable`` unless the queue's server answers."""
        async with answering():
            await self._redis.ping()

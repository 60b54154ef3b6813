"""Limits how many sessions may wait for an executor, over all gateways.

On one server the script that stores a message also counts the waiting sessions. On a cluster a script sees one
partition only: a gateway takes a place in a queue, counts the waiting sessions and the places before its own, and
leaves the queue once the message is stored or refused. Never one too many is admitted.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from time import monotonic
from typing import cast
from uuid import uuid4

from redis.asyncio import Redis

from shared.infra import keys
from shared.infra.lua import Scripts, bounded_redis_calls
from shared.infra.redis_cluster import ClusterRedis
from shared.ports.store import StoreUnavailable

_COUNT_CACHE_SECONDS = 0.5
_MOST_ACCEPTED_MEANWHILE = 2_500  # sessions: more than all gateways together accept in that time
_CLOCK_DIFFERENCE_MS = 5_000  # as in the script: the clocks of two nodes differ
_PLACE_LIFETIME_MS = 30_000  # longer than storing may take
_WAIT_SECONDS, _PAUSE_SECONDS = 0.5, 0.005  # for those ahead

UNLIMITED, FULL = 0, -1  # what the accepting script is told in place of a number


class Admission:
    """Decides whether one more session may wait for an executor.

    ``most_waiting``: how many may wait, 0 for any number. ``waiting``: how many waited at the last count.
    """

    def __init__(self, redis: Redis, scripts: Scripts, most_waiting: int) -> None:
        self._redis = redis
        self._scripts = scripts
        self._most_waiting = most_waiting
        self.waiting, self._counted_at = most_waiting, 0.0
        self._one_at_a_time = asyncio.Lock()

    def record_waiting_count(self, waiting: int) -> None:
        self.waiting, self._counted_at = waiting, monotonic()

    @asynccontextmanager
    async def reserve_place(self) -> AsyncIterator[int]:
        """Yields how many sessions may wait, for the accepting script: a number, ``UNLIMITED`` or ``FULL``.

        The message must be stored inside the context, because on a cluster the place in the queue is kept only that
        long.
        """
        is_recent = monotonic() - self._counted_at < _COUNT_CACHE_SECONDS
        is_far_off = is_recent and self.waiting + _MOST_ACCEPTED_MEANWHILE < self._most_waiting
        if not self._most_waiting or is_far_off:
            yield UNLIMITED
        elif not isinstance(self._redis, ClusterRedis):
            yield self._most_waiting
        else:
            start = monotonic()
            async with self._one_at_a_time:  # so that few stand in the line
                if self._counted_at > start and self.waiting >= self._most_waiting:  # the one before counted for all
                    yield FULL
                    return
                name = uuid4().hex
                yield UNLIMITED if await self._wait_for_place(self._redis, name, start + _WAIT_SECONDS) else FULL
                await self._release_place(name)  # not where it is unknown what was stored

    async def _wait_for_place(self, cluster: ClusterRedis, name: str, until: float) -> bool:
        while True:
            place = await self._scripts.run("take_place", [keys.ADMISSION_KEY], [name, _PLACE_LIFETIME_MS])
            ahead, now_ms = cast("tuple[int, str]", place)
            self.record_waiting_count(await _count_waiting_sessions(cluster, int(now_ms)))
            if self.waiting + ahead < self._most_waiting:
                return True
            if self.waiting >= self._most_waiting or monotonic() > until:
                return False
            await asyncio.sleep(_PAUSE_SECONDS)

    async def _release_place(self, name: str) -> None:
        with suppress(StoreUnavailable):  # the message is stored or refused, and the place ends by itself
            await self._scripts.execute("ZREM", keys.ADMISSION_KEY, name)


async def _count_waiting_sessions(cluster: ClusterRedis, now_ms: int) -> int:
    async with bounded_redis_calls(), cluster.pipeline(transaction=False) as pipe:
        for partition in keys.all_partitions():
            pipe.zcount(partition.waiting, "-inf", now_ms + _CLOCK_DIFFERENCE_MS)
        return sum(map(int, await pipe.execute()))

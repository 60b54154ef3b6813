"""Wakes sessions through arq's queue: one job for each session, and a signal (the doorbell) for waiting executors."""

import time
from collections.abc import Iterable, Mapping, Sequence
from typing import cast
from uuid import uuid4

from arq.constants import in_progress_key_prefix, job_key_prefix, retry_key_prefix
from arq.jobs import serialize_job

from shared.domain.exact_json import Json, dumps, loads
from shared.infra import keys
from shared.infra.lua import Argument, ScriptedStore, bounded_redis_calls

WAKE_JOB = "wake"
_WAKE_LIFETIME_MS = keys.ONE_DAY * 1000  # an older one leaves the queue, and the reaper makes another
_PLACES_LIFETIME_MS = keys.ONE_DAY * 1000
_LOCK_MS = 3000  # after which a wake whose process died with it in hand is taken again
_CLAIM_MS = 3000  # for so long the executor that took a session may claim it before others are told of it
_DOORBELL_RINGS_KEPT = 64
_MOST_WAKES_READ = 256  # in one look: wakes of tenants without room here stand among the others


def job_to_bytes(job: Mapping[str, Json]) -> bytes:
    return dumps(dict(job)).encode()


def job_from_bytes(job: bytes) -> dict[str, Json]:
    return cast(dict[str, Json], loads(job))


class ArqWakes(ScriptedStore):
    """Puts sessions into the queue at ``QUEUE_REDIS_URL`` from which executors take work, in one round trip each. A
    queued session is called a wake. The queue may be lost.

    Every method may raise ``StoreUnavailable``.
    """

    async def wake(self, tenant: str, session_id: str) -> None:
        """Queues the session, in turn with other tenants, unless it is queued already. The request may be lost."""
        await self._queue_wakes([(tenant, session_id)])

    async def wake_ahead(self, tenant: str, session_id: str) -> None:
        """Queues a session ahead of all others, since its work was begun before; a queued one moves to the front."""
        await self._queue_wakes([(tenant, session_id)], has_begun=True)

    async def wake_unless_queued(
        self, sessions: Iterable[tuple[str, str]], *, has_begun: bool = False
    ) -> Sequence[tuple[str, str]]:
        """Queues those sessions that are neither queued nor just taken; returns them.

        ``has_begun``: queues them ahead of all others, and moves there those that are queued already.
        """
        return await self._queue_wakes(sessions, skips_queued=True, has_begun=has_begun)

    async def take_wakes(
        self, most: int, of_other_tenant: int, by_tenant: Mapping[str, int]
    ) -> Sequence[tuple[str, int]]:
        """Locks the first due wakes for this process, at most ``most``; returns their job ids and scores.

        ``by_tenant``: how many of each tenant at most; ``of_other_tenant``: of each that it does not list.
        """
        shares = [part for tenant, count in by_tenant.items() for part in (keys.pack_member((tenant,)), count)]
        arguments = [uuid4().hex, _LOCK_MS, _MOST_WAKES_READ, in_progress_key_prefix, most, of_other_tenant, *shares]
        taken = cast("list[str]", await self._scripts.run("take_wakes", [keys.QUEUE_KEY], arguments))
        return [(job_id, int(score)) for job_id, score in zip(taken[::2], taken[1::2], strict=True)]

    async def end_wake(self, job_id: str, score: int) -> None:
        """Removes a handled wake from the queue, unless its session was queued again meanwhile.

        ``score``: the job's score when it was taken.
        """
        prefixes = (job_key_prefix, in_progress_key_prefix, retry_key_prefix)
        key_names = (keys.QUEUE_KEY, keys.TAKEN_WAKES_KEY, *(prefix + job_id for prefix in prefixes))
        await self._scripts.run("end_wake", key_names, [job_id, score, _CLAIM_MS])

    async def ping(self) -> None:
        """Raises ``StoreUnavailable`` unless the queue's server answers."""
        async with bounded_redis_calls():
            await self._redis.ping()

    async def _queue_wakes(
        self, sessions: Iterable[tuple[str, str]], *, skips_queued: bool = False, has_begun: bool = False
    ) -> Sequence[tuple[str, str]]:
        jobs = [part for session in sessions for part in (keys.pack_session(*session), _build_wake_job(*session))]
        if not jobs:
            return ()
        arguments: list[Argument] = [
            int(skips_queued),
            int(has_begun),
            _DOORBELL_RINGS_KEPT,
            _WAKE_LIFETIME_MS,
            _PLACES_LIFETIME_MS,
        ]
        key_names = (keys.QUEUE_KEY, keys.QUEUE_PLACES_KEY, keys.TAKEN_WAKES_KEY, keys.DOORBELL_KEY)
        arguments += [job_key_prefix, in_progress_key_prefix, *jobs]
        queued_ids = await self._scripts.run("queue_wakes", key_names, arguments)
        return [keys.unpack_member(keys.SessionMember, job_id) for job_id in cast("list[str]", queued_ids)]


def _build_wake_job(tenant: str, session_id: str) -> str:
    now = int(time.time() * 1000)
    return serialize_job(WAKE_JOB, (tenant, session_id), {}, None, now, serializer=job_to_bytes).decode()

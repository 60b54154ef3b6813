"""Clients' own task ids, and the readiness checks of the gateway, in Redis."""

import asyncio
from collections.abc import Awaitable
from typing import NamedTuple, cast

from redis.asyncio import Redis

from services.gateway.edge.keep_alive import ShutdownState
from shared.contracts.task import TaskRecord
from shared.domain.lru_cache import LruCache
from shared.infra import keys
from shared.infra.keys import CLIENT_TASK_ID_SECONDS, client_task_key
from shared.infra.lua import ScriptedStore, bounded_redis_calls
from shared.infra.redis import VolatileRedis, require_durable_redis, require_writable_redis
from shared.infra.stored_tasks import parse_task_record
from shared.ports.store import StoreUnavailable
from shared.ports.tasks import Tasks


class MessageKey(NamedTuple):
    """Identifies a message of a task. ``alias``: the client's id of the task; ``fingerprint``: of the message."""

    tenant: str
    alias: str
    fingerprint: str = ""


class FoundTask(NamedTuple):
    """The newest task with a client's id, and what is recorded of one message with that id.

    ``signalled_turn_id``: the turn of a decision that was already stored. ``answered_turn_id``: the last turn whose
    answer the client has received; before that, an equal message is a repeat.
    """

    key: MessageKey
    record: TaskRecord | None = None
    signalled_turn_id: str = ""
    answered_turn_id: str = ""


_TASK_FIELD = "task"
_MOST_CACHED_TASKS = 1024
_LARGEST_CACHED_RECORD = 64 * 1024  # characters; with ``_MOST_CACHED_TASKS``, what is kept stays within bounds
MOST_RECORDED_MESSAGES = 4096  # notes under one id: a client that uses one id for ever must not fill the store


class _CachedTask(NamedTuple):
    """A cache entry of a task: where it is stored, and its record as last read."""

    session_id: str
    record_json: str = ""
    record: TaskRecord | None = None


def _name_message_fields(fingerprint: str) -> list[str]:
    """The fields, in the hash of a client's task id, that tell what became of the message with this fingerprint."""
    return [_TASK_FIELD, f"signalled:{fingerprint}", f"answered:{fingerprint}"]


class RedisClientIds(ScriptedStore):
    """Maps clients' own task ids to tasks, and records messages' turns. All methods may raise ``StoreUnavailable``."""

    def __init__(self, redis: Redis, tasks: Tasks) -> None:
        super().__init__(redis)
        self._tasks = tasks
        self._cached_tasks = LruCache[tuple[str, str], _CachedTask](_MOST_CACHED_TASKS)

    async def find_task(self, key: MessageKey) -> FoundTask:
        """The newest task with the id; one round trip for a task that this process has cached."""
        tenant, alias, fingerprint = key
        cached = self._cached_tasks.look_up((tenant, alias))
        if cached is None:
            return await self._find_uncached(key)
        fields, place, record_json = await self._scripts.execute_commands(
            ("HMGET", client_task_key(tenant, alias), *_name_message_fields(fingerprint)),
            ("GET", keys.task_location_key(tenant, alias)),
            ("HGET", keys.task_keys(tenant, cached.session_id, alias).record, "json"),
        )
        task_id, signalled_turn_id, answered_turn_id = (field or "" for field in cast("list[str | None]", fields))
        is_there = place == f"{alias}\n{cached.session_id}" and task_id in ("", alias)
        if not is_there or not isinstance(record_json, str):
            self._cached_tasks.pop((tenant, alias), None)
            return await self._find_uncached(key)
        if cached.record is not None and record_json == cached.record_json:
            return FoundTask(key, cached.record, signalled_turn_id, answered_turn_id)
        record = parse_task_record(record_json)
        self._cache_task(record, record_json)
        return FoundTask(key, record, signalled_turn_id, answered_turn_id)

    async def _find_uncached(self, key: MessageKey) -> FoundTask:
        name = client_task_key(key.tenant, key.alias)
        fields = await self._scripts.execute("HMGET", name, *_name_message_fields(key.fingerprint))
        task_id, signalled_turn_id, answered_turn_id = cast("list[str | None]", fields)
        record = await self._tasks.get_record(key.tenant, task_id or key.alias)
        if record is not None and record.task_id == key.alias and task_id in (None, key.alias):
            self._cache_task(record, "")
        return FoundTask(key, record, signalled_turn_id or "", answered_turn_id or "")

    def _cache_task(self, record: TaskRecord, record_json: str) -> None:
        """Cache a task's place, and its record unless it is large."""
        cached = (record_json, record) if 0 < len(record_json) <= _LARGEST_CACHED_RECORD else ()
        self._cached_tasks.put((record.tenant, record.task_id), _CachedTask(record.session_id, *cached))

    async def record_task(self, key: MessageKey, task_id: str) -> None:
        await self._store_field(key, _TASK_FIELD, task_id)

    async def record_signal(self, key: MessageKey, turn_id: str) -> None:
        await self._store_field(key, f"signalled:{key.fingerprint}", turn_id)

    async def record_answer_received(self, key: MessageKey, turn_id: str) -> None:
        await self._store_field(key, f"answered:{key.fingerprint}", turn_id)

    async def _store_field(self, key: MessageKey, field: str, value: str) -> None:
        name = client_task_key(key.tenant, key.alias)
        async with bounded_redis_calls(), self._redis.pipeline(transaction=True) as pipe:
            pipe.hset(name, field, value)
            pipe.expire(name, CLIENT_TASK_ID_SECONDS)
            pipe.hlen(name)
            *_, count = cast("list[int]", await pipe.execute())
        if count > MOST_RECORDED_MESSAGES:
            await self._evict_random_fields(name, field)

    async def _evict_random_fields(self, key: str, newest: str) -> None:
        """Delete some random entries: each matters only to a client that sends the very same message again."""
        names = cast("list[str]", await self._scripts.execute("HRANDFIELD", key, MOST_RECORDED_MESSAGES // 4))
        if some := [field for field in names if field not in (_TASK_FIELD, newest)]:
            await self._scripts.execute("HDEL", key, *some)


_TIMEOUT_SECONDS = 3.0


class RedisReadiness:
    def __init__(self, state: Redis, queue: Redis, shutdown: ShutdownState, *, allow_volatile: bool) -> None:
        self._state = state
        self._queue = queue
        self._shutdown = shutdown
        self._allow_volatile = allow_volatile

    async def find_problems(self) -> tuple[str, ...]:
        """Why this replica should get no requests, one sentence each; empty if it is ready."""
        if self._shutdown.is_announced:
            return ("draining: this replica was told to stop, and finishes what it has begun",)
        state = self._describe_problem("The state store (REDIS_URL)", self._check_state_store())
        queue = self._describe_problem("The queue (QUEUE_REDIS_URL)", self._queue.ping())
        return tuple(problem for problem in await asyncio.gather(state, queue) if problem)

    async def _check_state_store(self) -> None:
        await require_writable_redis(self._state)
        await require_durable_redis(self._state, allow_volatile=self._allow_volatile)

    async def _describe_problem(self, name: str, check: Awaitable[object]) -> str | None:
        """Why the check of a Redis failed, as a sentence; None if it did not."""
        try:
            async with bounded_redis_calls(_TIMEOUT_SECONDS):
                await check
        except VolatileRedis as error:
            return str(error)
        except StoreUnavailable as error:
            return f"{name} cannot be used: {error}"
        return None

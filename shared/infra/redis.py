"""Connects to Redis, and refuses a server that could lose data."""

import asyncio
from typing import Annotated, Self, cast

from pydantic import AfterValidator, Field, model_validator
from redis.asyncio import Redis
from redis.exceptions import ResponseError

from shared.infra import keys
from shared.infra.lineage import RedisLineage, get_lineage
from shared.infra.lua import Scripts, bounded_redis_calls
from shared.infra.redis_address import parse_redis_address
from shared.infra.redis_cluster import ClusterRedis
from shared.infra.redis_pools import PrimaryPool
from shared.infra.service_settings import Settings
from shared.ports.store import StoreUnavailable

START_SECONDS = 4.0  # a server that is just being restarted
_START_PAUSE_SECONDS = 0.1
_DURABLE_SETTINGS = {"appendonly": "yes", "appendfsync": "always", "maxmemory-policy": "noeviction"}


def _require_valid_redis_url(url: str) -> str:
    parse_redis_address(url)
    return url


def _require_valid_queue_url(url: str) -> str:
    if url and parse_redis_address(url).kind == "cluster":
        raise ValueError("the queue needs one primary, or a service that sentinels watch, not a cluster")
    return url


RedisUrl = Annotated[str, AfterValidator(_require_valid_redis_url)]
"""A setting that names the state's Redis: one server, a service that sentinels watch, or a cluster."""

QueueRedisUrl = Annotated[str, AfterValidator(_require_valid_queue_url)]
"""A setting that names the queue's Redis, which cannot be a cluster; empty for the state's."""


class StateSettings(Settings):
    """The Redis of durable state."""

    redis_url: RedisUrl = Field(
        description="the Redis of durable state: redis://, rediss://, unix://, redis+sentinel://, redis+cluster://"
    )
    allow_volatile_redis: bool = Field(
        default=False,
        description="serve on a Redis that does not show that it is durable, or may not be asked for failovers",
    )


class QueueSettings(StateSettings):
    """The Redis of durable state, and that of the queue."""

    queue_redis_url: QueueRedisUrl = Field(
        default="", description="the Redis of the queue, which may be lost; empty: REDIS_URL"
    )

    @model_validator(mode="after")
    def _check_queue_address(self) -> Self:
        """Raises if the queue would have to be on a Redis Cluster, which cannot hold it."""
        if not self.queue_redis_url and parse_redis_address(self.redis_url).kind == "cluster":
            raise ValueError("QUEUE_REDIS_URL is not set, and REDIS_URL names a cluster, which cannot hold the queue")
        return self

    @property
    def queue_url(self) -> str:
        return self.queue_redis_url or self.redis_url


class VolatileRedis(Exception):
    """The Redis server may lose data that it has acknowledged. The message is for operators."""


def connect(url: str) -> Redis:
    """A client for a ``RedisUrl``; replies are decoded. Close it with ``aclose()``.

    Connecting is bounded and retried, a command that may have been sent is not; ``bounded_redis_calls()`` limits it.
    """
    address = parse_redis_address(url)
    if address.kind == "cluster":
        return cast(Redis, ClusterRedis(address))  # type: ignore[abstract]  # a cluster lacks a pool that redis-py declares
    return Redis.from_pool(PrimaryPool(address, RedisLineage(address.confirm_replicas)))


def make_queue_pool(url: str) -> PrimaryPool:
    """A connection pool for arq, without decoding of replies."""
    return PrimaryPool(parse_redis_address(url), decodes=False)


async def require_durable_redis(redis: Redis, *, allow_volatile: bool = False) -> None:
    """Raises ``VolatileRedis`` unless every acknowledged write is on disk, nothing is evicted and failovers are
    noticed.

    With ``allow_volatile`` (``ALLOW_VOLATILE_REDIS``) nothing is checked. Raises ``StoreUnavailable`` if Redis does not
    answer.
    """
    if allow_volatile:
        get_lineage(redis).accept_failover_risk()
        return
    configuration = await _read_configuration(redis)
    problems = [
        f"{name} is {configuration.get(name)!r}, not {value!r}"
        for name, value in _DURABLE_SETTINGS.items()
        if configuration.get(name) != value
    ]
    if problems:
        raise VolatileRedis(
            f"REDIS_URL must name a server that forgets nothing: {', '.join(problems)}; "
            "set ALLOW_VOLATILE_REDIS=true to allow it."
        )
    _require_noticed_failovers(redis)


async def require_writable_redis(redis: Redis) -> None:
    """Raises ``StoreUnavailable`` if the server refuses writes, as when its memory is full (``noeviction``)."""
    await Scripts(redis, patience=0).run("probe", [keys.PROBE_KEY], [])


def _require_noticed_failovers(redis: Redis) -> None:
    """Raises if a failover of Redis could go unnoticed now.

    ``VolatileRedis`` if the server's user lacks the permission to tell, ``StoreUnavailable`` if it may be transient.
    """
    problem = get_lineage(redis).failover_risk
    if problem is None:
        return
    if problem.may_pass:
        raise StoreUnavailable(f"Redis cannot say whether it has failed over: {problem.message}")
    raise VolatileRedis(str(problem))


async def require_durable_redis_at_start(
    redis: Redis, *, allow_volatile: bool = False, seconds: float = START_SECONDS
) -> None:
    """Like ``require_durable_redis``, at start-up: waits up to ``seconds`` for a server that does not answer yet.

    Raises ``VolatileRedis``, and ``StoreUnavailable`` if the server has not answered by then.
    """
    clock = asyncio.get_running_loop().time
    until = clock() + seconds
    while True:
        try:
            return await require_durable_redis(redis, allow_volatile=allow_volatile)
        except StoreUnavailable:
            if clock() >= until:
                raise
        await asyncio.sleep(_START_PAUSE_SECONDS)


async def _read_configuration(redis: Redis) -> dict[str, str]:
    async with bounded_redis_calls():
        try:
            configuration = await redis.config_get(*_DURABLE_SETTINGS)  # type: ignore[arg-type]  # redis-py means one name each
        except ResponseError as error:
            raise VolatileRedis(
                f"REDIS_URL names a server that does not show its configuration ({error}); "
                "set ALLOW_VOLATILE_REDIS=true if you know that it is durable."
            ) from error
    return cast(dict[str, str], configuration)

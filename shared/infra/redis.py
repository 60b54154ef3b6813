"""Connections to Redis, and the refusal of a server that would forget."""

from typing import Annotated, cast

from pydantic import AfterValidator
from redis.asyncio import Redis
from redis.asyncio.connection import parse_url
from redis.asyncio.retry import Retry
from redis.backoff import ExponentialBackoff
from redis.exceptions import ResponseError

from shared.infra.lua import answering

CONNECT_SECONDS = 2.0
_DURABLE = {"appendonly": "yes", "appendfsync": "always", "maxmemory-policy": "noeviction"}


def _readable(url: str) -> str:
    try:
        parse_url(url)
    except ValueError:  # its words may hold a piece of a password
        raise ValueError("it must be like redis://host:6379/0, rediss://host:6379/0 or unix:///path") from None
    return url


RedisUrl = Annotated[str, AfterValidator(_readable)]
"""A setting that names a Redis server: ``redis://``, ``rediss://`` or ``unix://``."""


class VolatileRedis(Exception):
    """The server may lose what it has acknowledged. The message is a sentence for an operator."""


def connect(url: str) -> Redis:
    """A client for ``redis://``, ``rediss://`` and ``unix://`` URLs; texts are decoded. Close it with ``aclose()``.

    Connecting is bounded and retried; a command that may have been sent is not. Bound commands with ``answering()``.
    """
    return cast(
        Redis,
        Redis.from_url(
            url,
            decode_responses=True,
            socket_connect_timeout=CONNECT_SECONDS,
            retry=Retry(ExponentialBackoff(cap=0.5, base=0.05), 3),
            **_keepalive(url),
        ),
    )


def _keepalive(url: str) -> dict[str, bool]:
    return {} if url.startswith("unix:") else {"socket_keepalive": True}


async def check_durable(redis: Redis, *, allow_volatile: bool = False) -> None:
    """Raise ``VolatileRedis`` unless every acknowledged write is on disk and nothing is evicted.

    ``allow_volatile`` is the operator's ``ALLOW_VOLATILE_REDIS=true``.
    Raises ``StoreUnavailable`` if Redis does not answer.
    """
    if allow_volatile:
        return
    found = await _configuration(redis)
    wrong = [
        f"{name} is {found.get(name)!r}, not {value!r}" for name, value in _DURABLE.items() if found.get(name) != value
    ]
    if wrong:
        raise VolatileRedis(
            f"REDIS_URL must name a server that forgets nothing: {', '.join(wrong)}; "
            "set ALLOW_VOLATILE_REDIS=true to allow it."
        )


async def _configuration(redis: Redis) -> dict[str, str]:
    async with answering():
        try:
            found = await redis.config_get(*_DURABLE)  # type: ignore[arg-type]  # redis-py means one name each
        except ResponseError as error:
            raise VolatileRedis(
                f"REDIS_URL names a server that does not show its configuration ({error}); "
                "set ALLOW_VOLATILE_REDIS=true if you know that it is durable."
            ) from error
    return cast(dict[str, str], found)

"""What an earlier revision stored in Redis, kept as one JSON line a key, so that a later one can be shown to open it.

``python -m tests.golden.stored_state FOLDER FILE`` writes what the embedded server in ``FOLDER`` holds.
"""

import asyncio
import gzip
import json
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from redis.asyncio import Redis

from shared.infra.compression import DECODING_ERRORS
from shared.infra.embedded_redis import EmbeddedRedis
from shared.infra.redis import connect

_FEW = 500


async def dump(redis: Redis) -> bytes:
    """Every key with its type and value, packed; expiry is left out, since a file does not grow old."""
    rows = [json.dumps(row, sort_keys=True) async for row in _rows(redis)]
    return gzip.compress("\n".join(sorted(rows)).encode(), mtime=0)


async def load(redis: Redis, packed: bytes) -> int:
    """Store every row of such a file; how many there were."""
    rows = [json.loads(line) for line in gzip.decompress(packed).decode().splitlines()]
    for row in rows:
        await _store(redis, row)
    return len(rows)


async def _rows(redis: Redis) -> AsyncIterator[dict[str, Any]]:
    async for key in redis.scan_iter(count=_FEW):
        kind = await redis.type(key)
        yield {"key": key, "type": kind, "value": await _value(redis, key, kind)}


async def _value(client: Redis, key: str, kind: str) -> object:
    redis: Any = client  # its types are those of both clients, the waiting one and the other
    match kind:
        case "string":
            return await redis.get(key)
        case "hash":
            return await redis.hgetall(key)
        case "list":
            return await redis.lrange(key, 0, -1)
        case "set":
            return sorted(await redis.smembers(key))
        case "zset":
            return await redis.zrange(key, 0, -1, withscores=True)
        case "stream":
            return await redis.xrange(key)
    raise ValueError(f"{key} is of type {kind}, which nothing here stores")


async def _store(client: Redis, row: dict[str, Any]) -> None:
    redis: Any = client
    key: str = row["key"]
    value: Any = _as_stored(row["value"])
    match row["type"]:
        case "string":
            await redis.set(key, value)
        case "hash":
            await redis.hset(key, mapping=value)
        case "list":
            await redis.rpush(key, *value)
        case "set":
            await redis.sadd(key, *value)
        case "zset":
            await redis.zadd(key, dict(value))
        case "stream":
            for entry, fields in value:
                await redis.xadd(key, fields, id=entry)


def _as_stored(value: object) -> object:
    """Texts as the bytes that they were read from: packed ones are no UTF-8."""
    match value:
        case str():
            return value.encode(errors=DECODING_ERRORS)
        case list():
            return [_as_stored(one) for one in value]
        case dict():
            return {name: _as_stored(one) for name, one in value.items()}
    return value


async def _dump_folder(folder: Path) -> bytes:
    with EmbeddedRedis(folder) as server:
        redis = connect(server.url)
        packed = await dump(redis)
        await redis.aclose()
    return packed


if __name__ == "__main__":
    Path(sys.argv[2]).write_bytes(asyncio.run(_dump_folder(Path(sys.argv[1]))))

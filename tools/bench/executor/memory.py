"""What a Redis server's keys take, what for, and for how long."""

from collections.abc import AsyncIterator, Sequence
from typing import NamedTuple, cast

from redis.asyncio import Redis

_PAGE = 1000


class MeasuredKey(NamedTuple):
    """``kind``: the last word of a session's or task's key, the first one of others. ``seconds``: None is for good."""

    kind: str
    size: int
    seconds: float | None

    def outlives(self, seconds: float) -> bool:
        return self.seconds is None or self.seconds > seconds


async def all_keys(redis: Redis) -> list[MeasuredKey]:
    """Every key with its bytes as the server counts them, its share of the tables that the keys stand in included."""
    found = [key async for page in _scan_keys(redis) for key in await _measure_keys(redis, page)]
    share = await _count_table_bytes(redis) // max(1, len(found))
    return [key._replace(size=key.size + share) for key in found]


async def sent_bytes(redis: Redis) -> int:
    """What the server has sent to its clients since it started."""
    found = await redis.info("stats")
    return int(found["total_net_output_bytes"])


async def _measure_keys(redis: Redis, names: Sequence[str]) -> list[MeasuredKey]:
    async with redis.pipeline(transaction=False) as asking:
        for name in names:
            asking.memory_usage(name, samples=0)
            asking.pttl(name)
        replies = cast("list[int | None]", await asking.execute())
    rows = zip(names, replies[::2], replies[1::2], strict=True)
    return [MeasuredKey(_key_kind(name), size or 0, ms / 1000 if ms and ms >= 0 else None) for name, size, ms in rows]


async def _count_table_bytes(redis: Redis) -> int:
    stats = cast("dict[str, int | dict[str, int]]", await redis.memory_stats())
    tables = (table for name, table in stats.items() if name.startswith("db.") and isinstance(table, dict))
    return sum(sum(table.values()) for table in tables)


async def _scan_keys(redis: Redis) -> AsyncIterator[list[str]]:
    cursor = 0
    while True:
        cursor, names = cast("tuple[int, list[str]]", await redis.scan(cursor, count=_PAGE))
        yield names
        if cursor == 0:
            return


def _key_kind(name: str) -> str:
    parts = name.split(":")
    if parts[1].startswith("{p"):
        return "dedupe" if parts[2] == "dedupe" else parts[-1]
    return parts[-1] if parts[1] == "{t" else parts[1]

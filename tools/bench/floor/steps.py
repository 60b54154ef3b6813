"""The floor's four scripts: what a durable task needs of Redis at the least, each atomic, fenced after the claim."""

from redis.asyncio import Redis

_ACCEPT = """
if redis.call('EXISTS', KEYS[1]) == 1 then return 0 end
redis.call('HSET', KEYS[1], 'task', ARGV[1], 'state', 'submitted', 'fence', 0)
redis.call('XADD', KEYS[2], '*', 'kind', 'submitted')
redis.call('ZADD', KEYS[3], ARGV[2], KEYS[1])
return 1
"""
_CLAIM = """
if redis.call('ZREM', KEYS[3], KEYS[1]) == 0 then return false end
redis.call('HSET', KEYS[1], 'state', 'working', 'owner', ARGV[1], 'reserved', ARGV[2])
redis.call('XADD', KEYS[2], '*', 'kind', 'working')
return {redis.call('HINCRBY', KEYS[1], 'fence', 1), redis.call('HGET', KEYS[1], 'task')}
"""
_APPEND = """
if redis.call('HGET', KEYS[1], 'fence') ~= ARGV[1] then return 0 end
redis.call('RPUSH', KEYS[4], ARGV[2])
redis.call('XADD', KEYS[2], '*', 'kind', ARGV[3])
redis.call('HINCRBY', KEYS[1], 'reserved', ARGV[4])
return 1
"""
_FINISH = """
if redis.call('HGET', KEYS[1], 'fence') ~= ARGV[1] then return 0 end
redis.call('HSET', KEYS[1], 'state', 'completed', 'answer', ARGV[2], 'owner', '')
redis.call('XADD', KEYS[2], '*', 'kind', 'completed')
redis.call('XADD', KEYS[5], '*', 'task', KEYS[1], 'outcome', ARGV[2])
return 1
"""


class FenceLost(Exception):
    """Another worker holds the task."""


class FloorTurn:
    """One task's way through Redis. Raises ``FenceLost`` where a step comes from a worker that does not hold it."""

    def __init__(self, redis: Redis, name: str) -> None:
        self._accept, self._claim = redis.register_script(_ACCEPT), redis.register_script(_CLAIM)
        self._append, self._finish = redis.register_script(_APPEND), redis.register_script(_FINISH)
        self._keys = [f"task:{name}", f"events:{name}", "due", f"journal:{name}", "outcomes"]
        self._fence = ""

    async def accept(self, task: str, now: float) -> None:
        await self._accept(self._keys, [task, now])

    async def claim(self, owner: str, reserved: int) -> str:
        """Takes the task for ``owner``; returns its text. Raises ``FenceLost`` if there is nothing to take."""
        found = await self._claim(self._keys, [owner, reserved])
        if not found:
            raise FenceLost(self._keys[0])
        self._fence = str(found[0])
        return str(found[1])

    async def append(self, entry: bytes, event: str, reserved: int = 0) -> None:
        if not await self._append(self._keys, [self._fence, entry, event, reserved]):
            raise FenceLost(self._keys[0])

    async def finish(self, answer: str) -> None:
        if not await self._finish(self._keys, [self._fence, answer]):
            raise FenceLost(self._keys[0])

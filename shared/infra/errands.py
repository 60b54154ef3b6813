"""Something that one service has another one do, and waits for: a short list in Redis, and a reply to each.

Nothing is promised but an answer: who asks and hears nothing asks again, so what is asked for must bear repetition.
"""

import asyncio
from typing import NamedTuple, cast
from uuid import uuid4

from redis.asyncio import Redis

from shared.infra import keys
from shared.infra.lua import Scripts, answering

_MARGIN_SECONDS = 5.0
_LOOK_SECONDS = 0.05


class Errand(NamedTuple):
    errand_id: str
    text: str


class Errands:
    """``doer`` is the service that does it. Every method may raise ``StoreUnavailable``."""

    def __init__(self, redis: Redis, doer: str) -> None:
        self._redis = redis
        self._scripts = Scripts(redis)
        self._queue = keys.errands_key(doer)

    async def ask(self, text: str, seconds: float) -> str | None:
        """The answer; None if nobody gives one in time."""
        errand = Errand(uuid4().hex, text)
        await self.leave(errand, seconds)
        until = asyncio.get_running_loop().time() + seconds
        while asyncio.get_running_loop().time() < until:
            answer = await self._scripts.command("GET", keys.errand_key(errand.errand_id))
            if answer is not None:
                return str(answer)
            await asyncio.sleep(_LOOK_SECONDS)
        return None

    async def leave(self, errand: Errand, seconds: float) -> None:
        """Have it done some time, if somebody comes within so many seconds."""
        await self._scripts.command("RPUSH", self._queue, f"{errand.errand_id}\n{errand.text}")
        await self._scripts.command("EXPIRE", self._queue, max(1, int(seconds)))

    async def next(self, seconds: float) -> Errand | None:
        """The next one to do, as soon as there is one; None if there is none in that time."""
        async with answering(seconds + _MARGIN_SECONDS):
            found = await cast("asyncio.Future[tuple[str, str] | None]", self._redis.blpop([self._queue], seconds))
        if found is None:
            return None
        errand_id, _, text = found[1].partition("\n")
        return Errand(errand_id, text)

    async def answer(self, errand: Errand, text: str) -> None:
        await self._scripts.command("SET", keys.errand_key(errand.errand_id), text, "EX", keys.ERRAND_SECONDS)

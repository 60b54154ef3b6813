"""Runs the scripts of ``shared/infra/scripts`` by their digest, loading them where the server does not know them."""

import asyncio
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from functools import cache
from pathlib import Path
from typing import TypeAlias, cast

from redis.asyncio import Redis
from redis.asyncio.client import Pipeline
from redis.commands.core import AsyncScript
from redis.exceptions import RedisError, ResponseError

from shared.ports.store import StoreUnavailable

Reply: TypeAlias = "str | int | None | list[Reply]"
Argument: TypeAlias = "str | int | float"

ANSWER_SECONDS = 5.0
_FOLDER = Path(__file__).parent / "scripts"


@cache
def source(name: str) -> str:
    """A script's text, the common prelude before it."""
    return f"{(_FOLDER / 'prelude.lua').read_text()}\n{(_FOLDER / f'{name}.lua').read_text()}"


class Scripts:
    """The scripts on one server. A failing server raises ``StoreUnavailable``."""

    def __init__(self, redis: Redis) -> None:
        self._redis = redis
        self._known: dict[str, AsyncScript] = {}

    async def run(self, name: str, keys: Sequence[str], arguments: Iterable[Argument]) -> Reply:
        async with answering():
            return cast(Reply, await self._script(name)(keys=keys, args=arguments))

    async def run_many(self, name: str, calls: Iterable[tuple[Sequence[str], Sequence[Argument]]]) -> list[Reply]:
        """The same script on many sets of keys, in one round trip."""
        async with answering(), self._redis.pipeline(transaction=False) as pipe:
            await self._queue(pipe, name, calls)
            return cast(list[Reply], await pipe.execute())

    async def run_each(
        self, name: str, calls: Iterable[tuple[Sequence[str], Sequence[Argument]]]
    ) -> "list[Reply | ResponseError]":
        """Like ``run_many``, but a call that the server refused has its error in place of a reply."""
        async with answering(), self._redis.pipeline(transaction=False) as pipe:
            await self._queue(pipe, name, calls)
            return cast("list[Reply | ResponseError]", await pipe.execute(raise_on_error=False))

    async def command(self, *words: Argument) -> object:
        """One plain command, with the same errors."""
        async with answering():
            return cast(object, await self._redis.execute_command(*words))  # type: ignore[no-untyped-call]  # redis-py

    async def _queue(
        self, pipe: Pipeline, name: str, calls: Iterable[tuple[Sequence[str], Sequence[Argument]]]
    ) -> None:
        script = self._script(name)
        for keys, arguments in calls:
            await script(keys=keys, args=arguments, client=pipe)

    def _script(self, name: str) -> AsyncScript:
        if name not in self._known:
            self._known[name] = self._redis.register_script(source(name))
        return self._known[name]


@asynccontextmanager
async def answering(seconds: float = ANSWER_SECONDS) -> AsyncIterator[None]:
    """Bounds what is asked of Redis inside, and turns its errors into ``StoreUnavailable``.

    redis-py's own ``socket_timeout`` stays off: it uses ``asyncio.wait_for``, which before Python 3.12 can swallow a
    cancellation, and a turn whose lease is lost, or a process that stops, must not go on.
    """
    try:
        async with asyncio.timeout(seconds):
            yield
    except (RedisError, OSError) as error:
        raise unavailable(error) from error


def unavailable(error: Exception) -> StoreUnavailable:
    return StoreUnavailable(f"Redis does not answer as it should: {type(error).__name__}: {error}")

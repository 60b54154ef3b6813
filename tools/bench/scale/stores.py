"""What is kept: learned things to their caps, tenants, long sessions, waiting and finished ones, archived tasks."""

import asyncio
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from itertools import count
from pathlib import Path

from redis.asyncio import Redis

from services.executor.adapters.redis_learned import RedisLearnedStore
from shared.contracts.relevance import ENTITIES_KEPT, FACTS_KEPT
from shared.domain.cases import CASES_KEPT
from shared.infra.archive_folder import FolderArchive, build_archive_file_name, build_tenant_folder_name
from shared.infra.embedded_redis import EmbeddedRedis
from shared.infra.redis import connect
from tools.bench.executor.installation import BenchInstallation, installation
from tools.bench.executor.recall import fill_learned
from tools.bench.scale.growth import Growth, median_times

_PROCESS = "expense_approval"
_AT_ONCE, _TURNS_AT_ONCE = 500, 50
_ENVELOPE = b"x" * 8_000
_LEARNED = "what was learned travels whole, as much as is kept: the caps bound it"
_ARCHIVED = "the file system syncs a folder of so many names"


async def grow_learned(small: int, repeats: int) -> Growth:
    """``small``: cases, facts and entities of the tenant that is beside the one with as many as are kept."""
    async with _redis() as redis:
        await fill_learned(redis, ["little"], small, small, small)
        await fill_learned(redis, ["full"], CASES_KEPT, FACTS_KEPT, ENTITIES_KEPT)
        learned = RedisLearnedStore(redis)
        times = await median_times(
            lambda: learned.recall("little", _PROCESS), lambda: learned.recall("full", _PROCESS), repeats
        )
    return Growth("cases, facts, entities", "what was learned is recalled", small, ENTITIES_KEPT, *times, _LEARNED)


async def grow_tenants(small: int, large: int, repeats: int) -> Growth:
    async with _redis() as few, _redis() as many:
        for redis, tenants in ((few, small), (many, large)):
            names = [f"tenant-{number}" for number in range(tenants)]
            for first in range(0, tenants, _AT_ONCE):
                await fill_learned(redis, names[first : first + _AT_ONCE], 3, 3, 3)
        among_few, among_many = RedisLearnedStore(few), RedisLearnedStore(many)
        times = await median_times(
            lambda: among_few.recall("tenant-0", _PROCESS), lambda: among_many.recall("tenant-0", _PROCESS), repeats
        )
    return Growth("tenants", "what was learned is recalled", small, large, *times)


async def grow_turns(large: int, repeats: int) -> Growth:
    async with _installation() as place:
        for _ in range(large):
            await place.run_turn("long")
        fresh = (f"fresh-{number}" for number in count())
        times = await median_times(lambda: place.run_turn(next(fresh)), lambda: place.run_turn("long"), repeats)
    return Growth("turns of a session", "a turn is accepted, claimed, stored and ended", 1, large, *times)


async def grow_finished(small: int, large: int, repeats: int) -> Growth:
    return await _grow_installation("finished sessions", _fill_finished, small, large, repeats)


async def grow_waiting(small: int, large: int, repeats: int) -> Growth:
    return await _grow_installation("waiting sessions", _fill_waiting, small, large, repeats)


async def grow_archive(small: int, large: int, repeats: int) -> tuple[Growth, Growth]:
    with tempfile.TemporaryDirectory(prefix="pa-bench-") as folder:
        few = _filled_archive(Path(folder) / "few", small)
        many = _filled_archive(Path(folder) / "many", large)
        reads = await median_times(lambda: few.get("t", "task-1"), lambda: many.get("t", "task-1"), repeats)
        writes = await median_times(
            lambda: few.put("t", "new", _ENVELOPE), lambda: many.put("t", "new", _ENVELOPE), repeats
        )
    return (
        Growth("archived tasks of a tenant", "one is read", small, large, *reads),
        Growth("archived tasks of a tenant", "one is written and synced", small, large, *writes, _ARCHIVED),
    )


async def _grow_installation(
    of: str, fill: Callable[[BenchInstallation, int], Awaitable[None]], small: int, large: int, repeats: int
) -> Growth:
    async with _installation() as few, _installation() as many:
        await fill(few, small)
        await fill(many, large)
        times = await median_times(lambda: few.run_turn("another"), lambda: many.run_turn("another"), repeats)
    return Growth(of, "a turn is accepted, claimed, stored and ended", small, large, *times)


async def _fill_finished(place: BenchInstallation, sessions: int) -> None:
    for first in range(0, sessions, _TURNS_AT_ONCE):
        names = [f"finished-{number}" for number in range(first, min(sessions, first + _TURNS_AT_ONCE))]
        await asyncio.gather(*map(place.run_turn, names))
        await place.archive()
        await place.learn()


async def _fill_waiting(place: BenchInstallation, sessions: int) -> None:
    for first in range(0, sessions, _TURNS_AT_ONCE):
        names = [f"waiting-{number}" for number in range(first, min(sessions, first + _TURNS_AT_ONCE))]
        await asyncio.gather(*map(place.accept, names))


def _filled_archive(folder: Path, tasks: int) -> FolderArchive:
    """Empty files stand for tasks: what is asked is how a folder of so many is read and written."""
    place = folder / build_tenant_folder_name("t")
    place.mkdir(parents=True)
    for number in range(tasks):
        (place / build_archive_file_name(f"task-{number}")).touch()
    (place / build_archive_file_name("task-1")).write_bytes(_ENVELOPE)
    return FolderArchive(folder)


@asynccontextmanager
async def _redis() -> AsyncIterator[Redis]:
    with (
        tempfile.TemporaryDirectory(prefix="pa-bench-") as folder,
        EmbeddedRedis(Path(folder), is_durable=False) as server,
    ):
        redis = connect(server.url)
        try:
            yield redis
        finally:
            await redis.aclose()


@asynccontextmanager
async def _installation() -> AsyncIterator[BenchInstallation]:
    with (
        tempfile.TemporaryDirectory(prefix="pa-bench-") as folder,
        EmbeddedRedis(Path(folder), is_durable=False) as server,
    ):
        async with installation(server.url) as place:
            yield place

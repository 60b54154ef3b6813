"""One task's page, with a worker behind it: what its end rests on, while it is stored and once it is archived."""

from pathlib import Path

import pytest
from redis.asyncio import Redis

from services.executor.adapters.redis_ended import RedisEndedTasks
from services.executor.core.turn.archiving import Archiver
from shared.domain.partition import PARTITIONS
from shared.infra.archive_open import ArchiveSettings, new_key
from tests.http_client import open_http
from tests.integration.approval_stage import Office, asks, office
from tests.integration.test_console import Reader
from tests.unit.executor.stage import Stage

RESTS_ON = (
    "approve_claim",
    "from the request",
    "What get_claim showed",
    "LIMIT",
    "as agreed",
    "Model calls",
    "How quality was scored",
)
STEPS = ("Called get_claim", "The policy asks for more", "Verified: approve_claim")


def world() -> Stage:
    made = Stage()
    asks(made)
    return made


async def page_of(here: Office, who: str, task: str = "t1") -> str:
    async with open_http(base_url=here.client.base_url, timeout=20, trust_env=False) as http:
        reader = Reader(http)
        await reader.sign_in(key=here.key_of(who)["X-API-Key"])
        await reader.go(f"/console/tasks/{task}")
        return reader.page


async def written(here: Office) -> None:
    await here.ask()
    await here.answer(str((await here.asked())["approval_id"]), "approve", "mia", "as agreed")


async def forget(redis: Redis, *suffixes: str) -> None:
    for name in [str(key) async for key in redis.scan_iter("*")]:
        if name.endswith(suffixes):
            await redis.delete(name)


def spoil(folder: Path) -> None:
    for file in filter(Path.is_file, folder.rglob("*")):
        file.write_bytes(b"spoiled")


@pytest.mark.promise("console.evidence", "console.walls")
async def test_a_tasks_page_tells_what_its_end_rests_on(redis: Redis, redis_url: str) -> None:
    """To who asked, to who approved, and to operators; another tenant's are told nothing."""
    async with office(redis, redis_url, world()) as here:
        await written(here)
        pages = [await page_of(here, who) for who in ("anna", "mia", "olga")]
        outside = await page_of(here, "eve")
    assert [text for text in (*RESTS_ON, *STEPS) for page in pages if text not in page] == []
    assert ("There is no such task" in outside, "approve_claim" in outside) == (True, False)


@pytest.mark.promise("console.evidence")
async def test_it_tells_the_same_once_everything_but_the_record_is_in_the_archive(
    redis: Redis, redis_url: str, tmp_path: Path
) -> None:
    kept = ArchiveSettings(archive_url=tmp_path.as_uri(), archive_key=new_key())
    archive = {"archive_url": kept.archive_url, "archive_key": kept.archive_key}
    async with office(redis, redis_url, world(), **archive) as here:
        await written(here)
        assert await Archiver(RedisEndedTasks(redis), kept.archive()).tick(range(PARTITIONS)) == 1
        await forget(redis, ":ledger", ":approvals", ":events")
        archived = await page_of(here, "olga")
        spoil(tmp_path)
        spoiled = await page_of(here, "olga")
    assert [text for text in (*RESTS_ON, *STEPS) if text not in archived] == []
    assert all(text in spoiled for text in ("approve_claim", "LIMIT", "The steps have left the store"))

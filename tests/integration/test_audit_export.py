"""The audit export over HTTP: of live tasks, of archived ones, and of those of which only the record is left."""

import hashlib
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.parse import quote

import pytest
from redis.asyncio import Redis

from services.executor.adapters.redis_idle import Archiver
from shared.domain.exact_json import JsonObject
from shared.infra.archive_open import ArchiveSettings, generate_encryption_key
from tests.integration.approval_stage import Office, asks, office
from tests.integration.gateway_stage import at, list_at, object_at
from tests.unit.executor.stage import Stage


async def _written(here: Office, task_id: str = "t1") -> None:
    await here.ask(task_id)
    one = next(row for row in await here.inbox("mia") if row["task_id"] == task_id)
    status, _ = await here.answer(str(one["approval_id"]), "approve", "mia", "as agreed")
    assert status == 200


async def _writes(here: Office, query: str = "", by: str = "olga") -> list[JsonObject]:
    found = list_at((await here.request("GET", f"/audit{query}", by))[1], "writes")
    return [row for row in found if isinstance(row, dict)]


def _world() -> Stage:
    world = Stage()
    asks(world)
    return world


@pytest.mark.promise("audit.export")
async def test_a_write_is_told_with_who_what_why_and_proof(redis: Redis, redis_url: str) -> None:
    async with office(redis, redis_url, _world()) as here:
        await _written(here)
        (row,) = await _writes(here)
    assert (row["task_id"], row["asked_by"]) == ("t1", {"id": "anna", "verified": True})
    assert (row["connection"], row["tool"], row["arguments"]) == ("office", "approve_claim", {"claim_id": "C-1"})
    assert row["arguments_sha256"] == hashlib.sha256(b'{"claim_id":"C-1"}').hexdigest()
    decision = object_at(row, "approvals.0.decisions.0")
    assert (decision["by"], decision["decision"], decision["comment"]) == ("mia", "approve", "as agreed")
    assert at(row, "policy.rules.0.rule") == "LIMIT"
    assert (row["status"], at(row, "proof.read_back"), at(row, "proof.shows.status")) == (
        "verified",
        "get_claim",
        "approved",
    )
    assert row["provenance"] == [{"argument": "claim_id", "source": "task", "ref": ""}]
    moments = [datetime.fromisoformat(str(row[name])) for name in ("asked_at", "sent_at", "task_updated_at")]
    assert moments == sorted(moments)


@pytest.mark.promise("audit.export")
async def test_pages_and_filters_and_lines_tell_the_same(redis: Redis, redis_url: str) -> None:
    world = _world()
    async with office(redis, redis_url, world) as here:
        for name in ("t1", "t2", "t3"):
            world.claims.rows["C-1"]["status"] = "open"
            await _written(here, name)
        whole = await _writes(here)
        paged, token = list[JsonObject](), ""
        for _ in range(4):
            page = (await here.request("GET", f"/audit?limit=1&token={token}", "olga"))[1]
            rows, token = page["writes"], str(page["token"])
            assert isinstance(rows, list)
            paged += [row for row in rows if isinstance(row, dict)]
            if not token:
                break
        middle = quote(str(next(row["sent_at"] for row in whole if row["task_id"] == "t2")))
        later = await _writes(here, f"?since={middle}")
        earlier = await _writes(here, f"?until={middle}")
        of_one = await _writes(here, "?task=t2")
        lines = await here.client.get("/audit?format=ndjson", headers=here.key_of("olga"))
    assert [row["task_id"] for row in whole] == ["t3", "t2", "t1"]
    assert paged == whole
    assert ({row["task_id"] for row in later}, {row["task_id"] for row in earlier}) == ({"t2", "t3"}, {"t1"})
    assert of_one == whole[1:2]
    assert lines.headers["content-type"].startswith("application/x-ndjson")
    assert [json.loads(line) for line in lines.text.splitlines()] == whole


@pytest.mark.promise("audit.kept")
async def test_what_has_left_the_store_is_told_from_the_archive(redis: Redis, redis_url: str, tmp_path: Path) -> None:
    """First its details leave, then its record; an export tells the same write all the time, and once."""
    kept = ArchiveSettings(archive_url=tmp_path.as_uri(), archive_key=generate_encryption_key())
    archive = {"archive_url": kept.archive_url, "archive_key": kept.archive_key}
    async with office(redis, redis_url, _world(), **archive) as here:
        await _written(here)
        stored = await _writes(here)
        assert await Archiver(redis, kept.open_task_archive()).archive_once() == 1
        await _forget(redis, ":ledger", ":approvals")
        archived = await _writes(here)
        await _forget(redis, ":record", ":alias:", ":listed:")
        alone = [*await _writes(here), *await _next_page(here)]
        of_one = await _writes(here, "?task=t1")
    assert [row["kept_in"] for row in (*stored, *archived, *alone, *of_one)] == ["store", *["archive"] * 3]
    assert [{**row, "kept_in": "store"} for row in (*archived, *alone, *of_one)] == stored * 3


@pytest.mark.promise("audit.kept")
async def test_an_archived_task_that_cannot_be_read_hides_no_other(
    redis: Redis, redis_url: str, tmp_path: Path
) -> None:
    """It is told by name, at every place where its writes are missing; an archive that is away is an outage."""
    world, kept = _world(), ArchiveSettings(archive_url=tmp_path.as_uri(), archive_key=generate_encryption_key())
    archive = {"archive_url": kept.archive_url, "archive_key": kept.archive_key}
    async with office(redis, redis_url, world, **archive) as here:
        for name in ("t1", "t2"):
            world.claims.rows["C-1"]["status"] = "open"
            await _written(here, name)
        await Archiver(redis, kept.open_task_archive()).archive_once()
        damaged = _damage(tmp_path, "t1")
        await _forget(redis, ":ledger", ":approvals")
        short = await _writes(here, "?task=t1")
        await _forget(redis, ":record", ":alias:", ":listed:")
        alone = [*await _next_page(here), *await _writes(here, "?task=t1&since=2026-01-01")]
        damaged.unlink()
        damaged.mkdir()
        status, _ = await here.request("GET", "/audit?task=t1", "olga")
    assert [(row["task_id"], row["kept_in"], "problem" in row) for row in (*short, *alone)] == [
        ("t1", "record", False), ("t1", "archive", True), ("t1", "archive", True), ("t2", "archive", False),
        ("t1", "archive", True),
    ]  # fmt: skip
    assert ("ARCHIVE_KEY" in str(alone[0]["problem"]), status) == (True, 503)


@pytest.mark.promise("audit.kept")
@pytest.mark.parametrize("gone", [":listed:", ":record"])
async def test_a_write_is_told_once_whichever_of_list_and_record_leaves_first(
    redis: Redis, redis_url: str, tmp_path: Path, gone: str
) -> None:
    kept = ArchiveSettings(archive_url=tmp_path.as_uri(), archive_key=generate_encryption_key())
    archive = {"archive_url": kept.archive_url, "archive_key": kept.archive_key}
    async with office(redis, redis_url, _world(), **archive) as here:
        await _written(here)
        await Archiver(redis, kept.open_task_archive()).archive_once()
        session = str((await _writes(here))[0]["session_id"])
        listed = [len(await _lines(here, query)) for query in ("", f"&session={session}")]
        await _forget(redis, gone)
        left = [len(await _lines(here, query)) for query in ("", f"&session={session}", "&session=other")]
    assert (listed, left) == ([1, 1], [1, 1, 0])


def _damage(folder: Path, task_id: str) -> Path:
    (path,) = folder.rglob(f"{task_id}.task")
    path.write_bytes(path.read_bytes()[:-100])
    return path


async def _lines(here: Office, query: str) -> list[str]:
    return (await here.client.get(f"/audit?format=ndjson{query}", headers=here.key_of("olga"))).text.splitlines()


@pytest.mark.promise("upkeep.goes_on")
@pytest.mark.parametrize(("part", "field"), [("record", "json"), ("approvals", "newer")])
async def test_a_task_of_a_newer_release_is_told_as_far_as_it_can_be_read(
    redis: Redis, redis_url: str, part: str, field: str
) -> None:
    world = _world()
    async with office(redis, redis_url, world) as here:
        for name in ("t1", "t2"):
            world.claims.rows["C-1"]["status"] = "open"
            await _written(here, name)
        (key,) = [name async for name in redis.scan_iter(f"*:t1:{part}")]
        await redis.hset(key, field, "{}")  # type: ignore[misc]  # redis-py
        rows = await _writes(here)
    told = {str(row["task_id"]): (row["kept_in"], "problem" in row) for row in rows}
    assert told == {"t2": ("store", False), "t1": ("store", True) if part == "record" else ("record", False)}


@pytest.mark.promise("audit.export")
async def test_a_page_follows_a_task_of_the_longest_id(redis: Redis, redis_url: str) -> None:
    world = _world()
    async with office(redis, redis_url, world) as here:
        for name in ("t1", "𠮷" * 256):
            world.claims.rows["C-1"]["status"] = "open"
            await _written(here, name)
        first = (await here.request("GET", "/audit?limit=1", "olga"))[1]
        token = str(first["token"])
        later = await _writes(here, f"?limit=1&token={token}")
    assert (len(token) > 4_000, [row["task_id"] for row in later]) == (True, ["t1"])


@pytest.mark.promise("audit.kept")
async def test_without_an_archive_the_record_tells_what_it_knows(redis: Redis, redis_url: str) -> None:
    async with office(redis, redis_url, _world()) as here:
        await _written(here)
        await _forget(redis, ":ledger", ":approvals")
        (row,) = await _writes(here)
        found = (await here.request("GET", "/audit", "olga"))[1]
    assert (row["kept_in"], row["tool"], row["status"]) == ("record", "approve_claim", "verified")
    assert (row["allowed_by"], "approvals" in row, found["archive"]) == ("approved by mia", False, False)


@pytest.mark.promise("audit.export")
async def test_a_wrong_question_names_its_field(redis: Redis, redis_url: str) -> None:
    async with office(redis, redis_url, _world()) as here:
        for query in ("since=yesterday", "limit=0", "limit=x", "token=%00", "token=bGl2ZSB4"):
            status, said = await here.request("GET", f"/audit?{query}", "olga")
            assert (status, str(said["error"]).startswith(query.partition("=")[0])) == (400, True), query


@pytest.mark.promise("audit.export")
async def test_a_time_far_off_is_no_fault_of_ours(redis: Redis, redis_url: str) -> None:
    later = quote((datetime.now(UTC) + timedelta(days=1)).isoformat())
    async with office(redis, redis_url, _world()) as here:
        await _written(here)
        assert await _writes(here, f"?since={later}") == []
        status, _ = await here.request("GET", "/audit?until=0001-01-01T00:00:00%2B23:00", "olga")
    assert status == 400


async def _next_page(here: Office) -> list[JsonObject]:
    token = (await here.request("GET", "/audit", "olga"))[1]["token"]
    return await _writes(here, f"?token={token}")


async def _forget(redis: Redis, *parts: str) -> None:
    """Let keys leave as they would in time."""
    async for name in redis.scan_iter():
        if any(part in name for part in parts):
            await redis.delete(name)


@pytest.mark.promise("audit.operators")
@pytest.mark.parametrize("by", ["anna", "mia"])
async def test_only_operators_export(redis: Redis, redis_url: str, by: str) -> None:
    async with office(redis, redis_url, _world()) as here:
        status, said = await here.request("GET", "/audit", by)
    assert (status, by in str(said["error"])) == (403, False)

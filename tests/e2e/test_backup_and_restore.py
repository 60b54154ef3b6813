"""A backup made while everything runs, and an installation that goes on from it after the first one is gone.

The commands are those of docs/operations.md, sent to the server instead of typed.
"""

import asyncio
import shutil
import tempfile
import time
from pathlib import Path
from typing import cast

import pytest
from redis.asyncio import Redis

from cli.restored import record_restore
from examples.company import ledger
from shared.domain.exact_json import JsonObject, loads_object
from shared.infra import keys
from shared.infra.embedded_redis import EmbeddedRedis
from shared.infra.redis import connect
from tests.e2e.commands import purple
from tests.e2e.waiting import eventually
from tests.e2e.whole_stack import WholeStack, whole_stack

MANAGER: JsonObject = {"id": "dana", "roles": ["approver"], "levels": ["manager"]}
OPERATOR: JsonObject = {"metadata": {"principal": {"id": "olga", "roles": ["operator"]}}}
_KEPT = ("archive", "archive.key", "webhook.key", "assessment.key")  # beside Redis: files, and the keys to them
_QUESTION = "Which expense claims are pending? Answer with a JSON list of their ids."
_CHANGE = "Update the phone of employee EMP-447 to +1 555 2000."


@pytest.mark.long
@pytest.mark.timeout(300)
@pytest.mark.promise("operations.backup")
async def test_what_a_backup_holds_goes_on_where_it_was_restored() -> None:
    """Ended tasks, one that waits for a person, memory, archive; nothing of what came after the backup."""
    with tempfile.TemporaryDirectory(prefix="pa-") as first, tempfile.TemporaryDirectory(prefix="pa-") as second:
        old, new, backup = Path(first), Path(second), Path(first) / "backup"
        async with whole_stack(folder=old) as stack:
            asked = await stack.send("Approve expense claim EXP-1001.", "waits")
            answered = await stack.send(_QUESTION, "ended")
            await _learned(stack, 1)
            assert await eventually(lambda: any((old / "archive").rglob("ended.task")))
            before = await _memory(stack)
            await _back_up(stack.redis, old, backup)
            await stack.send("What is the amount of expense claim EXP-1001?", "too-late")
        shutil.copy(old / "company.sqlite3", new)  # the tenant's own system lives on
        await _restore(backup, new)
        await asyncio.sleep(2.1)  # a decision within two seconds of the restore counts as older: clocks may be apart
        async with whole_stack(folder=new) as stack:
            known = await stack.record("ended")
            after = await _memory(stack)
            lost = await stack.store.get_record("default", "too-late")
            done = await stack.send("approve", "waits", principal=MANAGER)
            writes = [write.tool for write in ledger.writes(stack.database)]
        replayed = await purple("replay", known.task_id, "--dir", str(new))
    assert (_state(asked), _state(answered), _state(done)) == ("input-required", "completed", "completed")
    assert after == before
    assert known.state == "completed"
    assert lost is None
    assert writes == ["approve_expense"]
    assert replayed.code == 0


@pytest.mark.long
@pytest.mark.timeout(300)
@pytest.mark.promise("operations.restored_in_doubt")
async def test_what_was_written_after_the_backup_is_not_written_again() -> None:
    """A turn that the backup holds as open and that went on after it: restored, its write is in doubt, not repeated."""
    with tempfile.TemporaryDirectory(prefix="pa-") as first, tempfile.TemporaryDirectory(prefix="pa-") as second:
        old, new, backup = Path(first), Path(second), Path(first) / "backup"
        async with whole_stack(folder=old) as stack:
            await stack.child("executor-1").stop()
            sent = asyncio.create_task(stack.send(_CHANGE, "open"))
            await _accepted(stack, "open")
            await _back_up(stack.redis, old, backup)
            await stack.replaced("executor-1")
            assert _state(await sent) == "completed"
            assert ledger.count(stack.database) == 1
        shutil.copy(old / "company.sqlite3", new)
        await _restore(backup, new)
        async with whole_stack(folder=new) as stack:
            async with asyncio.timeout(30):
                while (await stack.record("open")).state not in ("input-required", "completed", "failed"):
                    await asyncio.sleep(0.05)
            record, count = await stack.record("open"), ledger.count(stack.database)
    assert count == 1
    assert record.state == "input-required"
    assert record.metadata["doubts"]


async def _back_up(redis: Redis, folder: Path, into: Path) -> None:
    """First Redis, then the archive: what Redis lets go of is in the archive by then."""
    saved = await redis.lastsave()
    while int(time.time()) <= int(saved.timestamp()):  # its moments are seconds
        await asyncio.sleep(0.05)
    await redis.bgsave()
    async with asyncio.timeout(30):
        while await redis.lastsave() == saved:
            await asyncio.sleep(0.02)
    _copy(folder / "redis" / "dump.rdb", into / "dump.rdb")
    for name in _KEPT:
        _copy(folder / name, into / name)


async def _restore(backup: Path, folder: Path) -> None:
    """A server reads the snapshot only without a log of its own; then it begins one, and notes that it is another."""
    for name in _KEPT:
        _copy(backup / name, folder / name)
    _copy(backup / "dump.rdb", folder / "redis" / "dump.rdb")
    with EmbeddedRedis(folder / "redis", is_durable=False) as server:
        redis = connect(server.url)
        await record_restore(server.url)
        await redis.config_set("appendonly", "yes")
        async with asyncio.timeout(30):
            while await _writes_its_log_anew(redis):
                await asyncio.sleep(0.02)
        await redis.aclose()


def _copy(source: Path, target: Path) -> None:
    target.parent.mkdir(exist_ok=True)
    if source.is_dir():
        shutil.copytree(source, target)
    elif source.exists():
        shutil.copy(source, target)


async def _writes_its_log_anew(redis: Redis) -> bool:
    said = await redis.info("persistence")
    return bool(said["aof_rewrite_in_progress"] or said.get("aof_rewrite_scheduled"))


async def _accepted(stack: WholeStack, task_id: str) -> None:
    async with asyncio.timeout(10):
        while await stack.store.get_record("default", task_id) is None:
            await asyncio.sleep(0.02)


async def _learned(stack: WholeStack, tasks: int) -> None:
    async with asyncio.timeout(20):
        while int(await stack.redis.hget(keys.learned_keys("default").counts, "events") or 0) < tasks:  # type: ignore[misc]  # sync or async
            await asyncio.sleep(0.02)


async def _memory(stack: WholeStack) -> tuple[JsonObject, JsonObject]:
    status = loads_object((await stack.http.get("/rl/status")).content)
    cases = loads_object((await stack.http.post("/memory/cases", json=OPERATOR)).content)
    return cast(JsonObject, status["case_log"]), cases


def _state(result: JsonObject) -> object:
    return cast(JsonObject, result["status"])["state"]

"""A power cut takes the end of Redis' log, an intent among it, after the call went out: it is not made again."""

import asyncio
import tempfile
from pathlib import Path

import pytest

from examples.company import ledger
from tests.e2e.waiting import eventually
from tests.e2e.whole_stack import WholeStack, whole_stack


@pytest.mark.long
@pytest.mark.timeout(240)
@pytest.mark.promise("redis.tail_lost")
async def test_a_write_whose_intent_was_lost_with_the_end_of_the_log_is_in_doubt_and_not_repeated() -> None:
    with tempfile.TemporaryDirectory(prefix="pa-") as kept:
        folder = Path(kept)
        async with whole_stack(folder=folder) as stack:
            await stack.faults({"approve_expense": {"delay_after_ms": 20_000, "ignore_disconnect": True}})
            sent = asyncio.create_task(stack.send("Approve expense claim EXP-1009.", "cut"))
            assert await eventually(lambda: ledger.count(stack.database) == 1, 20)
            await stack.kill(stack.child("executor-1").pid)
            sent.cancel()
        _cut_log_before(folder, b"sending\n")
        async with whole_stack(folder=folder) as stack:
            await _until_it_waits(stack)
            record, written = await stack.record("cut"), ledger.count(stack.database)
    assert written == 1
    assert record.state == "input-required"
    assert record.metadata["doubts"]


def _cut_log_before(folder: Path, mark: bytes) -> None:
    """As a power cut does: from the command with the mark on, nothing reached the disk."""
    (log,) = (folder / "redis" / "appendonlydir").glob("*.incr.aof")
    text = log.read_bytes()
    log.write_bytes(text[: text.index(mark)])


async def _until_it_waits(stack: WholeStack) -> None:
    async with asyncio.timeout(60):
        while (await stack.record("cut")).state not in ("input-required", "completed", "failed"):
            await asyncio.sleep(0.05)

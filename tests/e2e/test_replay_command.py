"""An ended task is archived by itself, and looked at again when its stack is long gone."""

import asyncio
import json
import tempfile
from pathlib import Path

import pytest

from shared.infra.archive_open import ArchiveSettings, build_local_archive_url, get_or_create_key_file
from tests.e2e.commands import purple
from tests.e2e.waiting import eventually
from tests.e2e.whole_stack import WholeStack, whole_stack

TASK = "Update the phone of employee EMP-447 to +1 555 4711."


@pytest.mark.long
@pytest.mark.promise("replay.same_end")
async def test_a_task_of_a_stack_that_is_gone_is_replayed_to_the_same_end() -> None:
    """Its first executor was killed on the way. Archive and key lie in the stack's folder, the key for its owner."""
    with tempfile.TemporaryDirectory(prefix="pa-") as name:
        folder = Path(name)
        async with whole_stack(2, folder, LEASE_SECONDS="1", PLANNER_LATENCY_MS="60") as stack:
            await _carried_out_by_two(stack)
            assert await eventually(lambda: any((folder / "archive").rglob("*.task")))
        archive = ArchiveSettings(
            archive_url=build_local_archive_url(folder), archive_key=get_or_create_key_file(folder)
        ).open_task_archive()
        assert archive is not None
        assert await archive.list("default") == ("T1",)
        done = await purple("replay", "T1", "--dir", name, "--json")
        said = json.loads(done.out)
        assert (done.code, said["same"], said["state"]) == (0, True, "completed"), said["difference"]
        assert (folder / "archive.key").stat().st_mode & 0o077 == 0


async def _carried_out_by_two(stack: WholeStack) -> None:
    sending = asyncio.create_task(stack.send(TASK, "T1"))
    await stack.event("T1", "model", step="talk:1:model")
    await stack.kill(await stack.owner("T1"))
    status = (await sending)["status"]
    assert isinstance(status, dict)
    assert status["state"] == "completed"

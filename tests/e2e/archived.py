"""What a stack's archive holds, as whoever has its key reads it."""

import asyncio
from pathlib import Path

from shared.infra.archive_open import ArchiveSettings, build_local_archive_url, get_or_create_key_file
from tests.e2e.whole_stack import TENANT


async def archived_tasks(folder: Path, count: int) -> dict[str, bytes]:
    """The archive of the stack in that folder by task, decrypted, once it holds so many."""
    archive = ArchiveSettings(
        archive_url=build_local_archive_url(folder), archive_key=get_or_create_key_file(folder)
    ).open_task_archive()
    assert archive is not None
    async with asyncio.timeout(20):
        while len(names := await archive.list(TENANT)) < count:
            await asyncio.sleep(0.05)
    return {name: await archive.get(TENANT, name) or b"" for name in names}

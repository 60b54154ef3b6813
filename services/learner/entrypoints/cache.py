"""Keeps the files of RL_CACHE_DIR: imported when Redis is empty, written regularly and at the end."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import NamedTuple, Protocol

import structlog
from pydantic import JsonValue

from services.learner.core.files.importer import Importer
from shared.contracts.learning_files import FileRequest, LearningFile
from shared.ports.store import StoreUnavailable

_LAST_SECONDS = 5.0

log = structlog.get_logger()


class Folder(Protocol):
    """The folder of the files. Both methods may raise ``OSError``."""

    def read(self) -> Mapping[LearningFile, JsonValue]: ...

    def write(self, files: Mapping[LearningFile, JsonValue]) -> None: ...


class LearnedCache(NamedTuple):
    """Access to what is learned of one tenant. All functions may raise ``StoreUnavailable``."""

    tenant: str
    is_new: Callable[[], Awaitable[bool]]  # whether nothing was ever learned of it, or forgotten
    files: Callable[[], Awaitable[Mapping[LearningFile, JsonValue]]]
    hand_on: Callable[[FileRequest], Awaitable[None]]  # to the executor, which keeps processes


class Cache:
    def __init__(self, folder: Folder, learned: LearnedCache, importer: Importer, every_seconds: float) -> None:
        self._folder = folder
        self._learned = learned
        self._importer = importer
        self._every = every_seconds
        self._waiting: dict[LearningFile, JsonValue] = {}  # what is still to be imported
        self._in_step = False

    async def run(self) -> None:
        """Keep the files in step until cancelled. Failures are logged and tried again."""
        while True:
            await self._try(self._step)
            await asyncio.sleep(self._every if self._in_step else min(1.0, self._every))

    async def close(self) -> None:
        """Write the files a last time, if they were ever in step."""
        if self._in_step:
            await self._try(self._step)

    async def _step(self) -> None:
        """Import the files if Redis has lost its content, then write them."""
        if not self._waiting and await self._learned.is_new():
            self._waiting = {file: content for file, content in (await self._read()).items() if content}
        for file, content in list(self._waiting.items()):
            await self._bring_in(FileRequest(tenant=self._learned.tenant, file=file, content=content))
            del self._waiting[file]
        await self._write()
        self._in_step = True

    async def _read(self) -> Mapping[LearningFile, JsonValue]:
        return await asyncio.to_thread(self._folder.read)

    async def _bring_in(self, request: FileRequest) -> None:
        """Import one file. One that cannot be imported is skipped: its problems are logged, the folder keeps it."""
        if request.file is LearningFile.SYNTHESIZED:
            return await self._learned.hand_on(request)
        report = await self._importer.carry_out(request)
        log.info("cached_file_imported", **report.model_dump(mode="json", exclude={"v", "dry_run"}))
        return None

    async def _write(self) -> None:
        files = await self._learned.files()
        if self._in_step and await self._learned.is_new():  # lost meanwhile: the next step fills it again
            return
        await asyncio.to_thread(self._folder.write, files)

    async def _try(self, act: Callable[[], Awaitable[None]]) -> None:
        try:
            async with asyncio.timeout(_LAST_SECONDS + self._every):
                await act()
        except (StoreUnavailable, OSError) as error:  # a time-out is an OSError, too
            log.warning("cache_not_kept", error=f"{type(error).__name__}: {error}")

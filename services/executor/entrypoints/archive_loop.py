"""Lets the archiver work soon after a task ended here, and now and then for what dead processes left behind."""

import asyncio
import random
from collections.abc import Collection
from typing import Protocol

import structlog
from typing_extensions import override

from services.executor.core.turn.runner import RunsTurns
from services.executor.ports.sessions import Work
from services.executor.ports.turns import TurnStore
from shared.domain.partition import PARTITIONS, partition_of
from shared.ports.store import StoreUnavailable

_GATHER_SECONDS = 0.5  # tasks that end together are archived together
_SWEEP_SECONDS = 30.0
_ALL: Collection[int] = range(PARTITIONS)

log = structlog.get_logger()


class Archives(Protocol):
    async def tick(self, partitions: Collection[int]) -> int: ...


class HearsTurns(Protocol):
    def tell(self, tenant: str, session_id: str) -> None: ...


class ArchiveNews:
    """The partitions in which something may have ended here."""

    def __init__(self) -> None:
        self._some = asyncio.Event()
        self._partitions: set[int] = set()

    def tell(self, tenant: str, session_id: str) -> None:
        self._partitions.add(partition_of(tenant, session_id))
        self._some.set()

    async def next(self, seconds: float) -> Collection[int]:
        """Those partitions; after that many seconds without news, all there are."""
        try:
            async with asyncio.timeout(seconds):
                await self._some.wait()
        except TimeoutError:
            return _ALL
        await asyncio.sleep(_GATHER_SECONDS)
        self._some.clear()
        told, self._partitions = self._partitions, set()
        return told


class TellingWorker(RunsTurns):
    """A worker that tells whoever wants to know when one of its turns is over."""

    def __init__(self, worker: RunsTurns, *told: HearsTurns) -> None:
        self._worker = worker
        self._told = told

    @override
    async def run(self, work: Work, store: TurnStore) -> None:
        await self._worker.run(work, store)
        for one in self._told:
            one.tell(work.record.tenant, work.record.session_id)

    @override
    async def settle(self, work: Work, store: TurnStore) -> None:
        await self._worker.settle(work, store)


async def keep_archived(archiver: Archives, news: ArchiveNews) -> None:
    """Runs until cancelled."""
    loop = asyncio.get_running_loop()
    swept = loop.time() - _SWEEP_SECONDS * random.random()  # noqa: S311  # not a secret
    while True:
        left = swept + _SWEEP_SECONDS - loop.time()
        partitions = await news.next(left) if left > 0 else _ALL
        if partitions is _ALL:
            swept = loop.time()
        try:
            await archiver.tick(partitions)
        except StoreUnavailable as error:
            log.warning("archiving_failed", error=str(error))
            await asyncio.sleep(_GATHER_SECONDS)
        except Exception as error:  # the outer edge of archiving: what it cannot read must not stop the sessions
            log.exception("archiving_failed", error=repr(error))
            await asyncio.sleep(_SWEEP_SECONDS)

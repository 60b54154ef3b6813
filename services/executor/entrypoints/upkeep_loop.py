"""The loops next to an executor's sessions: due timers, stopped tenants, idle sessions and ended tasks."""

import asyncio
import random
from collections.abc import Awaitable, Callable, Collection
from functools import partial
from itertools import count
from typing import Protocol

import structlog

from shared.domain.partition import PARTITIONS, partition_of
from shared.infra.tenant_records import TenantStops
from shared.ports.store import StoreUnavailable

_PAUSE_SECONDS = 1.0
_MOST_IDLE_SECONDS = 30.0
_OUTCOMES_BEHIND_TO_WARN = 10_000  # ended tasks that no learner has applied: somebody should know
_TICKS_BETWEEN_COUNTS, _TICKS_BETWEEN_WARNINGS = 30, 60

log = structlog.get_logger()


class SessionRepairer(Protocol):
    """The reaper, as its loop uses it."""

    outcomes_behind: int

    async def repair_once(self) -> int: ...

    async def update_outcomes_behind(self) -> None: ...


async def keep_reaping(reaper: SessionRepairer, has_looked: asyncio.Event) -> None:
    """Runs the reaper until cancelled. ``has_looked`` is set once it has looked for sessions of dead executors."""
    numbers = count()

    async def repair() -> None:
        tick = next(numbers)
        if woken := await reaper.repair_once():
            log.info("sessions_woken", sessions=woken)
        if tick % _TICKS_BETWEEN_COUNTS == 0:
            await reaper.update_outcomes_behind()
        if reaper.outcomes_behind > _OUTCOMES_BEHIND_TO_WARN and tick % _TICKS_BETWEEN_WARNINGS == 0:
            log.warning("learner_behind", outcomes=reaper.outcomes_behind)

    while True:
        await _run_pass(repair, "upkeep_failed")
        has_looked.set()
        await _sleep_with_jitter(_PAUSE_SECONDS)


async def keep_copying_tenant_stops(stops: TenantStops) -> None:
    """Copies the stops and releases of tenants to all partitions where that is missing, until cancelled."""

    async def copy_stops() -> None:
        if count := await stops.copy_missing_stops():
            log.info("tenant_stops_spread", tenants=count)

    while True:
        await _run_pass(copy_stops, "tenant_stops_unknown")
        await _sleep_with_jitter(_PAUSE_SECONDS)


async def keep_evicting(evict_once: Callable[[Collection[int]], Awaitable[int]], idle_seconds: float) -> None:
    """Evicts idle sessions at intervals until cancelled; the shorter ``idle_seconds``, the more often."""

    async def evict_idle() -> None:
        if count := await evict_once(_ALL_PARTITIONS):
            log.info("sessions_evicted", sessions=count)

    while True:
        await _sleep_with_jitter(min(_MOST_IDLE_SECONDS, idle_seconds / 2))
        await _run_pass(evict_idle, "eviction_failed")


async def _run_pass(one_pass: Callable[[], Awaitable[object]], failure_event: str) -> bool:
    """Runs one pass of a loop; False if it failed, which is logged as ``failure_event``."""
    try:
        await one_pass()
        return True
    except StoreUnavailable as error:
        log.warning(failure_event, error=str(error))
    except Exception as error:  # the outer edge of a loop: one bad row must not end it, or hold up what else it mends
        log.exception(failure_event, error=repr(error))
    return False


async def _sleep_with_jitter(seconds: float) -> None:
    """Sleeps for about that many seconds, with jitter, so that executors do not look all at once."""
    await asyncio.sleep(seconds * random.uniform(0.8, 1.2))  # noqa: S311  # not a secret


_ARCHIVE_GATHER_SECONDS = 0.5  # tasks that end together are archived together
_ARCHIVE_SWEEP_SECONDS = 30.0
_ALL_PARTITIONS: Collection[int] = range(PARTITIONS)


class PartitionsToArchive:
    """Collects the partitions in which this process has ended a task, until the archiving loop takes them."""

    def __init__(self) -> None:
        self._arrival = asyncio.Event()
        self._partitions: set[int] = set()

    def add_partition_of(self, tenant: str, session_id: str) -> None:
        self._partitions.add(partition_of(tenant, session_id))
        self._arrival.set()

    async def await_partitions(self, seconds: float) -> Collection[int]:
        """Waits for such partitions and returns them; all partitions after that many seconds without any."""
        try:
            async with asyncio.timeout(seconds):
                await self._arrival.wait()
        except TimeoutError:
            return _ALL_PARTITIONS
        await asyncio.sleep(_ARCHIVE_GATHER_SECONDS)
        self._arrival.clear()
        partitions, self._partitions = self._partitions, set()
        return partitions


async def keep_archiving(archive_once: Callable[[Collection[int]], Awaitable[int]], news: PartitionsToArchive) -> None:
    """Archives ended tasks, in the partitions of ``news`` and in sweeps over all, until cancelled."""
    loop = asyncio.get_running_loop()
    swept = loop.time() - _ARCHIVE_SWEEP_SECONDS * random.random()  # noqa: S311  # not a secret
    while True:
        seconds_left = swept + _ARCHIVE_SWEEP_SECONDS - loop.time()
        partitions = await news.await_partitions(seconds_left) if seconds_left > 0 else _ALL_PARTITIONS
        if partitions is _ALL_PARTITIONS:
            swept = loop.time()
        if not await _run_pass(partial(archive_once, partitions), "archiving_failed"):
            await asyncio.sleep(_PAUSE_SECONDS)

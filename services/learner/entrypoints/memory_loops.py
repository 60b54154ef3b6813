"""The memory's loops: remembering what outcomes say, and finding facts. Learning goes before both."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime

import structlog

from services.learner.core.learner import Learner
from services.learner.core.memory.fact_worker import AT_ONCE, FactWorker
from services.learner.core.memory.forgetter import Forgetter
from services.learner.core.memory.rememberer import MemoryContended, Rememberer
from services.learner.entrypoints.loops import SWEEP_SECONDS
from shared.ports.store import StoreUnavailable

_AGAIN_SECONDS = 0.5
_LOOK_SECONDS = 0.5  # between two looks at what the learner holds, should it tell nothing
_DUE_SECONDS = 1.0  # at what is due in the store
_STEP_ASIDE_SECONDS = 0.1

log = structlog.get_logger()


async def keep_remembering(rememberer: Rememberer, learner: Learner, stop: asyncio.Event) -> None:
    """Remember until asked to stop; while the learner is busy, only now and then."""
    learned = -1
    clock = asyncio.get_running_loop().time
    swept = clock()

    async def remember() -> None:
        nonlocal learned, swept
        if clock() > swept + SWEEP_SECONDS:
            swept = clock()
            rememberer.expect_anywhere()
        before, learned = learned, learner.counts.learned
        if not await rememberer.round():
            await _wait_for_news(learner, stop)
        elif learner.counts.learned != before:
            await _pause(stop, _STEP_ASIDE_SECONDS)

    await _run_until_stopped(remember, stop)


async def _wait_for_news(learner: Learner, stop: asyncio.Event) -> None:
    """Until the learner tells where to look: then both take at once, in one round trip."""
    if stop.is_set():
        return
    try:
        async with asyncio.timeout(_LOOK_SECONDS):
            await learner.news.wait()
    except TimeoutError:
        return


async def keep_finding(worker: FactWorker, stop: asyncio.Event) -> None:
    """Find the facts of tasks until asked to stop; those of a while are found together."""

    async def find() -> None:
        if await worker.round(datetime.now(UTC)) < AT_ONCE:
            await _pause(stop, _DUE_SECONDS)

    await _run_until_stopped(find, stop)


async def keep_forgetting(forgetter: Forgetter, stop: asyncio.Event) -> None:
    """Carry out requests to forget until asked to stop."""

    async def forget() -> None:
        if not await forgetter.round(datetime.now(UTC)):
            await _pause(stop, _DUE_SECONDS)

    await _run_until_stopped(forget, stop)


async def _run_until_stopped(step: Callable[[], Awaitable[None]], stop: asyncio.Event) -> None:
    while not stop.is_set():
        try:
            await step()
        except (StoreUnavailable, MemoryContended) as error:
            log.warning("memory_waits", error=str(error))
            await _pause(stop, _AGAIN_SECONDS)
        except Exception as error:  # the outer edge of memory: learning goes on without it
            log.exception("memory_broke", error=type(error).__name__)
            await _pause(stop, _AGAIN_SECONDS)


async def _pause(stop: asyncio.Event, seconds: float) -> None:
    try:
        async with asyncio.timeout(seconds):
            await stop.wait()
    except TimeoutError:
        return

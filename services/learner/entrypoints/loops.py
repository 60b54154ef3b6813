"""The learner's two loops: what it reads, and reading it. A store that fails is waited for."""

import asyncio
from collections.abc import Awaitable, Callable

import structlog

from services.learner.core.learner import Learner
from services.learner.ports.outcomes import Outcomes
from shared.ports.store import StoreUnavailable

_AGAIN_SECONDS = 0.5
_NEWS_SECONDS = 1.0
_GATHER_SECONDS = 0.4  # outcomes that come together are learned together
SWEEP_SECONDS = 30.0  # between two looks at everything, should news have been missed

log = structlog.get_logger()


async def keep_share(learner: Learner, every_seconds: float) -> None:
    """Look for ever who else is there."""

    async def look() -> None:
        await learner.share()
        await asyncio.sleep(every_seconds)

    await _run_for_ever(look)


async def consume(learner: Learner, outcomes: Outcomes, every_seconds: float, stop: asyncio.Event) -> None:
    """Learn until asked to stop; what is in hand is finished first."""
    patience = min(_NEWS_SECONDS, every_seconds)
    clock = asyncio.get_running_loop().time
    swept = clock()

    async def learn() -> None:
        nonlocal swept
        if await learner.round():
            return
        if clock() > swept + SWEEP_SECONDS:
            swept = clock()
            learner.expect(learner.held)
        elif learner.held:
            if news := await outcomes.news(learner.held, patience):
                await asyncio.sleep(_GATHER_SECONDS)
                learner.expect(news)
        else:
            await asyncio.sleep(patience)

    await _run_for_ever(learn, stop)


async def _run_for_ever(step: Callable[[], Awaitable[None]], stop: asyncio.Event | None = None) -> None:
    while stop is None or not stop.is_set():
        try:
            await step()
        except StoreUnavailable as error:
            log.warning("store_unavailable", error=str(error))
            await asyncio.sleep(_AGAIN_SECONDS)

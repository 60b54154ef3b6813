"""Lets the reaper look about once a second; jittered, so that executors do not look all at once."""

import asyncio
import random
from itertools import count
from typing import Protocol

import structlog

from shared.ports.store import StoreUnavailable

_PAUSE_SECONDS = 1.0
_MANY_OUTCOMES = 10_000  # ended tasks that no learner has applied: somebody should know
_TICKS_BETWEEN_WORDS = 60

log = structlog.get_logger()


class Ticks(Protocol):
    outcomes_behind: int

    async def tick(self) -> int: ...


async def keep_up(reaper: Ticks) -> None:
    """Runs until cancelled."""
    for number in count():
        await asyncio.sleep(_PAUSE_SECONDS * random.uniform(0.8, 1.2))  # noqa: S311  # not a secret
        try:
            woken = await reaper.tick()
            if woken:
                log.info("sessions_woken", sessions=woken)
            if reaper.outcomes_behind > _MANY_OUTCOMES and number % _TICKS_BETWEEN_WORDS == 0:
                log.warning("learner_behind", outcomes=reaper.outcomes_behind)
        except StoreUnavailable as error:
            log.warning("upkeep_failed", error=str(error))
        except Exception as error:  # the outer edge of upkeep: one bad row must not leave everything else unmended
            log.exception("upkeep_failed", error=repr(error))

"""Lets the reaper look about once a second; jittered, so that executors do not look all at once."""

import asyncio
import random
from typing import Protocol

import structlog

from shared.ports.store import StoreUnavailable

_PAUSE_SECONDS = 1.0

log = structlog.get_logger()


class Ticks(Protocol):
    async def tick(self) -> int: ...


async def keep_up(reaper: Ticks) -> None:
    """Runs until cancelled."""
    while True:
        await asyncio.sleep(_PAUSE_SECONDS * random.uniform(0.8, 1.2))  # noqa: S311  # not a secret
        try:
            woken = await reaper.tick()
            if woken:
                log.info("sessions_woken", count=woken)
        except StoreUnavailable as error:
            log.warning("upkeep_failed", error=str(error))

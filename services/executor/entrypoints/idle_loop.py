"""Lets the evictor look for idle sessions now and then; jittered, so that executors do not look all at once."""

import asyncio
import random
from collections.abc import Collection
from typing import Protocol

import structlog

from shared.domain.partition import PARTITIONS
from shared.ports.store import StoreUnavailable

_MOST_SECONDS = 30.0
_ALL: Collection[int] = range(PARTITIONS)

log = structlog.get_logger()


class Evicts(Protocol):
    async def tick(self, partitions: Collection[int]) -> int: ...


async def keep_idle_away(evictor: Evicts, idle_seconds: float) -> None:
    """Runs until cancelled. Whoever waits less for idleness looks more often."""
    pause = min(_MOST_SECONDS, idle_seconds / 2)
    while True:
        await asyncio.sleep(pause * random.uniform(0.8, 1.2))  # noqa: S311  # not a secret
        try:
            gone = await evictor.tick(_ALL)
            if gone:
                log.info("sessions_evicted", sessions=gone)
        except StoreUnavailable as error:
            log.warning("eviction_failed", error=str(error))
        except Exception as error:  # the outer edge of eviction: what it cannot read must not stop the sessions
            log.exception("eviction_failed", error=repr(error))

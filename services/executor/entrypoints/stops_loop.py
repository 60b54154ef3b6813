"""Looks about once a second whether a tenant was stopped or let go on, and tells the partitions if nobody has."""

import asyncio
import random
from typing import Protocol

import structlog

from shared.ports.store import StoreUnavailable

_PAUSE_SECONDS = 1.0

log = structlog.get_logger()


class Stops(Protocol):
    async def spread_anew(self) -> int: ...


async def keep_stops_spread(stops: Stops) -> None:
    """Runs until cancelled."""
    while True:
        try:
            if told := await stops.spread_anew():
                log.info("tenant_stops_spread", tenants=told)
        except StoreUnavailable as error:
            log.warning("tenant_stops_unknown", error=str(error))
        except Exception as error:  # the outer edge of this loop: it must not end the process
            log.exception("tenant_stops_unknown", error=repr(error))
        await asyncio.sleep(_PAUSE_SECONDS * random.uniform(0.8, 1.2))  # noqa: S311  # not a secret

"""The loop that delivers, in every replica and off the path of any request."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import structlog

from services.gateway.features.deliveries.model import ClaimedLine, Lines
from services.gateway.features.deliveries.service import DeliveryRules, DeliveryService, choose_lines
from shared.ports.store import StoreUnavailable

log = structlog.get_logger()
Listen = Callable[[], AbstractAsyncContextManager[asyncio.Event]]
_LOOK_SECONDS = 30.0  # a look without news: should a message of the server be lost
_LEAST_SECONDS = 0.02  # between two looks: what comes in a burst is looked at together
_AGAIN_SECONDS = 1.0
_GRACE_SECONDS = 2.0


class DeliveryLoop:
    """``listen``: an event that is set whenever something is due. Nothing is lost when it is cancelled or killed."""

    def __init__(self, service: DeliveryService, lines: Lines, listen: Listen, rules: DeliveryRules) -> None:
        self._service, self._lines, self._listen, self._rules = service, lines, listen, rules
        self._busy: Counter[str] = Counter()
        self._news = asyncio.Event()
        self._stopping = False

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Deliver meanwhile; on leaving, deliveries under way are finished if they do not take long."""
        async with asyncio.TaskGroup() as group:
            loop = group.create_task(self._run())
            yield
            self._stopping = True
            self._news.set()
            await asyncio.wait({loop}, timeout=_GRACE_SECONDS)
            loop.cancel()

    async def _run(self) -> None:
        while not self._stopping:
            try:
                async with self._listen() as self._news:
                    await self._serve()
            except StoreUnavailable as error:
                log.warning("deliveries_wait", error=str(error))
                await asyncio.sleep(_AGAIN_SECONDS)
            except Exception:  # the outermost edge: webhooks must not end the gateway, nor its faults webhooks
                log.exception("deliveries_failed")
                await asyncio.sleep(_AGAIN_SECONDS)

    async def _serve(self) -> None:
        async with asyncio.TaskGroup() as group:
            while not self._stopping:
                self._news.clear()
                pause = await self._take(group)
                await asyncio.sleep(_LEAST_SECONDS)
                try:
                    async with asyncio.timeout(pause):
                        await self._news.wait()
                except TimeoutError:
                    continue

    async def _take(self, group: asyncio.TaskGroup) -> float:
        """Begin what is due; in how many seconds to look again."""
        try:
            look = await self._lines.look(self._rules.slots, self._rules.per_tenant)
            wanted = choose_lines(look.due, self._busy, self._rules)
            for claim in await self._lines.claim(wanted, self._rules.lease):
                self._busy[claim.tenant] += 1
                group.create_task(self._deliver(claim))
        except StoreUnavailable as error:
            log.warning("deliveries_wait", error=str(error))
            return _AGAIN_SECONDS
        return _LOOK_SECONDS if look.next_in is None else min(look.next_in + 0.001, _LOOK_SECONDS)

    async def _deliver(self, claim: ClaimedLine) -> None:
        try:
            await self._service.carry(claim)
        except StoreUnavailable as error:
            log.warning("delivery_not_noted", tenant=claim.tenant, error=str(error))
        except Exception:  # the outermost edge of a delivery
            log.exception("delivery_failed", tenant=claim.tenant)
            await self._note_failure(claim)
        finally:
            self._busy[claim.tenant] -= 1
            self._news.set()

    async def _note_failure(self, claim: ClaimedLine) -> None:
        try:
            await self._service.count_own_failure(claim)
        except Exception:  # as above: its lease ends, and then it is tried again
            log.exception("delivery_failure_not_noted", tenant=claim.tenant)

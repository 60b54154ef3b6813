"""The loop that tells tenants' targets of approvals, in every replica and off the path of any request."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import structlog

from services.gateway.features.approvals.notices import Notifier
from shared.ports.store import StoreUnavailable

log = structlog.get_logger()
Listen = Callable[[], AbstractAsyncContextManager[asyncio.Event]]
_LOOK_SECONDS = 30.0  # a look without news: should a message of the server be lost, or a replica die
_AGAIN_SECONDS = 1.0


class NoticeLoop:
    """``listen``: an event that is set whenever something is owed. Nothing is lost when it is cancelled or killed."""

    def __init__(self, notifier: Notifier, listen: Listen) -> None:
        self._notifier, self._listen = notifier, listen

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        async with asyncio.TaskGroup() as group:
            loop = group.create_task(self._run())
            yield
            loop.cancel()

    async def _run(self) -> None:
        while True:
            try:
                async with self._listen() as news:
                    await self._serve(news)
            except StoreUnavailable as error:
                log.warning("notices_wait", error=str(error))
            except Exception:  # the outermost edge of a round: what broke it is looked at again, not for ever at once
                log.exception("notices_failed")
            await asyncio.sleep(_AGAIN_SECONDS)

    async def _serve(self, news: asyncio.Event) -> None:
        while True:
            news.clear()
            if await self._round():
                continue
            try:
                async with asyncio.timeout(_LOOK_SECONDS):
                    await news.wait()
            except TimeoutError:
                continue

    async def _round(self) -> int:
        """How many were owed. What breaks one of them keeps nobody from being told of the others."""
        owed = await self._notifier.take_owed()
        for one in owed:
            try:
                await self._notifier.tell(one)
            except StoreUnavailable:
                raise
            except Exception:  # the outermost edge of a notice: it is owed again after a while
                log.exception("notice_failed", tenant=one.tenant, approval=one.approval_id)
        return len(owed)

"""Notices of approvals, put together; where no webhooks are offered, nobody is told, and the log says so."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import datetime

from redis.asyncio import Redis

from services.gateway.adapters.approvals.no_posts import NoPosts
from services.gateway.adapters.approvals.notice_references import EnvironmentReferences
from services.gateway.adapters.approvals.redis_approvals import RedisApprovals
from services.gateway.adapters.approvals.redis_notices import RedisNotices
from services.gateway.core.approvals.notifier import Notifier
from services.gateway.entrypoints.approvals.noticing import NoticeLoop
from services.gateway.rooms.push import PushRoom
from shared.infra.keys import NOTICES_CHANNEL
from shared.infra.live import Live


@asynccontextmanager
async def noticing(
    push: PushRoom, state: Redis, live: Live, console: str, now: Callable[[], datetime]
) -> AsyncIterator[None]:
    """Tell meanwhile, through the deliveries of webhooks. ``live`` must be open; ``console``: where it is reached."""
    nowhere = NoPosts()
    notifier = Notifier(
        notices=RedisNotices(state),
        approvals=RedisApprovals(state),
        posts=push.posts or nowhere,
        urls=push.book.urls if push.book else nowhere,
        references=EnvironmentReferences(),
        console=console,
        clock=now,
    )
    async with NoticeLoop(notifier, lambda: live.listen(NOTICES_CHANNEL)).running():
        yield

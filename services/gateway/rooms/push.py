"""Everything that webhooks need, put together; a room of the gateway that opens and closes with it."""

import random
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager
from datetime import datetime

from redis.asyncio import Redis

from services.gateway.adapters.push.counted_push import CountedLines, CountedPost
from services.gateway.adapters.push.redis_lines import RedisLines
from services.gateway.adapters.push.redis_webhooks import RedisWebhooks
from services.gateway.adapters.push.webhook_http import ReachCheck, WebhookHttp
from services.gateway.core.push.book import PushBook
from services.gateway.core.push.courier import Courier, CourierRules, Edge
from services.gateway.entrypoints.push.bodies import DialectBodies
from services.gateway.entrypoints.push.delivering import DeliveryLoop
from services.gateway.push_settings import PushSettings
from shared.domain.outgoing import webhook_reach
from shared.infra.guard import Guard
from shared.infra.keys import DELIVERIES_CHANNEL
from shared.infra.live import Live
from shared.infra.sealed import Seal
from shared.ports.meter import Meter, NoMeter

_NOBODY = NoMeter()


class PushRoom:
    """``book`` and ``posts`` are None where no webhooks are offered; ``urls`` says in any case where one may lead."""

    def __init__(
        self,
        settings: PushSettings,
        state: Redis,
        live: Live,
        now: Callable[[], datetime],
        *,
        embedded: bool,
        meter: Meter = _NOBODY,
    ) -> None:
        self._settings, self._live, self._now, self._meter = settings, live, now, meter
        self._reach = webhook_reach(settings.webhook_allowed_hosts, loopback=embedded)
        self.urls = ReachCheck(self._reach)
        self.book: PushBook | None = None
        self.posts: RedisLines | None = None
        if settings.push_offered:
            seal = Seal(settings.secrets.sealing_keys())
            self.posts = RedisLines(state, seal)
            webhooks = RedisWebhooks(state, seal)
            self.book = PushBook(webhooks, self.urls, settings.secrets, settings.webhooks_per_task)

    @asynccontextmanager
    async def open(self, notice: str) -> AsyncIterator[None]:
        """Deliver meanwhile. ``live`` must be open."""
        if self.posts is None:
            yield
            return
        rules = _rules(self._settings)
        async with aclosing(WebhookHttp(Guard(self._reach), rules.timeout, rules.slots)) as post:
            edge = Edge(self._now, random.random)
            lines, counted = CountedLines(self.posts, self._meter), CountedPost(post, self._meter)
            courier = Courier(lines, counted, DialectBodies(notice), self._settings.secrets, edge, rules)
            loop = DeliveryLoop(courier, self.posts, lambda: self._live.listen(DELIVERIES_CHANNEL), rules)
            async with loop.running():
                yield


def _rules(settings: PushSettings) -> CourierRules:
    return CourierRules(
        timeout=settings.push_timeout,
        first_pause=settings.push_first_pause,
        longest_pause=settings.push_longest_pause,
        tries=settings.push_tries,
        slots=settings.push_concurrency,
        per_tenant=max(1, settings.push_concurrency // 4),
    )

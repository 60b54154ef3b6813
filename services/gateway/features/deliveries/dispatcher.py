"""The loop that delivers queued webhooks and notices, and its HTTP client, which refuses internal addresses."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from functools import partial
from http.cookiejar import DefaultCookiePolicy
from time import perf_counter

import httpx
import structlog

from services.gateway.features.deliveries import model as deliveries
from services.gateway.features.deliveries.service import DeliveryService, choose_due_deliveries
from services.gateway.features.deliveries.store import RedisDeliveryQueue
from services.gateway.features.webhooks.settings import PushSettings
from shared.domain import metric_names as names
from shared.infra.channel_listener import LOOK_WITHOUT_NEWS_SECONDS, OpenListener, keep_looking_when_due
from shared.infra.guard import AddressGuard
from shared.infra.guarded_http import RefusedConnection, make_guarded_client
from shared.ports.meter import NO_METER, Meter
from shared.ports.store import StoreUnavailable

_FIXED_HEADERS = {"User-Agent": "purple-agent-webhook/1", "Accept-Encoding": "identity"}
_MOST_DIGITS_OF_SHORT_LENGTH = 6  # of the length of a short answer: less than 100 kB


class WebhookHttpClient(deliveries.HttpPoster):
    """Posts to receivers, and records the number and duration of posts. Close it with ``aclose``."""

    def __init__(self, guard: AddressGuard, seconds: float, connections: int, meter: Meter = NO_METER) -> None:
        self._seconds, self._meter = seconds, meter
        limits = httpx.Limits(max_connections=connections, max_keepalive_connections=connections, keepalive_expiry=5.0)
        self._client = make_guarded_client(guard, httpx.Timeout(seconds), limits)
        self._client.cookies.jar.set_policy(DefaultCookiePolicy(allowed_domains=[]))  # one tenant's are no other's

    async def aclose(self) -> None:
        await self._client.aclose()

    async def post(self, url: str, headers: Mapping[str, str], body: bytes) -> deliveries.ReceiverAnswer:
        began, outcome = perf_counter(), "undelivered"
        try:
            request = self._client.build_request("POST", url, headers={**headers, **_FIXED_HEADERS}, content=body)
            async with asyncio.timeout(self._seconds):
                response = await self._client.send(request, stream=True)
                await _drain_answer(response)
            outcome = "delivered" if response.is_success else "refused"
            return deliveries.ReceiverAnswer(response.status_code, response.headers.get("retry-after", ""))
        except RefusedConnection as refused:
            raise deliveries.NoReceiverAnswer(str(refused)) from refused
        except (TimeoutError, httpx.TimeoutException) as error:
            raise deliveries.NoReceiverAnswer(f"no answer within {self._seconds:g} seconds") from error
        except (httpx.HTTPError, httpx.InvalidURL, UnicodeError) as error:  # the last: of a host name (IDNA)
            raise deliveries.NoReceiverAnswer(f"no answer: {type(error).__name__}") from error
        finally:
            self._meter.observe(names.WEBHOOK_SECONDS, perf_counter() - began)
            self._meter.add(names.WEBHOOKS, outcome=outcome)


async def _drain_answer(response: httpx.Response) -> None:
    """Read a short response, so that its connection can be reused; close any other."""
    length = response.headers.get("content-length", "")
    if len(length) < _MOST_DIGITS_OF_SHORT_LENGTH and length.isdecimal():
        async for _ in response.aiter_raw():
            continue
    await response.aclose()


log = structlog.get_logger()
_GRACE_SECONDS = 2.0


class DeliveryLoop:
    """Makes the due deliveries of the queue. ``listen``: opens an event that is set whenever one becomes due.

    Nothing is lost if the process is killed.
    """

    def __init__(
        self, service: DeliveryService, queue: RedisDeliveryQueue, listen: OpenListener, settings: PushSettings
    ) -> None:
        self._service = service
        self._queue = queue
        self._listen = listen
        self._settings = settings
        self._busy: Counter[str] = Counter()

    @asynccontextmanager
    async def run_in_background(self) -> AsyncIterator[None]:
        """Deliver while the context lasts; at its end, wait briefly for deliveries under way."""
        async with asyncio.TaskGroup() as group:
            running: set[asyncio.Task[None]] = set()
            start = partial(self._start_due_deliveries, group, running)
            loop = group.create_task(keep_looking_when_due(self._listen, start, "deliveries"))
            yield
            loop.cancel()
            if running:
                await asyncio.wait(running, timeout=_GRACE_SECONDS)
            for delivery in running:
                delivery.cancel()

    async def _start_due_deliveries(
        self, group: asyncio.TaskGroup, running: set[asyncio.Task[None]], wake_loop: asyncio.Event
    ) -> float:
        """Start the due deliveries as tasks of ``group``; returns the seconds until the queue is to be read again."""
        settings = self._settings
        due, next_in = await self._queue.list_due(settings.push_concurrency, settings.deliveries_per_tenant)
        chosen = choose_due_deliveries(due, self._busy, settings)
        for claim in await self._queue.claim_deliveries(chosen, settings.delivery_lease):
            self._busy[claim.tenant] += 1
            delivery = group.create_task(self._deliver_claimed(claim, wake_loop))
            running.add(delivery)
            delivery.add_done_callback(running.discard)
        return LOOK_WITHOUT_NEWS_SECONDS if next_in is None else min(next_in + 0.001, LOOK_WITHOUT_NEWS_SECONDS)

    async def _deliver_claimed(self, claim: deliveries.QueuedDelivery, wake_loop: asyncio.Event) -> None:
        try:
            await self._service.deliver_claimed(claim)
        except StoreUnavailable as error:
            log.warning("webhook_delivery_interrupted", tenant=claim.tenant, error=str(error))
        except Exception:  # the outermost edge of a delivery
            log.exception("webhook_delivery_failed", tenant=claim.tenant)
            await self._count_failure(claim)
        finally:
            self._busy -= Counter([claim.tenant])  # whose count is zero leaves
            wake_loop.set()

    async def _count_failure(self, claim: deliveries.QueuedDelivery) -> None:
        try:
            await self._service.count_internal_failure(claim)
        except Exception:  # as above: its lease ends, and then it is tried again
            log.exception("webhook_failure_not_recorded", tenant=claim.tenant)

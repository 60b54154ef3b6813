"""``/metrics``: what a process counted, and what it reads when it is asked."""

import asyncio
from collections.abc import Sequence
from typing import Protocol

import structlog
from prometheus_client.exposition import choose_encoder
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from shared.infra.metrics import Metrics

PATH = "/metrics"
_SECONDS = 3.0  # for all that is read: less than a scrape's time-out

log = structlog.get_logger()


class Reading(Protocol):
    async def read(self, metrics: Metrics) -> None:
        """Put what is to be known now; what cannot be read is cleared."""
        ...


class MetricsPage:
    """Scrapes that come together share one reading."""

    def __init__(self, metrics: Metrics, readings: Sequence[Reading] = ()) -> None:
        self._metrics, self._readings = metrics, readings
        self._lock = asyncio.Lock()

    async def answer(self, request: Request) -> Response:
        async with self._lock:
            await self._read()
        encode, media_type = choose_encoder(request.headers.get("accept", ""))
        return Response(encode(self._metrics.registry), headers={"Content-Type": media_type})

    async def _read(self) -> None:
        for reading in self._readings:
            try:
                async with asyncio.timeout(_SECONDS):
                    await reading.read(self._metrics)
            except TimeoutError:
                log.warning("metrics_not_read", reading=type(reading).__name__)


def metrics_route(page: MetricsPage) -> Route:
    return Route(PATH, page.answer)


def metrics_app(page: MetricsPage) -> Starlette:
    """An application of its own, for a port that only the operators' network reaches."""
    return Starlette(routes=[metrics_route(page)])

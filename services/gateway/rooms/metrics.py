"""What a gateway counts, and the port on which it shows that: never the one that its clients reach."""

from contextlib import AbstractAsyncContextManager

from redis.asyncio import Redis

from services.gateway.settings import Settings
from shared.infra.installation import Installation
from shared.infra.metrics import Metrics
from shared.infra.metrics_page import MetricsPage, metrics_app
from shared.infra.side_server import served_beside


class MetricsRoom:
    def __init__(self, settings: Settings, state: Redis) -> None:
        self.metrics = Metrics("gateway")
        self._page = MetricsPage(self.metrics, (Installation(state),))
        self._host, self._port = settings.host, settings.metrics_port

    def open(self) -> AbstractAsyncContextManager[None]:
        """Show them meanwhile, on ``METRICS_PORT``."""
        return served_beside(metrics_app(self._page), self._host, self._port)

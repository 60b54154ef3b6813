"""A gateway in a process of its own, as it is deployed: it can be told to stop, and killed."""

import asyncio
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx

from cli.stack.plan import find_free_ports
from tests.forked_service import ForkedService, forked_service
from tests.http_client import open_http

START_SECONDS = 30.0


class GatewayProcess:
    """``http`` speaks to it."""

    def __init__(self, process: ForkedService, url: str, http: httpx.AsyncClient) -> None:
        self.url, self.http = url, http
        self._process = process

    @property
    def pid(self) -> int:
        return self._process.pid

    def terminate(self) -> None:
        self._process.signal(signal.SIGTERM)

    def kill(self) -> None:
        self._process.kill()

    async def exit_code(self, seconds: float) -> int:
        """When it has ended; raises ``TimeoutError`` if it has not within so long."""
        return await asyncio.to_thread(self._process.wait, seconds)


@asynccontextmanager
async def gateway_process(redis_url: str, **settings: str) -> AsyncIterator[GatewayProcess]:
    (port,) = find_free_ports(1)
    given = {"REDIS_URL": redis_url, "PROFILE": "embedded", "A2A_PUSH": "off", "DRAIN_SECONDS": "0", **settings}
    url = f"http://127.0.0.1:{port}"
    with forked_service("services.gateway", "--port", str(port), **given) as process:
        async with open_http(base_url=url, timeout=30, trust_env=False) as http:
            await _is_ready(http, process)
            yield GatewayProcess(process, url, http)


async def _is_ready(http: httpx.AsyncClient, process: ForkedService) -> None:
    async with asyncio.timeout(START_SECONDS):
        while process.exit_code is None:
            try:
                if (await http.get("/ready")).is_success:
                    return
            except httpx.TransportError:
                await asyncio.sleep(0.02)
    raise AssertionError(f"the gateway ended with exit code {process.exit_code}")

"""A gateway in a process of its own, as it is deployed: it can be told to stop, and killed."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx

from cli.stack.free_ports import free_ports
from shared.infra.process import dies_with_parent
from tests.http_client import open_http

START_SECONDS = 30.0


class GatewayProcess:
    """``http`` speaks to it."""

    def __init__(self, process: "subprocess.Popen[bytes]", url: str, http: httpx.AsyncClient) -> None:
        self.url, self.http = url, http
        self._process = process

    def terminate(self) -> None:
        self._process.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self._process.kill()

    async def exit_code(self, seconds: float) -> int:
        """When it has ended; raises ``subprocess.TimeoutExpired`` if it has not within so long."""
        return await asyncio.to_thread(self._process.wait, seconds)


@asynccontextmanager
async def gateway_process(redis_url: str, **settings: str) -> AsyncIterator[GatewayProcess]:
    (port,) = free_ports(1)
    given = {"REDIS_URL": redis_url, "PROFILE": "embedded", "A2A_PUSH": "off", "DRAIN_SECONDS": "0", **settings}
    process = _start(port, {**os.environ, **given})
    url = f"http://127.0.0.1:{port}"
    try:
        async with open_http(base_url=url, timeout=30, trust_env=False) as http:
            await _is_ready(http, process)
            yield GatewayProcess(process, url, http)
    finally:
        process.kill()
        await asyncio.to_thread(process.wait, START_SECONDS)


def _start(port: int, environ: dict[str, str]) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(
        [sys.executable, "-m", "services.gateway", "--port", str(port)],
        env=environ,
        preexec_fn=dies_with_parent(),  # noqa: PLW1509  the only way to be told of a parent's kill -9
    )


async def _is_ready(http: httpx.AsyncClient, process: "subprocess.Popen[bytes]") -> None:
    async with asyncio.timeout(START_SECONDS):
        while process.poll() is None:
            try:
                if (await http.get("/ready")).is_success:
                    return
            except httpx.TransportError:
                await asyncio.sleep(0.02)
    raise AssertionError(f"the gateway ended with exit code {process.returncode}")

"""Two gateway replicas of a whole stack behind a round-robin proxy, as they stand behind a load balancer."""

import asyncio
import dataclasses
import os
import signal
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx

from cli.stack.child import Child, wait_until_ready
from cli.stack.plan import find_free_ports
from tests.e2e.haproxy import SERVED_BY, haproxy_or_skip, round_robin
from tests.e2e.waiting import eventually
from tests.e2e.whole_stack import WholeStack
from tests.http_client import open_http

NAMES = ("gateway", "gateway-2")
_PATIENCE = 20.0


class TwoReplicas:
    """``http`` speaks through the proxy at ``url``; each request may be answered by the other replica.

    ``whole`` is the stack behind it: its Redis, its store, its processes.
    """

    def __init__(self, whole: WholeStack, url: str, http: httpx.AsyncClient) -> None:
        self.whole, self.url, self.http = whole, url, http

    def replica(self, name: str) -> Child:
        """One of ``NAMES``: the newest process of that name."""
        return self.whole.child(name)

    def url_of(self, name: str) -> str:
        """The replica's own address, past the proxy."""
        return self.replica(name).spec.url

    async def kill(self, name: str) -> None:
        """SIGKILL; returns when the process is gone."""
        await self.whole.kill(self.replica(name).pid)

    async def terminate(self, name: str) -> None:
        """SIGTERM; returns at once, while it finishes what it has begun."""
        os.kill(self.replica(name).pid, signal.SIGTERM)

    async def has_ended(self, name: str, seconds: float = 20.0) -> bool:
        return await eventually(lambda: self.replica(name).exit_code is not None, seconds)

    async def replaced(self, name: str) -> None:
        """Another process in a dead one's place, ready, and the proxy has noticed."""
        await self.whole.replaced(name)
        async with asyncio.timeout(_PATIENCE):
            while served_by(await self.http.get("/health")) != name:
                await asyncio.sleep(0.02)


def served_by(response: httpx.Response) -> str:
    """Which of ``NAMES`` answered a request that came through the proxy."""
    return response.headers[SERVED_BY]


@asynccontextmanager
async def two_replicas(whole: WholeStack, proxy_port: int) -> AsyncIterator[TwoReplicas]:
    """The stack's two gateways behind a proxy at that port. Skipped where there is no haproxy."""
    haproxy_or_skip()
    ports = {name: _port_of(whole.child(name)) for name in NAMES}
    with tempfile.TemporaryDirectory(prefix="pa-") as folder:
        async with (
            round_robin(ports, Path(folder), proxy_port) as url,
            open_http(base_url=url, timeout=90, trust_env=False) as http,
        ):
            yield TwoReplicas(whole, url, http)


async def start_second(whole: WholeStack) -> Child:
    """Another gateway beside the stack's own, ready."""
    (port,) = find_free_ports(1)
    first = whole.child(NAMES[0]).spec
    arguments = tuple(str(port) if word == str(_port_of(whole.child(NAMES[0]))) else word for word in first.arguments)
    spec = dataclasses.replace(first, name=NAMES[1], arguments=arguments, url=f"http://127.0.0.1:{port}")
    child = Child.start(spec, whole.stack.logs)
    whole.started.append(child)
    await wait_until_ready((child,), 30)
    return child


def _port_of(child: Child) -> int:
    return int(child.spec.url.rpartition(":")[2])

"""A round-robin proxy in front of servers on this machine, as a load balancer stands before replicas."""

import asyncio
import shutil
import socket
import subprocess
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import httpx
import pytest

from cli.stack.plan import find_free_ports
from shared.infra.process import make_parent_death_hook
from tests.http_client import open_http

SERVED_BY = "x-served-by"  # the response header that names the server
_PATIENCE = 10.0
_QUICK = "check inter 250ms fall 1 rise 1"  # a replica that goes is noticed at once
UNCHECKED = "maxconn 1000"  # for replicas in the test's own process, which answer only while their tests run
_CONFIG = """
global
    maxconn 4000
defaults
    mode http
    timeout connect 2s
    timeout client 60s
    timeout server 60s
    option redispatch
    retries 2
frontend door
    bind 127.0.0.1:{port}
    default_backend replicas
backend replicas
    balance roundrobin
    option httpchk GET /ready
    http-response set-header {served_by} %s
    default-server {checks}
{servers}
"""


def haproxy_or_skip() -> str:
    """The program's path; without it the test is skipped and says what to install."""
    found = shutil.which("haproxy") or shutil.which("haproxy", path="/usr/sbin:/usr/local/sbin")
    if found is None:
        pytest.skip("haproxy is not installed (Debian package: haproxy)")
    return found


@contextmanager
def reserved_port() -> Iterator[int]:
    """A port on which nothing but the proxy can listen meanwhile: it is bound here, with the option that haproxy sets,
    too, and nothing listens.
    """
    (port,) = find_free_ports(1)
    with socket.socket() as holder:
        holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        holder.bind(("127.0.0.1", port))
        yield port


@asynccontextmanager
async def round_robin(servers: Mapping[str, int], folder: Path, port: int, checks: str = _QUICK) -> AsyncIterator[str]:
    """The URL of a proxy that gives each request to the next of the servers, given by name and port.

    A server whose ``/ready`` is not answered with success gets no requests; who answered, says ``SERVED_BY``.
    """
    lines = "\n".join(f"    server {name} 127.0.0.1:{number}" for name, number in servers.items())
    config = folder / "haproxy.cfg"
    config.write_text(_CONFIG.format(port=port, servers=lines, served_by=SERVED_BY, checks=checks).lstrip())
    process = _start(config)
    try:
        url = f"http://127.0.0.1:{port}"
        await _answers(url, process)
        yield url
    finally:
        process.terminate()
        await asyncio.to_thread(process.wait, _PATIENCE)


def _start(config: Path) -> "subprocess.Popen[bytes]":
    with config.with_suffix(".log").open("ab") as log:
        return subprocess.Popen(
            [haproxy_or_skip(), "-db", "-f", str(config)],
            stdout=log,
            stderr=log,
            preexec_fn=make_parent_death_hook(),  # noqa: PLW1509  the only way to be told of a parent's kill -9
        )


async def _answers(url: str, process: "subprocess.Popen[bytes]") -> None:
    async with asyncio.timeout(_PATIENCE), open_http(trust_env=False) as client:
        while process.poll() is None:
            try:
                answer = await client.get(f"{url}/health")
                if answer.is_success and SERVED_BY in answer.headers:
                    return
            except httpx.TransportError:
                await asyncio.sleep(0.02)
    raise AssertionError(f"haproxy ended with exit code {process.returncode}")

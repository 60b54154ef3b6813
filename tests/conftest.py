"""Fixtures that more than one folder uses."""

import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import structlog
from hypothesis import settings
from redis.asyncio import Redis

from shared.infra.embedded_redis import EmbeddedRedis
from shared.infra.live import Live
from shared.infra.redis import connect
from shared.infra.task_store import TaskStore
from tests.redis_server import durable_server

# `make test-long` takes the second one. A deadline would measure how busy the machine is.
settings.register_profile("quick", max_examples=60, deadline=None)
settings.register_profile("thorough", max_examples=500, deadline=None)
settings.load_profile("quick")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Below the results, what tests recorded as ``shown``: figures for people, whichever process measured them."""
    reports = [report for kind in ("passed", "failed") for report in terminalreporter.getreports(kind)]
    shown = [text for report in reports for name, text in report.user_properties if name == "shown"]
    if shown:
        terminalreporter.section("measured")
    for text in sorted(map(str, shown)):
        terminalreporter.line(text)


@pytest.fixture(autouse=True)
def _logs_as_they_were() -> Iterator[None]:
    """A test that starts a service in this process has its logs as that service has them; the next one has not."""
    yield
    structlog.reset_defaults()


@pytest.fixture(scope="session")
def embedded_redis() -> Iterator[EmbeddedRedis]:
    """The embedded server, in a short path (a socket's name is limited to about 100 bytes)."""
    with tempfile.TemporaryDirectory(prefix="pa-") as folder, EmbeddedRedis(Path(folder)) as server:
        yield server


@pytest.fixture(scope="session")
def redis_server() -> Iterator[str]:
    """The URL of one durable server for the whole run: a container where Docker is at hand, else the embedded one."""
    with durable_server() as url:
        yield url


@pytest.fixture
async def redis(redis_server: str) -> AsyncIterator[Redis]:
    """A client on an empty database."""
    client = connect(redis_server)
    await client.flushall()
    yield client
    await client.aclose()


@pytest.fixture
def redis_url(redis_server: str, redis: Redis) -> str:
    """The URL of a real server whose database is empty."""
    return redis_server


@pytest.fixture
async def task_store(redis: Redis) -> AsyncIterator[TaskStore]:
    """What gateways use, on an empty database."""
    async with Live(redis) as live:
        yield TaskStore(redis, live)

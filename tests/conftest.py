"""Fixtures that more than one folder uses."""

import gc
import importlib
from collections.abc import AsyncIterator, Generator, Iterator

import pytest
import structlog
from hypothesis import HealthCheck, settings
from redis.asyncio import Redis

from shared.infra.channel_listener import ChannelListener
from shared.infra.embedded_redis import EmbeddedRedis
from shared.infra.redis import connect
from shared.infra.task_store import TaskStore
from tests.authorities import trust_one_authority
from tests.redis_server import durable_server, private_server
from tests.scheduling import ByStack, rank

# `make test-long` takes the second one. Deadlines and the check of slowness would measure how busy the machine is.
_BUSY = [HealthCheck.too_slow]
settings.register_profile("quick", max_examples=30, deadline=None, suppress_health_check=_BUSY)
settings.register_profile("thorough", max_examples=500, deadline=None, suppress_health_check=_BUSY)
settings.load_profile("quick")
trust_one_authority()


def _reset_logs() -> None:
    """Logs are told on a console, with plain tracebacks: to draw one with its variables takes half a second."""
    structlog.reset_defaults()
    telling = structlog.dev.ConsoleRenderer(exception_formatter=structlog.dev.plain_traceback)
    structlog.configure(processors=[*structlog.get_config()["processors"][:-1], telling])


_reset_logs()


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Generator[None, object, object]:
    """What is collected stays to the end: no look for garbage has to go over all of it, now or later."""
    gc.disable()
    try:
        _import_share(session.config)
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def _import_share(config: pytest.Config) -> None:
    """Where several processes collect, each begins with files of its own: it compiles them for all, so that in a fresh
    checkout no file is compiled by every process.
    """
    given: dict[str, object] = getattr(config, "workerinput", {})
    if not given:
        return
    number, count = int(str(given["workerid"]).removeprefix("gw")), int(str(given["workercount"]))
    asked = [config.rootpath / place for place in config.args]
    tests = sorted((config.rootpath / "tests").rglob("test_*.py"))
    for file in [file for file in tests if any(map(file.is_relative_to, asked))][number::count]:
        importlib.import_module(".".join(file.relative_to(config.rootpath).with_suffix("").parts))


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: rank(item.nodeid))


@pytest.hookimpl(optionalhook=True)  # there is no such hook where tests run in one process
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> ByStack:
    return ByStack(config, log)


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
    _reset_logs()


@pytest.fixture(scope="session")
def embedded_redis() -> Iterator[EmbeddedRedis]:
    with private_server() as server:
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
    async with ChannelListener(redis) as live:
        yield TaskStore(redis, live)

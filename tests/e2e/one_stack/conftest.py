"""One stack of two executors for every file of this folder, whose tests tell their tasks apart by name."""

from collections.abc import AsyncIterator, Iterator

import pytest
import pytest_asyncio

from cli.stack.child import Child
from tests.doubles.otlp_receiver import OtlpReceiver, receiving
from tests.e2e.haproxy import reserved_port
from tests.e2e.one_stack.two_replicas import TwoReplicas, start_second, two_replicas
from tests.e2e.whole_stack import WholeStack, whole_stack


@pytest.fixture(scope="package")
def collector() -> Iterator[OtlpReceiver]:
    """Whatever the stack tells of its work."""
    with receiving() as receiver:
        yield receiver


@pytest.fixture(scope="package")
def proxy_port() -> Iterator[int]:
    """Where the proxy before the gateways listens."""
    with reserved_port() as port:
        yield port


@pytest_asyncio.fixture(scope="package", loop_scope="package")
async def second(stack: WholeStack) -> Child:
    """A second gateway."""
    return await start_second(stack)


@pytest_asyncio.fixture(scope="package", loop_scope="package")
async def pair(stack: WholeStack, second: Child, proxy_port: int) -> AsyncIterator[TwoReplicas]:
    """Both gateways behind a proxy, to which their cards lead."""
    assert second.exit_code is None
    async with two_replicas(stack, proxy_port) as replicas:
        yield replicas


@pytest_asyncio.fixture(scope="package", loop_scope="package")
async def stack(collector: OtlpReceiver, proxy_port: int) -> AsyncIterator[WholeStack]:
    """Every task goes the same way, whatever tests ran before: the strategies read in other states."""
    told = {
        "OTEL_EXPORTER_OTLP_ENDPOINT": collector.url,
        "OTEL_EXPORTER_OTLP_HEADERS": "authorization=let-me-in",
        "OTEL_BSP_SCHEDULE_DELAY": "50",
    }
    quick = {"LEASE_SECONDS": "1", "TOOL_TIMEOUT": "1.5", "DRAIN_SECONDS": "1"}
    told["PURPLE_AGENT_CARD_URL"] = f"http://127.0.0.1:{proxy_port}/"
    async with whole_stack(2, None, PLANNER_ALLOW_FAULTS="true", STRATEGIES="fsm", **quick, **told) as whole:
        yield whole

"""One stack of two executors for every file of this folder, whose tests tell their tasks apart by name."""

from collections.abc import AsyncIterator, Iterator

import pytest
import pytest_asyncio

from tests.doubles.otlp_receiver import OtlpReceiver, receiving
from tests.e2e.whole_stack import WholeStack, whole_stack


@pytest.fixture(scope="package")
def collector() -> Iterator[OtlpReceiver]:
    """Whatever the stack tells of its work."""
    with receiving() as receiver:
        yield receiver


@pytest_asyncio.fixture(scope="package", loop_scope="package")
async def stack(collector: OtlpReceiver) -> AsyncIterator[WholeStack]:
    """Every task goes the same way, whatever tests ran before: the strategies read in other states."""
    told = {
        "OTEL_EXPORTER_OTLP_ENDPOINT": collector.url,
        "OTEL_EXPORTER_OTLP_HEADERS": "authorization=let-me-in",
        "OTEL_BSP_SCHEDULE_DELAY": "50",
    }
    quick = {"LEASE_SECONDS": "1", "TOOL_TIMEOUT": "1.5"}
    async with whole_stack(2, None, PLANNER_ALLOW_FAULTS="true", STRATEGIES="fsm", **quick, **told) as whole:
        yield whole

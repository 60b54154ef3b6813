"""One stack for the whole run with everything that the protocols know, one with nothing that they leave open."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from tests.conformance.replicas import EVERYTHING, NOTHING_OPTIONAL, Replicas, replicas
from tests.conformance.speaking import Rest, Rpc, Speaker


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def full() -> AsyncIterator[Replicas]:
    async with replicas(**EVERYTHING) as found:
        yield found


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def bare() -> AsyncIterator[Replicas]:
    async with replicas(**NOTHING_OPTIONAL) as found:
        yield found


@pytest.fixture(params=["jsonrpc", "rest"])
def speaker(request: pytest.FixtureRequest, full: Replicas) -> Speaker:
    """Protocol 1.0, over each of its bindings in turn."""
    return Rpc(full) if request.param == "jsonrpc" else Rest(full)

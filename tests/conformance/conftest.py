"""A stack with everything that the protocols know, and one with nothing that they leave open.

Of each module its own: the loop of a whole run stands still while other files run, and its open calls time out.
"""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from tests.conformance.replicas import EVERYTHING, NOTHING_OPTIONAL, Replicas, replicas
from tests.conformance.speaking import Rest, Rpc, Speaker


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def full() -> AsyncIterator[Replicas]:
    async with replicas(**EVERYTHING) as found:
        yield found


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def bare() -> AsyncIterator[Replicas]:
    async with replicas(**NOTHING_OPTIONAL) as found:
        yield found


@pytest.fixture(params=["jsonrpc", "rest"])
def speaker(request: pytest.FixtureRequest, full: Replicas) -> Speaker:
    """Protocol 1.0, over each of its bindings in turn."""
    return Rpc(full) if request.param == "jsonrpc" else Rest(full)

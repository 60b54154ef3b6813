"""A stack with everything that the protocols know, and one with nothing that they leave open.

Of each module its own: the loop of a whole run stands still while other files run, and its open calls time out.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
import pytest_asyncio

from tests.conformance.cells import OF_0_3, OF_1_0, TRANSPORTS, WIRE, Cell
from tests.conformance.clients import OldClients, new_client
from tests.conformance.replicas import EVERYTHING, NOTHING_OPTIONAL, Replicas, replicas
from tests.conformance.speaking import Rest, Rpc, Speaker
from tests.contracts import sdk_of_0_3


def _name(cell: Cell) -> str:
    return cell.name


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def full() -> AsyncIterator[Replicas]:
    async with replicas(**EVERYTHING) as found:
        yield found


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def bare() -> AsyncIterator[Replicas]:
    async with replicas(**NOTHING_OPTIONAL) as found:
        yield found


@pytest.fixture(params=WIRE, ids=_name)
def wire(request: pytest.FixtureRequest, full: Replicas) -> Speaker:
    """Protocol 1.0 over each of its bindings in turn, by the test's own words: what no client would say, or shows."""
    cell: Cell = request.param
    return Rpc(full) if cell.binding == "jsonrpc" else Rest(full)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def old_clients(full: Replicas) -> AsyncIterator[OldClients]:
    async with OldClients(full) as found:
        yield found


@pytest_asyncio.fixture(loop_scope="module", params=OF_1_0, ids=_name)
async def speaker(request: pytest.FixtureRequest, full: Replicas) -> AsyncIterator[Speaker]:
    """The same, and by the official client."""
    async with _speaking(request.param, full) as found:
        yield found


@pytest_asyncio.fixture(loop_scope="module", params=(*OF_1_0, *OF_0_3), ids=_name)
async def any_speaker(
    request: pytest.FixtureRequest, full: Replicas, old_clients: OldClients
) -> AsyncIterator[Speaker]:
    """Either generation over either binding, by every official client of it."""
    cell: Cell = request.param
    if cell.who == "old":
        if reason := await sdk_of_0_3.make_environment():
            pytest.skip(f"the 0.3 SDK could not be installed: {reason}")
        yield await old_clients.over(TRANSPORTS[cell.binding])
        return
    async with _speaking(cell, full) as found:
        yield found


@asynccontextmanager
async def _speaking(cell: Cell, full: Replicas) -> AsyncIterator[Speaker]:
    if cell.who == "wire":
        yield Rpc(full) if cell.binding == "jsonrpc" else Rest(full)
        return
    async with new_client(full, TRANSPORTS[cell.binding], cell.version) as client:
        yield client

"""Two gateway replicas behind a round-robin proxy are one gateway to their clients."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from tests.e2e.two_replicas import NAMES, TwoReplicas, served_by, two_replicas

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def pair() -> AsyncIterator[TwoReplicas]:
    async with two_replicas() as replicas:
        yield replicas


async def test_requests_are_answered_by_both_replicas_in_turn(pair: TwoReplicas) -> None:
    answers = [await pair.http.get("/health") for _ in range(4)]
    assert {served_by(answer) for answer in answers} == set(NAMES)

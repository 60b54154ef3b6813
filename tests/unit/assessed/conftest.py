"""A simulated world for each test."""

from collections.abc import AsyncIterator

import pytest

from tests.unit.assessed.world_stage import WorldStage, open_world


@pytest.fixture
async def world() -> AsyncIterator[WorldStage]:
    async with open_world() as stage:
        yield stage

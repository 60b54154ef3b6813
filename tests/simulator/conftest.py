"""A simulator for each test."""

from collections.abc import AsyncIterator

import pytest

from tests.simulator.stage import Stage, open_stage


@pytest.fixture
async def stage() -> AsyncIterator[Stage]:
    async with open_stage() as opened:
        yield opened


@pytest.fixture
async def running(stage: Stage) -> Stage:
    """One whose simulation runs."""
    await stage.post("/simulation/start", {})
    return stage

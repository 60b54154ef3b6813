"""A simulator for each test."""

from collections.abc import AsyncIterator

import pytest

from services.simulator.core.modalities.all import MODALITIES
from services.simulator.core.time_preferences import TimePreferences
from services.simulator.entrypoints.modalities.all import ROUTERS
from tests.simulator.stage import Stage, open_stage


@pytest.fixture
async def stage() -> AsyncIterator[Stage]:
    async with open_stage() as opened:
        yield opened


@pytest.fixture
async def full() -> AsyncIterator[Stage]:
    """One with every modality there is."""
    async with open_stage({**MODALITIES, TimePreferences.name: TimePreferences}, ROUTERS) as opened:
        yield opened


@pytest.fixture
async def running(stage: Stage) -> Stage:
    """One whose simulation runs."""
    await stage.post("/simulation/start", {})
    return stage

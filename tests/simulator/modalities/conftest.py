"""A simulator with every modality, whose simulation runs."""

from collections.abc import AsyncIterator

import pytest

from services.simulator.core.modalities.all import MODALITIES
from services.simulator.entrypoints.modalities.all import ROUTERS
from tests.simulator.stage import Stage, open_stage


@pytest.fixture
async def stage() -> AsyncIterator[Stage]:
    async with open_stage(MODALITIES, ROUTERS) as opened:
        await opened.post("/simulation/start", {})
        yield opened

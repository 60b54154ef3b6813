"""A simulator with every modality, whose simulation runs."""

import pytest

from tests.simulator.stage import Stage


@pytest.fixture
async def stage(full: Stage) -> Stage:
    await full.post("/simulation/start", {})
    return full

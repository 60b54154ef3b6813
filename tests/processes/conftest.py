"""A stage for each test."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.processes.stage import Stage, open_stage


@pytest.fixture
async def stage(tmp_path: Path, redis_url: str) -> AsyncIterator[Stage]:
    async with open_stage(tmp_path, redis_url) as opened:
        yield opened

"""A simulator with every modality, whose simulation runs."""

from collections.abc import AsyncIterator
from typing import NamedTuple

import httpx
import pytest

from services.simulator.core.modalities.all import MODALITIES
from services.simulator.core.records import JsonObject
from services.simulator.entrypoints.modalities.all import ROUTERS
from shared.testing.simulated_surroundings import WALL
from tests.simulator.stage import Stage, open_stage


class _Kept(NamedTuple):
    """What is slow to build, and the world as it was then."""

    stage: Stage
    empty: JsonObject


_kept: list[_Kept] = []


@pytest.fixture
async def stage() -> AsyncIterator[Stage]:
    """The application is built once; each test finds the world new."""
    if not _kept:
        async with open_stage(MODALITIES, ROUTERS) as opened:
            _kept.append(_Kept(opened, await opened.get("/scenario/export/full")))
    built, empty = _kept[0]
    async with httpx.AsyncClient(transport=httpx.ASGITransport(built.app), base_url="http://simulator") as client:
        stage = Stage(built.app, client, built.rooms, built.surroundings, built.routes)
        await stage.post("/simulation/clear", {"reset_time_to": WALL.isoformat()})
        await stage.post("/scenario/import/full", {"scenario": empty["scenario"]})
        await stage.post("/simulation/start", {})
        yield stage

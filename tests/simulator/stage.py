"""A simulator inside the test: its application without a network, and what surrounds it."""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from uuid import UUID

import httpx
from fastapi import APIRouter, FastAPI
from pydantic import JsonValue
from typing_extensions import override

from services.simulator.core.keys import EVERYTHING, Key, hashed
from services.simulator.core.modality import Modality
from services.simulator.core.room import Rooms
from services.simulator.core.world import World
from services.simulator.entrypoints.app import application
from services.simulator.entrypoints.ticking import ticking
from services.simulator.ports import Surroundings
from tests.simulator.notes import Notes

ADMIN = "a" * 40
WALL = datetime(2026, 3, 1, 9, 0, tzinfo=UTC)
JsonObject = dict[str, JsonValue]


class StillSurroundings(Surroundings):
    """Time passes when a test says so; ids and secrets are counted."""

    def __init__(self) -> None:
        self.time = WALL
        self._count = 0

    def pass_seconds(self, seconds: float) -> None:
        self.time += timedelta(seconds=seconds)

    @override
    def now(self) -> datetime:
        return self.time

    @override
    def new_id(self) -> str:
        self._count += 1
        return str(UUID(int=self._count))

    @override
    def new_secret(self, length: int) -> str:
        self._count += 1
        return f"{self._count:0{length}x}"


@dataclass
class Stage:
    """``client`` calls as the admin."""

    app: FastAPI
    client: httpx.AsyncClient
    rooms: Rooms
    surroundings: StillSurroundings

    @property
    def world(self) -> World:
        return self.rooms.get("default").world

    def as_key(self, secret: str | None) -> httpx.AsyncClient:
        """A client with another key, or none."""
        headers = {"X-API-Key": secret} if secret else {}
        return httpx.AsyncClient(transport=self.client._transport, base_url="http://simulator", headers=headers)

    async def key(self, *permissions: str) -> tuple[str, str]:
        """A new key's id and secret."""
        made = await self.post("/keys", {"name": "someone", "permissions": list(permissions)}, expect=201)
        return made["key_id"], made["secret"]

    async def get(self, path: str, expect: int = 200, **asked: str | int) -> dict[str, object]:
        return await self._answer(self.client.get(path, params=asked), expect)


@asynccontextmanager
async def open_stage(
    modalities: Mapping[str, Callable[[datetime], Modality]] | None = None,
    routers: Sequence[APIRouter] = (),
    authentication: bool = True,
) -> AsyncIterator[Stage]:
    """A simulator whose default world knows these modalities; notes alone unless others are named."""
    surroundings = StillSurroundings()
    admin = Key("ues_admin", "admin", (EVERYTHING,), hashed(ADMIN), WALL, None)
    rooms = Rooms(modalities or {"notes": Notes}, surroundings, admin, most=20)
    app = application(rooms, routers, ticking, authentication, max_body_bytes=2**20)
    transport = httpx.ASGITransport(app)
    async with httpx.AsyncClient(
        transport=transport, base_url="http://simulator", headers={"X-API-Key": ADMIN}
    ) as client:
        yield Stage(app, client, rooms, surroundings)

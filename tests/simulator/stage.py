"""A simulator inside the test: its application without a network, and what surrounds it."""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import NamedTuple, cast
from uuid import UUID

import httpx
from fastapi import APIRouter, FastAPI
from typing_extensions import override

from services.simulator.core.keys import EVERYTHING, Key, hashed
from services.simulator.core.modality import Modality
from services.simulator.core.records import JsonObject
from services.simulator.core.room import Rooms
from services.simulator.core.world import World
from services.simulator.entrypoints.app import application
from services.simulator.entrypoints.ticking import ticking
from services.simulator.ports import Surroundings
from tests.simulator.notes import Notes

ADMIN = "a" * 40
WALL = datetime(2026, 3, 1, 9, 0, tzinfo=UTC)


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


class MadeKey(NamedTuple):
    key_id: str
    secret: str


@dataclass
class Stage:
    """``call`` asks as the admin unless a secret is given; an answer that was not expected fails the test."""

    app: FastAPI
    client: httpx.AsyncClient
    rooms: Rooms
    surroundings: StillSurroundings

    @property
    def world(self) -> World:
        return self.rooms.get("default").world

    async def call(self, method: str, path: str, body: object = None, key: str = ADMIN) -> httpx.Response:
        return await self.client.request(method, path, json=body, headers={"X-API-Key": key} if key else {})

    async def get(self, path: str, expect: int = 200, key: str = ADMIN) -> JsonObject:
        return _read(await self.call("GET", path, key=key), expect)

    async def post(self, path: str, body: object = None, expect: int = 200, key: str = ADMIN) -> JsonObject:
        return _read(await self.call("POST", path, body, key), expect)

    async def delete(self, path: str, expect: int = 200, key: str = ADMIN) -> JsonObject:
        return _read(await self.call("DELETE", path, key=key), expect)

    async def key(self, *permissions: str) -> MadeKey:
        """A new key that may do that."""
        made = await self.post("/keys", {"name": "someone", "permissions": list(permissions)}, expect=201)
        return MadeKey(str(made["key_id"]), str(made["secret"]))


def _read(response: httpx.Response, expect: int) -> JsonObject:
    assert response.status_code == expect, f"{response.status_code} instead of {expect}: {response.text}"
    return cast(JsonObject, response.json())


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
    async with httpx.AsyncClient(transport=transport, base_url="http://simulator") as client:
        yield Stage(app, client, rooms, surroundings)

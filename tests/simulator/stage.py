"""A simulator inside the test: its application without a network, and what surrounds it."""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple, cast

import httpx
from fastapi import APIRouter, FastAPI
from starlette.types import ASGIApp

from services.simulator.core.hosted_world import WorldRegistry
from services.simulator.core.keys import ALL_PERMISSIONS, AccessKey, hash_secret
from services.simulator.core.modality import Modality
from services.simulator.core.records import JsonObject
from services.simulator.core.world import SimulatorWorld
from services.simulator.entrypoints.app import build_routes
from services.simulator.entrypoints.strict_bodies import StrictBodies
from services.simulator.entrypoints.world_routing import WorldRouting
from tests.doubles.simulated_surroundings import WALL as WALL, StillSurroundings as StillSurroundings
from tests.simulator.notes import Notes

ADMIN = "a" * 40


class MadeKey(NamedTuple):
    key_id: str
    secret: str


@dataclass
class Stage:
    """``call`` asks as the admin unless a secret is given; an answer that was not expected fails the test."""

    app: ASGIApp
    client: httpx.AsyncClient
    rooms: WorldRegistry
    surroundings: StillSurroundings
    routes: FastAPI

    @property
    def world(self) -> SimulatorWorld:
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
    refuses_unknown: bool = False,
) -> AsyncIterator[Stage]:
    """A simulator whose default world knows these modalities; notes alone unless others are named."""
    surroundings = StillSurroundings()
    admin = AccessKey("ues_admin", "admin", (ALL_PERMISSIONS,), hash_secret(ADMIN), WALL, None)
    rooms = WorldRegistry(modalities or {"notes": Notes}, surroundings, admin, most=20)
    routes = build_routes(routers, refuses_unknown) if refuses_unknown else _routed(routers)
    app = WorldRouting(StrictBodies(routes, limit=2**20), rooms, authentication)
    transport = httpx.ASGITransport(app)
    async with httpx.AsyncClient(transport=transport, base_url="http://simulator") as client:
        yield Stage(app, client, rooms, surroundings, routes)


def _routed(routers: Sequence[APIRouter]) -> FastAPI:
    """Made once: routes know no world, and take longer to make than most tests to run."""
    known = tuple(map(id, routers))
    if known not in _APPS:
        _APPS[known] = build_routes(routers)
    return _APPS[known]


_APPS: dict[tuple[int, ...], FastAPI] = {}

"""What a stage serves: services that know nothing of a test are built once, and all servers stop at the same time."""

import asyncio
from contextlib import AbstractAsyncContextManager
from functools import lru_cache
from typing import Self, TypeVar

from fastapi import FastAPI

from services.planner.bootstrap import build as build_planner
from services.planner.settings import PlannerSettings
from services.policy.bootstrap import build as build_policy
from services.policy.settings import PolicySettings

T = TypeVar("T")


@lru_cache
def planner_app(faults: str = "") -> FastAPI:
    return build_planner(PlannerSettings(planner_faults=faults))


@lru_cache(maxsize=1)
def policy_app() -> FastAPI:
    return build_policy(PolicySettings())


class Servers:
    """Running servers; each takes a tenth of a second to stop, so they do it side by side."""

    def __init__(self) -> None:
        self._running: list[AbstractAsyncContextManager[object]] = []

    async def start(self, server: AbstractAsyncContextManager[T]) -> T:
        address = await server.__aenter__()
        self._running.append(server)
        return address

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await asyncio.gather(*(server.__aexit__(None, None, None) for server in self._running))

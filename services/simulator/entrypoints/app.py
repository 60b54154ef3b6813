"""The application: every route, and the layers before them."""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager

from fastapi import APIRouter, Depends, FastAPI

from services.simulator.core.hosted_world import WorldRegistry
from services.simulator.entrypoints import (
    access_logs,
    environment,
    event_batches,
    event_stream,
    events,
    health,
    holding,
    keys,
    scenario,
    simulation,
    time,
    webhooks,
    worlds,
)
from services.simulator.entrypoints.errors import REFUSED, answer_refusals
from services.simulator.entrypoints.strict_bodies import StrictBodies
from services.simulator.entrypoints.unknown_fields import refuse_unknown_fields
from services.simulator.entrypoints.version import UES_VERSION
from services.simulator.entrypoints.world_routing import WorldRouting

_ROUTE_MODULES = (
    health,
    time,
    simulation,
    holding,
    event_batches,
    event_stream,
    events,
    environment,
    scenario,
    keys,
    access_logs,
    webhooks,
    worlds,
)
Background = Callable[[WorldRegistry], AbstractAsyncContextManager[None]]


def build_application(
    registry: WorldRegistry,
    modalities: Sequence[APIRouter],
    background: Background,
    authentication: bool,
    max_body_bytes: int,
    refuses_unknown: bool = False,
) -> FastAPI:
    """The ASGI application. ``background`` runs beside the requests, from start to shutdown.

    ``refuses_unknown``: whether a body's field that no version of the interface has is refused.
    """

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        async with background(registry):
            yield

    app = build_routes(modalities, refuses_unknown)
    app.router.lifespan_context = lifespan
    app.add_middleware(StrictBodies, limit=max_body_bytes)
    app.add_middleware(WorldRouting, registry=registry, authentication=authentication)
    return app


def build_routes(modalities: Sequence[APIRouter], refuses_unknown: bool = False) -> FastAPI:
    """Every route, for whichever world stands behind it."""
    checks = [Depends(refuse_unknown_fields)] if refuses_unknown else []
    app = FastAPI(title="User Environment Simulator", version=UES_VERSION, dependencies=checks)
    for module in _ROUTE_MODULES:
        app.include_router(module.router, responses={**REFUSED})
    for router in modalities:
        app.include_router(router, responses={**REFUSED})
    answer_refusals(app)
    return app

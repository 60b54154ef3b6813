"""Where the console's ports and adapters meet, and where it is joined to the gateway."""

from collections.abc import Callable
from datetime import datetime

from redis.asyncio import Redis
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Mount, Route

from services.gateway.adapters.identity.redis_sign_ins import RedisSignIns
from services.gateway.core.identity.source_address import networks_in
from services.gateway.entrypoints.console.application import console
from services.gateway.entrypoints.console.assets import Assets
from services.gateway.entrypoints.console.gate import Gate
from services.gateway.entrypoints.console.glance import Glance
from services.gateway.entrypoints.console.pages import Pages
from services.gateway.entrypoints.console.room import Desks, Room
from services.gateway.ports.identity import Identity
from services.gateway.settings import Settings


def console_routes(
    desks: Desks, state: Redis, identity: Identity, settings: Settings, clock: Callable[[], datetime]
) -> list[BaseRoute]:
    assets = Assets()
    room = Room(
        desks=desks,
        gate=Gate(identity, RedisSignIns(state)),
        pages=Pages(assets, settings.model_notice, clock),
        glance=Glance(desks.approvals, desks.lists, desks.statistics, clock),
        secure=settings.card_url.startswith("https://"),
        trusted=networks_in(settings.trusted_proxies),
    )
    return [Route("/console", _home), Mount("/console", console(room, assets))]


async def _home(_: Request) -> Response:
    """A relative place: behind a proxy nobody knows here what the outside calls us."""
    return RedirectResponse("/console/", 307)

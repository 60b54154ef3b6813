"""Where the console's ports and adapters meet, and where it is joined to the gateway."""

from collections.abc import Callable
from datetime import datetime

from redis.asyncio import Redis
from starlette.routing import Mount

from services.gateway.adapters.redis_sign_ins import RedisSignIns
from services.gateway.entrypoints.console.application import console
from services.gateway.entrypoints.console.gate import Gate
from services.gateway.entrypoints.console.glance import Glance
from services.gateway.entrypoints.console.room import Desks
from services.gateway.ports import Identity
from services.gateway.settings import Settings


def console_mount(
    desks: Desks, state: Redis, identity: Identity, settings: Settings, clock: Callable[[], datetime]
) -> Mount:
    gate, glance = Gate(identity, RedisSignIns(state)), Glance(desks.approvals, desks.lists, clock)
    secure = settings.card_url.startswith("https://")
    return Mount("/console", console(desks, gate, glance, settings.model_notice, secure=secure))

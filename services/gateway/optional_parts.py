"""What an optional part of the gateway is given, and what it gives back."""

from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from redis.asyncio import Redis
from starlette.routing import BaseRoute

from services.gateway.features.identity.model import Identity
from services.gateway.features.services import FeatureServices
from services.gateway.settings import GatewaySettings


@dataclass(frozen=True)
class PartHost:
    """The gateway as a part sees it. ``state``: the Redis of durable state."""

    settings: GatewaySettings
    state: Redis
    identity: Identity
    services: FeatureServices
    clock: Callable[[], datetime]


class GatewayPart(NamedTuple):
    """``routes`` come behind all others; ``open`` is entered when the gateway starts and left when it stops."""

    routes: Sequence[BaseRoute]
    open: Callable[[], AbstractAsyncContextManager[None]] = nullcontext


BuildPart = Callable[[PartHost], GatewayPart]

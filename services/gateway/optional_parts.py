"""The interface of the gateway's optional parts: what they are given, and what they provide."""

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
    """What the gateway gives to an optional part. ``state``: the Redis of durable state."""

    settings: GatewaySettings
    state: Redis
    identity: Identity
    services: FeatureServices
    clock: Callable[[], datetime]


class GatewayPart(NamedTuple):
    """An optional part of the gateway. ``routes``: matched last; ``open``: entered while the gateway runs."""

    routes: Sequence[BaseRoute]
    open: Callable[[], AbstractAsyncContextManager[None]] = nullcontext


BuildPart = Callable[[PartHost], GatewayPart]

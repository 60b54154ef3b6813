"""Who calls which world: what every route needs, and the check of its key and permission."""

from dataclasses import dataclass
from typing import Annotated, TypeAlias, cast

from fastapi import Depends, Request
from fastapi.params import Depends as Dependency
from fastapi.security import APIKeyHeader
from starlette.types import Scope

from services.simulator.core.hosted_world import HostedWorld, WorldRegistry
from services.simulator.core.keys import Forbidden, KeyCaller
from services.simulator.core.refusals import SimulatorRefusal
from services.simulator.core.world import SimulatorWorld

_ENTRY = "simulator.entry"
_key_header = APIKeyHeader(name="X-API-Key", auto_error=False, description="The key of whoever calls.")


class NoValidKey(SimulatorRefusal):
    """Nobody showed a key that works: 401."""

    status = 401


@dataclass
class RoutedRequest:
    """One request on its way to a world. ``caller`` is known once the key was looked at."""

    registry: WorldRegistry
    world_id: str
    authentication: bool
    caller: KeyCaller | None = None


@dataclass(frozen=True)
class RequestContext:
    """A caller inside a world, allowed to do what the route does."""

    registry: WorldRegistry
    hosted: HostedWorld
    caller: KeyCaller

    @property
    def world(self) -> SimulatorWorld:
        return self.hosted.world


def store_entry(scope: Scope, entry: RoutedRequest) -> None:
    """What the outer layers hand down to the routes."""
    scope[_ENTRY] = entry


def entry_of(scope: Scope) -> RoutedRequest:
    return cast(RoutedRequest, scope[_ENTRY])


def open_context(entry: RoutedRequest, secret: str | None) -> RequestContext:
    """Raises ``NoValidKey``, and ``Missing`` if there is no such world: to the admin alone, so nobody can probe."""
    caller = _require_caller(entry, secret)
    entry.caller = caller
    hosted = entry.registry.get(entry.world_id)
    hosted.world.catch_up()
    return RequestContext(entry.registry, hosted, caller)


def _require_caller(entry: RoutedRequest, secret: str | None) -> KeyCaller:
    if not entry.authentication:
        return entry.registry.admin
    if not secret:
        raise NoValidKey("API key required. Provide X-API-Key header.")
    caller = entry.registry.find_caller(entry.world_id, secret)
    if caller is None:
        raise NoValidKey("Invalid or revoked API key.")
    return caller


def require_permission(permission: str) -> Dependency:
    """A dependency that lets in whoever shows a key with that permission; 401 or 403 otherwise."""

    async def let_in(request: Request, secret: Annotated[str | None, Depends(_key_header)]) -> RequestContext:
        place = open_context(entry_of(request.scope), secret)
        if not place.caller.may(permission):
            raise Forbidden(f"Permission denied. Required permission: {permission}")
        return place

    return cast(Dependency, Depends(let_in))


def _require_admin() -> Dependency:
    async def let_in(request: Request, secret: Annotated[str | None, Depends(_key_header)]) -> RequestContext:
        place = open_context(entry_of(request.scope), secret)
        if place.caller.key_id != place.registry.admin.key_id:
            raise Forbidden("Permission denied. Required: the admin key")
        return place

    return cast(Dependency, Depends(let_in))


AdminPlace: TypeAlias = Annotated[RequestContext, _require_admin()]

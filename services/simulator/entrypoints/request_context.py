"""The context of a request: which caller is in which world, and the check of key and permission."""

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
    """The request has no valid API key: 401."""

    status = 401


@dataclass
class RoutedRequest:
    """A request that is routed to a world. ``caller`` is set once the key was checked."""

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
    """Puts the entry into the ASGI scope, where routes find it."""
    scope[_ENTRY] = entry


def entry_of(scope: Scope) -> RoutedRequest:
    return cast(RoutedRequest, scope[_ENTRY])


def open_context(entry: RoutedRequest, secret: str | None) -> RequestContext:
    """The context of a request, after its key was checked.

    Raises ``NoValidKey``, and ``Missing`` if there is no such world: only to the admin, so that nobody can probe for
    ids.
    """
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
    caller = entry.registry.admit_caller(entry.world_id, secret)
    if caller is None:
        raise NoValidKey("Invalid or revoked API key.")
    return caller


def require_permission(permission: str) -> Dependency:
    """A dependency that admits callers whose key has that permission; it answers 401 or 403 otherwise."""

    async def let_in(request: Request, secret: Annotated[str | None, Depends(_key_header)]) -> RequestContext:
        context = open_context(entry_of(request.scope), secret)
        if not context.caller.may(permission):
            raise Forbidden(f"Permission denied. Required permission: {permission}")
        return context

    return cast(Dependency, Depends(let_in))


def _require_admin() -> Dependency:
    async def let_in(request: Request, secret: Annotated[str | None, Depends(_key_header)]) -> RequestContext:
        context = open_context(entry_of(request.scope), secret)
        if context.caller.key_id != context.registry.admin.key_id:
            raise Forbidden("Permission denied. Required: the admin key")
        return context

    return cast(Dependency, Depends(let_in))


AdminContext: TypeAlias = Annotated[RequestContext, _require_admin()]

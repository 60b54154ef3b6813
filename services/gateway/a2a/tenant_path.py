"""Paths of protocol 1.0 behind a tenant's name: ``/acme/tasks/t1`` is ``/tasks/t1`` for callers of tenant acme.

Only these paths are known by both names, and only to callers of that very tenant: nothing else is shadowed, and a
tenant that is not the caller's is as unknown as any other path.
"""

import re
from urllib.parse import unquote

from fastapi import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from services.gateway.features.identity.middleware import let_in
from services.gateway.features.identity.roles import DEFAULT_TENANT

_PATH = re.compile(r"/(?P<tenant>[^/]+)(?P<rest>/(message:(send|stream)|tasks(/.+)?|extendedAgentCard))")
_TAKEN = frozenset({"v1", "tasks", "console", "tenants"})  # first words of the gateway's own paths


class TenantPath:
    """Middleware behind the check of who calls."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not (rest := _rest_of(scope)):
            return await self._app(scope, receive, send)
        known = {**scope, "path": rest, "raw_path": rest.encode()}
        try:
            return await self._app(known, receive, send)
        finally:
            scope["route"] = known.get("route")  # whoever counts requests stands outside


def _rest_of(scope: Scope) -> str | None:
    found = _PATH.fullmatch(str(scope["path"]))
    if found is None or found["tenant"] in _TAKEN:
        return None
    caller = let_in(Request(scope))
    own = caller.tenant if caller else DEFAULT_TENANT
    return found["rest"] if unquote(found["tenant"]) == own else None

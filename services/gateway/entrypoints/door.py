"""The door: every request is let in or turned away before anything of it is read."""

from typing import cast

from fastapi import Request
from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from services.gateway.core.errors import IssuerUnavailable, NotEntitled, Unauthenticated
from services.gateway.entrypoints.replies import RETRY_LATER
from services.gateway.ports import Caller, Identity, StoreUnavailable

_LET_IN = "purple.let_in"
_OPEN = ("/health", "/ready", "/console")  # what probes ask, and what leads to the console
_OPEN_FOLDERS = ("/.well-known/", "/console/")  # cards are public; the console asks for a sign-in of its own
_CHALLENGE = {"WWW-Authenticate": 'Bearer realm="purple-agent"'}


class Door:
    """Middleware that asks ``identity`` once for each request and notes whom it let in."""

    def __init__(self, app: ASGIApp, identity: Identity) -> None:
        self._app, self._identity = app, identity

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or _is_open(str(scope["path"])):
            return await self._app(scope, receive, send)
        try:
            scope[_LET_IN] = await self._identity.at_the_door(Headers(scope=scope))
        except Unauthenticated as fault:
            return await JSONResponse({"error": str(fault)}, 401, _CHALLENGE)(scope, receive, send)
        except NotEntitled as fault:
            return await JSONResponse({"error": str(fault)}, 403)(scope, receive, send)
        except (StoreUnavailable, IssuerUnavailable) as fault:
            return await JSONResponse({"error": str(fault)}, 503, RETRY_LATER)(scope, receive, send)
        return await self._app(scope, receive, send)


def let_in(request: Request) -> Caller | None:
    """Whom the door let in with this request; None where nobody checks."""
    return cast("Caller | None", request.scope.get(_LET_IN))


def _is_open(path: str) -> bool:
    return path in _OPEN or path.startswith(_OPEN_FOLDERS)

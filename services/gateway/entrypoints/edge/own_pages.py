"""Turns away what pages of other sites send or read, where nobody is asked for a key."""

from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from services.gateway.core.identity.origins import is_own_host, is_own_page

_PROBES = frozenset({"/health", "/ready"})  # asked under any name, by those who run us; they tell nothing of a task
_WHOSE_PAGE = (
    "requests from web pages of {origin} are not taken: nobody is asked for a key here, so only the gateway's own "
    "pages may send any; PURPLE_AGENT_CARD_URL names the address by which they are reached"
)
_WHICH_HOST = (
    "requests to {host} are not answered: nobody is asked for a key here, so the gateway answers under an address, a "
    "name without a dot and the name in PURPLE_AGENT_CARD_URL alone"
)


class OwnPages:
    """Middleware. ``public``: the gateway's URL for clients. Programs send no ``Origin``; of them ``Host`` counts."""

    def __init__(self, app: ASGIApp, public: str) -> None:
        self._app, self._public = app, public

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        why = self._why_refused(scope) if scope["type"] == "http" else None
        if why is None:
            return await self._app(scope, receive, send)
        return await JSONResponse({"error": why}, 403)(scope, receive, send)

    def _why_refused(self, scope: Scope) -> str | None:
        headers = Headers(scope=scope)
        host, origin = headers.get("host", ""), headers.get("origin")
        if origin is not None:
            return None if is_own_page(origin, host, self._public) else _WHOSE_PAGE.format(origin=origin[:200])
        if scope["path"] in _PROBES or is_own_host(host, self._public):
            return None
        return _WHICH_HOST.format(host=host[:200] or "no host")

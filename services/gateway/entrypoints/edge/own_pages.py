"""Turns away what pages of other sites send, where nobody is asked for a key."""

from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from services.gateway.core.identity.origins import is_own_page

_WHY = (
    "requests from web pages of {origin} are not taken: nobody is asked for a key here, so only the gateway's own "
    "pages may send any; PURPLE_AGENT_CARD_URL names the address by which they are reached"
)


class OwnPages:
    """Middleware. Programs send no ``Origin``, and are not concerned. ``public``: the gateway's URL for clients."""

    def __init__(self, app: ASGIApp, public: str) -> None:
        self._app, self._public = app, public

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = Headers(scope=scope) if scope["type"] == "http" else Headers()
        origin = headers.get("origin")
        if origin is None or is_own_page(origin, headers.get("host", ""), self._public):
            return await self._app(scope, receive, send)
        said = {"error": _WHY.format(origin=origin[:200])}
        return await JSONResponse(said, 403)(scope, receive, send)

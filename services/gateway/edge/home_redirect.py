"""Middleware that leads a browser from ``/``, where programs post calls, to pages for people."""

from starlette.datastructures import Headers
from starlette.responses import RedirectResponse
from starlette.types import ASGIApp, Receive, Scope, Send

_METHODS = ("GET", "HEAD")


class HomeRedirect:
    """Redirects reads of ``/`` that accept HTML to ``home``; passes any other request on to ``app``."""

    def __init__(self, app: ASGIApp, home: str) -> None:
        self._app = app
        self._answer = RedirectResponse(home, 307, {"Vary": "Accept"})

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        is_read_of_root = scope["type"] == "http" and scope["path"] == "/" and scope["method"] in _METHODS
        asks_for_page = is_read_of_root and "text/html" in Headers(scope=scope).get("accept", "")
        return await (self._answer if asks_for_page else self._app)(scope, receive, send)

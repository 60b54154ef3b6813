"""Where nobody is asked for a key, a browser's requests are taken from the gateway's own pages alone."""

import re
from collections.abc import Mapping
from functools import lru_cache
from ipaddress import ip_address
from typing import NamedTuple

from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

_ORIGIN = re.compile(
    r"(?P<scheme>https?)://(?P<host>[a-z0-9_.-]+|\[[0-9a-f:.]+\])(?::(?P<port>[0-9]{1,5}))?", re.IGNORECASE
)
_REMEMBERED = 64  # words of clients, up to a whole head of a request each
_PORTS = {"http": "80", "https": "443"}


class _PageOrigin(NamedTuple):
    host: str
    port: str


@lru_cache(_REMEMBERED)
def is_own_page(origin: str, host: str, public: str) -> bool:
    """Whether ``origin`` is the gateway at its public URL, or at the ``Host`` that was asked, if that is no name which
    somebody else could lead here: an address, localhost, or a name without a dot.
    """
    page = _place(_ORIGIN.fullmatch(origin))
    if page is None:
        return False
    if page == _place(_ORIGIN.match(public)):
        return True
    scheme = origin.partition("://")[0]
    return page == _place(_ORIGIN.fullmatch(f"{scheme}://{host}")) and _is_ours(page.host)


@lru_cache(_REMEMBERED)
def is_own_host(host: str, public: str) -> bool:
    """Whether a request asked for the gateway's public name, or for one that nobody else could lead here.

    Ports are not compared: a port that is published under another number is still ours.
    """
    asked = _place(_ORIGIN.fullmatch(f"http://{host}"))
    ours = _place(_ORIGIN.match(public))
    return asked is not None and ((ours is not None and asked.host == ours.host) or _is_ours(asked.host))


def _is_ours(name: str) -> bool:
    try:
        ip_address(name.removeprefix("[").removesuffix("]"))
    except ValueError:
        return "." not in name or name.endswith(".localhost")
    return True


def _place(found: re.Match[str] | None) -> _PageOrigin | None:
    """None where there is no such place."""
    if found is None:
        return None
    port = found["port"] or _PORTS[found["scheme"].lower()]
    return _PageOrigin(found["host"].lower(), port) if 0 < int(port) < 65536 else None


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
        why = self.why_refused(scope["path"], Headers(scope=scope)) if scope["type"] == "http" else None
        if why is None:
            return await self._app(scope, receive, send)
        return await JSONResponse({"error": why}, 403)(scope, receive, send)

    def why_refused(self, path: str, headers: Mapping[str, str]) -> str | None:
        """The sentence that a request is refused with; None if it is taken."""
        host, origin = headers.get("host", ""), headers.get("origin")
        if origin is not None:
            return None if is_own_page(origin, host, self._public) else _WHOSE_PAGE.format(origin=origin[:200])
        if path in _PROBES or is_own_host(host, self._public):
            return None
        return _WHICH_HOST.format(host=host[:200] or "no host")

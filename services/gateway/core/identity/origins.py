"""Which web pages may send and read where nobody is asked for a key: the gateway's own, and no site that is visited.

A browser lets any page send a plain POST to this machine, and says in ``Origin`` whose page it is. It lets a page read
only its own site; whose name then leads to this machine reads us as its own site, and says so in ``Host`` alone.
"""

import re
from ipaddress import ip_address
from typing import NamedTuple

_ORIGIN = re.compile(
    r"(?P<scheme>https?)://(?P<host>[a-z0-9_.-]+|\[[0-9a-f:.]+\])(?::(?P<port>[0-9]{1,5}))?", re.IGNORECASE
)
_PORTS = {"http": "80", "https": "443"}


class _Place(NamedTuple):
    host: str
    port: str


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


def _place(found: re.Match[str] | None) -> _Place | None:
    """None where there is no such place."""
    if found is None:
        return None
    port = found["port"] or _PORTS[found["scheme"].lower()]
    return _Place(found["host"].lower(), port) if 0 < int(port) < 65536 else None

"""Which web pages may send requests where nobody is asked for a key: the gateway's own, and no site that is visited.

A browser lets any page send a plain POST to this machine, and says in ``Origin`` whose page it is.
"""

from ipaddress import ip_address
from urllib.parse import SplitResult, urlsplit

_PORTS = {"http": 80, "https": 443}


def is_own_page(origin: str, host: str, public: str) -> bool:
    """Whether ``origin`` is the gateway at its public URL, or at the ``Host`` that was asked, if that is no name which
    somebody else could lead here: an address, localhost, or a name without a dot.
    """
    page = _split(origin)
    if page is None or not page.hostname:
        return False
    if _place(page) == _place(urlsplit(public)):
        return True
    asked = _split(f"{page.scheme}://{host}")
    return asked is not None and _place(page) == _place(asked) and _is_ours(page.hostname)


def _is_ours(name: str) -> bool:
    try:
        ip_address(name)
    except ValueError:
        return "." not in name or name.endswith(".localhost")
    return True


def _place(url: SplitResult) -> tuple[str | None, int | None]:
    return url.hostname, url.port or _PORTS.get(url.scheme)


def _split(url: str) -> SplitResult | None:
    """None where it cannot be read, or has no port that there is."""
    try:
        found = urlsplit(url)
        return found if found.scheme in _PORTS and found.port != 0 else None
    except ValueError:
        return None

"""Which tools endpoint a request may name. It is input from outside: anything odd is refused."""

from collections.abc import Collection
from ipaddress import ip_address

from pydantic_core import Url

from services.gateway.core.errors import InvalidField

FIELD = "metadata.tools_endpoint"


def permitted_endpoint(url: str, *, loopback: bool, allowed_hosts: Collection[str]) -> str:
    """The URL itself if it may be used; raises ``InvalidField``.

    ``allowed_hosts`` holds hosts, each with or without a port; ``loopback`` opens this machine's own addresses.
    """
    parts = _parsed(url)
    host = (parts.host or "").strip("[]")
    named = {host, f"{host}:{parts.port}"} & {entry.lower() for entry in allowed_hosts}
    if not named and not (loopback and is_loopback(host)):
        raise InvalidField(FIELD, f"host {host!r} is not allowed here; the operator may add it to TOOLS_ALLOWED_HOSTS")
    return url


def is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def _parsed(url: str) -> Url:
    if not url.isprintable() or not url.isascii() or " " in url or "\\" in url:
        raise InvalidField(FIELD, "must be a plain URL without spaces, backslashes or control characters")
    try:
        parts = Url(url)
    except ValueError:
        raise InvalidField(FIELD, "is not a URL") from None
    if parts.scheme not in {"http", "https"} or not parts.host:
        raise InvalidField(FIELD, "must be an http or https URL with a host")
    if "@" in url or "?" in url or "#" in url:
        raise InvalidField(FIELD, "must have no user, query or fragment")
    if f"//{parts.host}" not in url.lower():
        raise InvalidField(FIELD, f"must spell its host as {parts.host!r}")
    return parts

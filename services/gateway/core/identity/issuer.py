"""An issuer's addresses: which its keys may come from, and where it describes itself."""

import re

_OVER_TLS = re.compile(r"https://[^\s/?#@]+([/?]\S*)?")
_ON_THIS_MACHINE = re.compile(r"http://(localhost|127\.0\.0\.1|\[::1\])(:\d+)?(/\S*)?")


def discovery_of(issuer: str) -> str:
    """Where an issuer describes itself (OpenID Connect Discovery)."""
    return issuer.rstrip("/") + "/.well-known/openid-configuration"


def may_be_asked(url: str) -> bool:
    """Keys are believed, so they come over TLS; on this machine they may come without."""
    return bool(_OVER_TLS.fullmatch(url) or _ON_THIS_MACHINE.fullmatch(url))

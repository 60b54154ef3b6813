"""Which addresses an issuer's keys may come from."""

import re

_OVER_TLS = re.compile(r"https://[^\s/?#@]+([/?]\S*)?")
_ON_THIS_MACHINE = re.compile(r"http://(localhost|127\.0\.0\.1|\[::1\])(:\d+)?(/\S*)?")


def may_be_asked(url: str) -> bool:
    """Keys are believed, so they come over TLS; on this machine they may come without."""
    return bool(_OVER_TLS.fullmatch(url) or _ON_THIS_MACHINE.fullmatch(url))

"""How large a request may be, and how many are answered at once."""

from typing import NamedTuple


class RequestLimits(NamedTuple):
    """``open_requests``: how many this process answers at once, streams among them."""

    body_bytes: int = 1024 * 1024
    body_seconds: float = 30.0
    header_bytes: int = 32 * 1024
    url_bytes: int = 8 * 1024
    open_requests: int = 2000

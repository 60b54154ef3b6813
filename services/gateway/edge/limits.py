"""How large requests may be, what each costs, and where a caller stands to its limits."""

from enum import StrEnum
from typing import NamedTuple


class RequestLimits(NamedTuple):
    """``open_requests``: how many this process answers at once, streams among them.

    ``message_bytes``: the largest body on the paths of messages, which may hold files; ``large_bodies``: how many over
    ``body_bytes`` are in hand at once.
    """

    body_bytes: int = 1024 * 1024
    message_bytes: int = 1024 * 1024
    large_bodies: int = 4
    body_seconds: float = 30.0
    header_bytes: int = 32 * 1024
    url_bytes: int = 8 * 1024
    open_requests: int = 2000


class RequestCost(StrEnum):
    """What a request costs: nothing, a request, a message, or both."""

    LOOK = "look"
    REQUEST = "request"
    MESSAGE = "message"
    REQUEST_AND_MESSAGE = "request_and_message"

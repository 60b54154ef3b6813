"""What a request costs, whether its caller may have it, and how it is told where it stands."""

import re
from collections.abc import Mapping
from math import ceil

from services.gateway.core.errors import TooManyRequests
from services.gateway.ports.identity import Errand, Measure, Standing

_MESSAGE_PATH = re.compile(r"(.*/message:(send|stream)|/api/a2a/purple-agent)")
_MEANT = {"requests": "requests a minute", "messages": "messages a minute", "daily": "messages a day (UTC)"}
JSON_RPC_PATH = "/"
MESSAGE_METHODS = frozenset(
    {
        "tasks/send",
        "tasks/sendSubscribe",
        "message/send",
        "message/stream",
        "SendMessage",
        "SendStreamingMessage",
    }
)


def errand_of(method: str, path: str) -> Errand:
    """What a request costs as far as its first line tells; a JSON-RPC message is counted once its method is known."""
    is_message = method == "POST" and _MESSAGE_PATH.fullmatch(path)
    return Errand.REQUEST_AND_MESSAGE if is_message else Errand.REQUEST


def check(standing: Standing) -> Standing:
    """The same; raises ``TooManyRequests`` if a limit is used up."""
    for one in standing.measures:
        if one.name == standing.used_up:
            raise TooManyRequests(f"{one.quota} {_MEANT[one.name]} are used up", standing.wait, standing)
    return standing


def limit_headers(standing: Standing) -> Mapping[str, str]:
    """As the IETF's draft "RateLimit header fields for HTTP" has them: what is allowed, and what is left of it."""
    if not standing.measures:
        return {}
    return {
        "RateLimit-Policy": ", ".join(f'"{one.name}";q={one.quota};w={one.window}' for one in standing.measures),
        "RateLimit": ", ".join(map(_left, standing.measures)),
    }


def _left(one: Measure) -> str:
    return f'"{one.name}";r={one.left};t={ceil(one.whole_in)}'

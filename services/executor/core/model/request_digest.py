"""The name of a model request: two requests that a model would see alike have the same one."""

import hashlib
import json
from collections.abc import Mapping
from decimal import Decimal

from services.executor.ports.models import ModelRequest


def request_digest(request: ModelRequest) -> str:
    """A short hash of everything in the request that its answer may depend on."""
    tools = tuple(tool if not tool.strict else tool[:-1] for tool in request.tools)  # as it was named before flags
    prefix = (request.tier, request.system, request.messages, tools, request.schema, request.max_tokens)
    asked = (*prefix, request.effort) if request.effort else prefix
    text = json.dumps(asked, sort_keys=True, ensure_ascii=False, default=_plain)
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def _plain(value: object) -> dict[str, object] | str:
    match value:
        case Decimal():
            return format(value, "f")
        case Mapping():
            return dict(value)
        case _:
            raise TypeError(f"{type(value).__name__} is no part of a model request")

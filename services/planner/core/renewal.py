"""A plan that came back as outdated: what it rested on is read again, and what is right then is proposed anew."""

import re
from collections.abc import Sequence

from services.planner.core.outcomes import outcome_of_call
from services.planner.core.request import FIND_TOOLS, LEAVE_PART, UNDERSTAND, Called, Request, ToolSpec

NEVER = -1
_OUTDATED = re.compile(r"\bread again\b", re.I)
_LASTING = frozenset({UNDERSTAND, LEAVE_PART, FIND_TOOLS})


def last_outdated(request: Request, writers: Sequence[ToolSpec]) -> int:
    """The reply with the last plan that is outdated; ``NEVER`` if there is none."""
    names = {tool.name for tool in writers}
    return max(
        (call.turn for call in request.calls if call.tool in names and _is_outdated(call, request)), default=NEVER
    )


def drop_outdated(request: Request, turn: int, writers: Sequence[ToolSpec]) -> Request:
    """The request without what was read up to that reply, and without the proposals that rested on it."""
    names = {tool.name for tool in writers}

    def lasts(call: Called) -> bool:
        made = call.tool in names and not _is_outdated(call, request)
        return call.turn > turn or call.tool in _LASTING or made

    return request._replace(calls=tuple(call for call in request.calls if lasts(call)))


def has_written_since(request: Request, turn: int, writers: Sequence[ToolSpec]) -> bool:
    names = {tool.name for tool in writers}
    return any(call.tool in names and call.turn > turn for call in request.calls)


def _is_outdated(call: Called, request: Request) -> bool:
    told = outcome_of_call(call, request)
    return not call.failed and told.status == "not made" and _OUTDATED.search(told.note) is not None

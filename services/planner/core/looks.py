"""Looks at the rest of a long result that was shown short."""

import re

from services.planner.core.request import LOOK, Request
from services.planner.core.situation import rows_in
from services.planner.core.toolset import Toolset
from shared.domain.exact_json import JsonObject

_ROWS = re.compile(r"\b(?P<rows>\d+) rows\b")
_COUNTS = ("first", "limit", "count", "rows")


def looks(request: Request, toolset: Toolset) -> list[tuple[str, JsonObject]]:
    """One look for each read of which fewer rows were shown than it has; none again."""
    tool = request.tool(LOOK) if toolset.has(LOOK) else None
    if tool is None:
        return []
    seen = {str(call.arguments.get("ref")) for call in request.calls if call.tool == LOOK}
    counted = next((name for name in _COUNTS if name in tool.properties), "first")
    return [
        (LOOK, {"ref": call.ref, counted: int(match["rows"])})
        for call in request.calls
        if not call.failed
        and call.ref not in seen
        and (match := _ROWS.search(call.note))
        and int(match["rows"]) > len(rows_in(call.result))
    ]

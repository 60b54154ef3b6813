"""What the gateway's own paths refuse, alike on all of them: ``{"error": ...}`` with the status of its kind."""

from collections.abc import Mapping

from starlette.responses import JSONResponse

from services.gateway.entrypoints.a2a.replies import RETRY_LATER
from services.gateway.entrypoints.edge.body import BadCall

Statuses = Mapping[type[Exception], int]


def kinds(statuses: Statuses) -> tuple[type[Exception], ...]:
    """What to catch."""
    return (BadCall, *statuses)


def refused(fault: Exception, statuses: Statuses) -> JSONResponse:
    """``statuses``: of each kind that the path refuses; a body that is none has its own."""
    if isinstance(fault, BadCall):
        return JSONResponse({"error": fault.message}, fault.status)
    status = statuses[type(fault)]
    return JSONResponse({"error": str(fault)}, status, RETRY_LATER if status == 503 else None)

"""What was learned for the caller's tenant (``GET /rl/status``) and how it came to be (``GET /rl/history``)."""

from collections.abc import Awaitable, Callable

from fastapi import APIRouter, Request
from pydantic import JsonValue
from starlette.responses import JSONResponse, Response

from services.gateway.core.errors import InvalidField
from services.gateway.core.operating.learning_view import history_view, learning_view
from services.gateway.entrypoints.a2a.replies import RETRY_LATER
from services.gateway.entrypoints.edge.door import let_in
from services.gateway.ports.identity import Identity
from services.gateway.ports.learning import Statistics
from services.gateway.ports.tasks import StoreUnavailable


def rl_status_routes(statistics: Statistics, identity: Identity) -> APIRouter:
    router = APIRouter()

    @router.get("/rl/status", response_class=JSONResponse)
    async def rl_status(request: Request) -> Response:
        async def told(tenant: str) -> JsonValue:
            return learning_view(await statistics.learning(tenant))

        return await _answered(request, identity, told)

    @router.get("/rl/history", response_class=JSONResponse)
    async def rl_history(request: Request) -> Response:
        async def told(tenant: str) -> JsonValue:
            return history_view(await statistics.history(tenant))

        return await _answered(request, identity, told)

    return router


async def _answered(request: Request, identity: Identity, told: Callable[[str], Awaitable[JsonValue]]) -> Response:
    try:
        return JSONResponse(await told(identity.caller_of(let_in(request), {}).tenant))
    except InvalidField as fault:
        return JSONResponse({"error": str(fault)}, status_code=400)
    except StoreUnavailable as fault:
        return JSONResponse({"error": str(fault)}, 503, RETRY_LATER)

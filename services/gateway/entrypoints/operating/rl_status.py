"""``GET /rl/status``: what was learned for the caller's tenant, from any replica."""

from fastapi import APIRouter, Request
from starlette.responses import JSONResponse, Response

from services.gateway.core.errors import InvalidField
from services.gateway.core.operating.learning_view import learning_view
from services.gateway.entrypoints.a2a.replies import RETRY_LATER
from services.gateway.entrypoints.edge.door import let_in
from services.gateway.ports.identity import Identity
from services.gateway.ports.learning import Statistics
from services.gateway.ports.tasks import StoreUnavailable


def rl_status_routes(statistics: Statistics, identity: Identity) -> APIRouter:
    router = APIRouter()

    @router.get("/rl/status", response_class=JSONResponse)
    async def rl_status(request: Request) -> Response:
        try:
            tenant = identity.caller_of(let_in(request), {}).tenant
            return JSONResponse(learning_view(await statistics.learning(tenant)))
        except InvalidField as fault:
            return JSONResponse({"error": str(fault)}, status_code=400)
        except StoreUnavailable as fault:
            return JSONResponse({"error": str(fault)}, 503, RETRY_LATER)

    return router

"""``POST /tasks/{id}/resolve``: an operator resolves a write in doubt."""

from fastapi import APIRouter
from starlette.responses import JSONResponse, Response

from services.gateway.features.identity.api_paths import ApiCall, ApiPath, ApiRouterFactory
from services.gateway.features.tasks.signals import TaskSignals, parse_resolution
from services.gateway.features.tasks.views import public_view


def write_resolution_routes(signals: TaskSignals, notice: str, own: ApiRouterFactory) -> APIRouter:
    async def resolve(call: ApiCall) -> Response:
        """Resolve a write in doubt: ``{"call", "resolution", "comment"}``; 202 if it takes effect later."""
        record, heeded = await signals.resolve(call.path_value("task_id"), parse_resolution(call.body), call.caller)
        return JSONResponse(public_view(record, notice), status_code=200 if heeded else 202)

    return own.router(ApiPath("POST", "/tasks/{task_id}/resolve", resolve))

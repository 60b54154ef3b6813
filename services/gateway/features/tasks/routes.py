"""``POST /tasks/{id}/resolve``: an operator says what became of a write in doubt."""

from fastapi import APIRouter
from starlette.responses import JSONResponse, Response

from services.gateway.features.identity.api_paths import ApiCall, ApiPath, ApiRouterFactory
from services.gateway.features.tasks.signals import TaskSignals, read_word
from services.gateway.features.tasks.views import public_view


def resolve_routes(signals: TaskSignals, notice: str, own: ApiRouterFactory) -> APIRouter:
    async def resolve(call: ApiCall) -> Response:
        """Say what became of a write in doubt: ``{"call", "resolution", "comment"}``; 202 if it is heeded later."""
        record, heeded = await signals.resolve(call.path_value("task_id"), read_word(call.body), call.caller)
        return JSONResponse(public_view(record, notice), status_code=200 if heeded else 202)

    return own.router(ApiPath("POST", "/tasks/{task_id}/resolve", resolve))

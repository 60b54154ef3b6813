"""``POST /tasks/{id}/resolve``: an operator says what became of a write in doubt."""

from fastapi import APIRouter, Request
from starlette.responses import JSONResponse, Response

from services.gateway.edge.body import read_object
from services.gateway.edge.errors import InvalidField, NotAnOperator, NothingToResolve, NoVisibleTask
from services.gateway.edge.fields import object_at
from services.gateway.edge.replies import Statuses, kinds, refusal_reply
from services.gateway.features.identity.middleware import let_in
from services.gateway.features.identity.model import Identity
from services.gateway.features.tasks.resolution import read_word
from services.gateway.features.tasks.service import TaskService
from services.gateway.features.tasks.views import public_view
from shared.ports.store import StoreUnavailable

_STATUS: Statuses = {
    InvalidField: 400,
    NotAnOperator: 403,
    NoVisibleTask: 404,
    NothingToResolve: 409,
    StoreUnavailable: 503,
}


def resolve_routes(desk: TaskService, identity: Identity, notice: str, max_body: int) -> APIRouter:
    router = APIRouter()

    async def resolve(task_id: str, request: Request) -> Response:
        """``{"call", "resolution", "comment", "metadata"}``; 200 with the task once it is heeded, 202 if it will be."""
        try:
            body = await read_object(request, max_body)
            caller = identity.caller_of(let_in(request), object_at(body, "metadata", "metadata"))
            record, heeded = await desk.resolve(task_id, read_word(body), caller)
        except kinds(_STATUS) as fault:
            return refusal_reply(fault, _STATUS)
        return JSONResponse(public_view(record, notice), status_code=200 if heeded else 202)

    router.add_api_route("/tasks/{task_id}/resolve", resolve, methods=["POST"], response_class=JSONResponse)
    return router

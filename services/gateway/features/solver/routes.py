"""``POST /api/a2a/purple-agent``: a task and its answers in one plain HTTP call.

It answers only when the task has ended: idle time-outs of proxies must exceed ``BLOCKING_LIMIT``.
"""

import structlog
from fastapi import APIRouter, Request
from starlette.responses import JSONResponse

from services.gateway.edge.body import BadCall, read_object
from services.gateway.edge.errors import GatewayRefusal, InvalidField, TaskHasEnded
from services.gateway.edge.replies import INTERNAL_ERROR_TEXT, error_reply
from services.gateway.features.identity.middleware import caller_of_request
from services.gateway.features.identity.model import Caller, Identity
from services.gateway.features.solver.service import (
    build_solver_metadata,
    build_solver_view,
    choose_http_status,
    parse_solver_message,
)
from services.gateway.features.tasks.intake import caller_scoped_id
from services.gateway.features.tasks.message import ClientMessage
from services.gateway.features.tasks.service import TaskService
from services.gateway.features.tasks.views import build_answer_text
from shared.contracts.task import TaskRecord
from shared.domain.answer import is_json_list
from shared.domain.exact_json import loads
from shared.ports.store import StoreUnavailable

SOLVER_PATH = "/api/a2a/purple-agent"
log = structlog.get_logger()


class SolverEndpoint:
    def __init__(self, tasks: TaskService, identity: Identity, max_body_bytes: int) -> None:
        self._tasks, self._identity, self._max_body_bytes = tasks, identity, max_body_bytes

    def list_routes(self) -> APIRouter:
        router = APIRouter()
        router.add_api_route(SOLVER_PATH, self.solve, methods=["POST"], response_class=JSONResponse)
        return router

    async def solve(self, request: Request) -> JSONResponse:
        """Solve one task; returns its answers, checked against the policy in the request.

        400 if the body is not JSON, 422 for an invalid field, 502 if a model or tool server failed, 504 if the task
        takes longer than the gateway waits; the same request again then waits for the same task.
        """
        try:
            message = parse_solver_message(await read_object(request, self._max_body_bytes))
            return await self._solve(message, self._identity.caller_of(caller_of_request(request), {}))
        except InvalidField as fault:
            if fault.field == "metadata.session_id":  # it is named after the content: another one is under way
                return error_reply(409, "task_id: a task of this id with another content is open; use another id")
            return JSONResponse({"error": str(fault), "field": fault.field}, 422)
        except TaskHasEnded as fault:
            return error_reply(409, str(fault))
        except (BadCall, GatewayRefusal, StoreUnavailable):
            raise  # answered here as on every path of our own
        except Exception:  # the outermost edge of a request: the client is owed an answer
            log.exception("request_failed", path=SOLVER_PATH)
            return error_reply(500, INTERNAL_ERROR_TEXT)

    async def _solve(self, message: ClientMessage, caller: Caller) -> JSONResponse:
        if caller.principal.verified:  # a session of the caller's own, since two may send the same request
            message = message._replace(session_id=caller_scoped_id(message.session_id or "", caller))
        accepted = await self._tasks.submit(message, caller)
        record = await self._tasks.wait_for_answer(accepted)
        await self._tasks.record_answer_received(accepted, record)
        return _build_response(message, record)


def _build_response(message: ClientMessage, record: TaskRecord) -> JSONResponse:
    status = choose_http_status(record)
    if status == 200:
        return JSONResponse(build_solver_view(message, record))
    answer = {"task_id": message.task_id, "state": record.state.value, "error": _describe_missing_answers(record)}
    return JSONResponse(
        {**answer, "metadata": build_solver_metadata(record)} if record.state.is_terminal else answer, status
    )


def _describe_missing_answers(record: TaskRecord) -> str:
    """Why there are no answers: the task's answer text or its reason; for an answer that is a list, both."""
    answer = build_answer_text(record)
    if answer is None:
        return "the task is being worked on; send the same request again to wait on"
    if not is_json_list(answer.text):
        return answer.text
    return "\n\n".join(filter(None, (record.reason, answer.text if loads(answer.text) else "")))

"""``POST /api/a2a/purple-agent``: a question in, its answers out, in one plain HTTP call.

The status tells how it went, so it is sent only at the end: an idle time-out in front must exceed ``BLOCKING_LIMIT``.
"""

import structlog
from fastapi import APIRouter, Request
from starlette.responses import JSONResponse

from services.gateway.edge.body import BadCall, read_object
from services.gateway.edge.errors import GatewayRefusal, InvalidField, StoppedTenant, TooManyRequests
from services.gateway.edge.replies import FAILED
from services.gateway.features.identity.middleware import caller_of_request
from services.gateway.features.identity.model import Caller, Identity
from services.gateway.features.solver.service import Ask, metadata_of, read_solver, solver_view, status_of
from services.gateway.features.tasks.intake import own_id
from services.gateway.features.tasks.message import ClientMessage
from services.gateway.features.tasks.service import TaskService
from services.gateway.features.tasks.views import answer_of
from shared.contracts.task import TaskRecord
from shared.domain.answer import is_json_list
from shared.domain.exact_json import loads
from shared.ports.store import StoreUnavailable

PATH = "/api/a2a/purple-agent"
log = structlog.get_logger()


class SolverEndpoint:
    def __init__(self, tasks: TaskService, identity: Identity, max_body: int) -> None:
        self._tasks, self._identity, self._max_body = tasks, identity, max_body

    def routes(self) -> APIRouter:
        router = APIRouter()
        router.add_api_route(PATH, self.solve, methods=["POST"], response_class=JSONResponse)
        return router

    async def solve(self, request: Request) -> JSONResponse:
        """The answers to one task, checked against the policy that came with it.

        400 for what is not JSON, 422 for a wrong field, 502 if a model or tool server failed, 504 if it takes longer
        than this gateway waits: the same request again then finds the same task.
        """
        try:
            body = await read_object(request, self._max_body)
            return await self._solve(read_solver(body), self._identity.caller_of(caller_of_request(request), {}))
        except (BadCall, StoppedTenant, TooManyRequests, StoreUnavailable):
            raise  # answered here as on every path of our own
        except InvalidField as fault:
            return _field_error(fault)
        except GatewayRefusal as fault:
            return _answer_error(409, str(fault))
        except Exception:  # the outermost edge of a request: the client is owed an answer
            log.exception("request_failed", path=PATH)
            return _answer_error(500, FAILED)

    async def _solve(self, ask: Ask, caller: Caller) -> JSONResponse:
        ticket = await self._tasks.submit(_in_own_session(ask.message, caller), caller)
        record = await self._tasks.wait(ticket)
        await self._tasks.note_answer(ticket, record)
        return _answer_task(ask, record)


def _in_own_session(message: ClientMessage, caller: Caller) -> ClientMessage:
    """The message with a session that no other verified caller has: two clients of a tenant may ask the same."""
    session = message.session_id or ""
    return message._replace(session_id=own_id(session, caller)) if caller.principal.verified else message


def _answer_task(ask: Ask, record: TaskRecord) -> JSONResponse:
    status = status_of(record)
    if status == 200:
        return JSONResponse(solver_view(ask, record))
    told = {"task_id": ask.task_id, "state": record.state.value, "error": _error_of(record)}
    return JSONResponse({**told, "metadata": metadata_of(record)} if record.state.is_terminal else told, status)


def _error_of(record: TaskRecord) -> str:
    """Why there are no answers: what the task says of itself, and its reason, which no bare list holds."""
    said = answer_of(record)
    if said is None:
        return "the task is being worked on; send the same request again to wait on"
    if not is_json_list(said.text):
        return said.text
    return "\n\n".join(filter(None, (record.reason, said.text if loads(said.text) else "")))


def _field_error(fault: InvalidField) -> JSONResponse:
    if fault.field == "metadata.session_id":  # the session is named after the content: another one is under way
        return _answer_error(409, "task_id: a task of this id with another content is open; use another id")
    return JSONResponse({"error": str(fault), "field": fault.field}, 422)


def _answer_error(status: int, error: str) -> JSONResponse:
    return JSONResponse({"error": error}, status)

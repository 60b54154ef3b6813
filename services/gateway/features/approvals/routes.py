"""``/approvals``: the inbox of whoever approves."""

from fastapi import APIRouter, Request
from starlette.responses import JSONResponse, Response

from services.gateway.edge.body import read_object
from services.gateway.edge.errors import DecisionNotCounted, InvalidField, NotAnApprover, UnknownApproval
from services.gateway.edge.fields import object_at
from services.gateway.edge.replies import Statuses, kinds, refusal_reply
from services.gateway.features.approvals.service import ApprovalService, read_answer
from services.gateway.features.identity.middleware import let_in
from services.gateway.features.identity.model import Identity
from shared.ports.store import StoreUnavailable

_STATUS: Statuses = {
    InvalidField: 400,
    NotAnApprover: 403,
    UnknownApproval: 404,
    DecisionNotCounted: 409,
    StoreUnavailable: 503,
}


class ApprovalEndpoints:
    def __init__(self, desk: ApprovalService, identity: Identity, max_body: int) -> None:
        self._desk, self._identity, self._max_body = desk, identity, max_body

    def routes(self) -> APIRouter:
        router = APIRouter()
        router.add_api_route("/approvals", self.list_all, methods=["GET"], response_class=JSONResponse)
        router.add_api_route("/approvals/{approval_id}", self.show_one, methods=["GET"], response_class=JSONResponse)
        router.add_api_route("/approvals/{approval_id}", self.answer, methods=["POST"], response_class=JSONResponse)
        return router

    async def list_all(self, request: Request) -> Response:
        """The approvals that wait, the nearest deadline first."""
        try:
            caller = self._identity.caller_of(let_in(request), {})
            questions = await self._desk.waiting(caller)
        except kinds(_STATUS) as fault:
            return refusal_reply(fault, _STATUS)
        return JSONResponse({"approvals": [self._desk.view(question, caller) for question in questions]})

    async def show_one(self, approval_id: str, request: Request) -> Response:
        """One approval: the calls, the reasons, the deadline, and what was decided so far."""
        try:
            caller = self._identity.caller_of(let_in(request), {})
            question = await self._desk.show(approval_id, caller)
        except kinds(_STATUS) as fault:
            return refusal_reply(fault, _STATUS)
        return JSONResponse(self._desk.view(question, caller))

    async def answer(self, approval_id: str, request: Request) -> Response:
        """``{"decision", "comment", "metadata"}``; 200 once it is heeded, 202 if it will be, 409 if it does not count.

        With the answer comes how the task stands.
        """
        try:
            body = await read_object(request, self._max_body)
            caller = self._identity.caller_of(let_in(request), object_at(body, "metadata", "metadata"))
            question, heeded = await self._desk.answer(approval_id, read_answer(body), caller)
        except kinds(_STATUS) as fault:
            return refusal_reply(fault, _STATUS)
        return JSONResponse(self._desk.view(question, caller), status_code=200 if heeded else 202)

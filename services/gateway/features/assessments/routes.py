"""``/assessments``: what ``purple assess`` found out, kept for the console."""

from fastapi import APIRouter, Request
from starlette.responses import JSONResponse, Response

from services.gateway.edge.body import read_object
from services.gateway.edge.errors import InvalidField, MayNotKeep, UnknownAssessment
from services.gateway.edge.fields import object_at
from services.gateway.edge.replies import Statuses, kinds, refusal_reply
from services.gateway.features.assessments.service import AssessmentService
from services.gateway.features.identity.middleware import let_in
from services.gateway.features.identity.model import Identity
from shared.ports.store import StoreUnavailable

_STATUS: Statuses = {InvalidField: 400, MayNotKeep: 403, UnknownAssessment: 404, StoreUnavailable: 503}
PAGE = "/console/learning/assessments/"


class AssessmentEndpoints:
    def __init__(self, desk: AssessmentService, identity: Identity, max_body: int) -> None:
        self._desk, self._identity, self._max_body = desk, identity, max_body

    def routes(self) -> APIRouter:
        router = APIRouter()
        router.add_api_route("/assessments", self.keep, methods=["POST"], response_class=JSONResponse)
        router.add_api_route("/assessments", self.list_all, methods=["GET"], response_class=JSONResponse)
        router.add_api_route(
            "/assessments/{assessment_id}", self.show_one, methods=["GET"], response_class=JSONResponse
        )
        return router

    async def keep(self, request: Request) -> Response:
        """``{"assessment"}``, and ``metadata`` where the principal stands in it; answers with its id and its page."""
        try:
            body = await read_object(request, self._max_body)
            caller = self._identity.caller_of(let_in(request), object_at(body, "metadata", "metadata"))
            card = await self._desk.keep(caller, body)
        except kinds(_STATUS) as fault:
            return refusal_reply(fault, _STATUS)
        return JSONResponse({"assessment_id": card.assessment_id, "page": PAGE + card.assessment_id}, 201)

    async def list_all(self, request: Request) -> Response:
        """``{"assessments"}``: of each what a list tells, the newest first."""
        try:
            cards = await self._desk.cards(self._identity.caller_of(let_in(request), {}))
        except kinds(_STATUS) as fault:
            return refusal_reply(fault, _STATUS)
        return JSONResponse({"assessments": [card.model_dump(mode="json", exclude={"v"}) for card in cards]})

    async def show_one(self, assessment_id: str, request: Request) -> Response:
        """``{"assessment"}``, as it was kept."""
        try:
            kept = await self._desk.show(assessment_id, self._identity.caller_of(let_in(request), {}))
        except kinds(_STATUS) as fault:
            return refusal_reply(fault, _STATUS)
        return JSONResponse({"assessment": kept.assessment.model_dump(mode="json")})

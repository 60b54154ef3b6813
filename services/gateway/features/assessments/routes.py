"""``/assessments``: stores and shows results of ``purple assess``."""

from fastapi import APIRouter
from pydantic import JsonValue
from starlette.responses import JSONResponse, Response

from services.gateway.features.assessments.store import AssessmentRepository
from services.gateway.features.identity.api_paths import ApiCall, ApiPath, ApiRouterFactory

PAGE = "/console/learning/assessments/"


class AssessmentEndpoints:
    def __init__(self, assessments: AssessmentRepository) -> None:
        self._assessments = assessments

    def routes(self, own: ApiRouterFactory) -> APIRouter:
        return own.router(
            ApiPath("POST", "/assessments", self.keep),
            ApiPath("GET", "/assessments", self.list_all),
            ApiPath("GET", "/assessments/{assessment_id}", self.show_one),
        )

    async def keep(self, call: ApiCall) -> Response:
        """Store an assessment for the console: ``{"assessment"}``; 201 with its id and the path of its page."""
        card = await self._assessments.store_assessment(call.caller, call.body)
        return JSONResponse({"assessment_id": card.assessment_id, "page": PAGE + card.assessment_id}, 201)

    async def list_all(self, call: ApiCall) -> JsonValue:
        """List the stored assessments, the newest first."""
        cards = await self._assessments.list_cards(call.caller)
        return {"assessments": [card.model_dump(mode="json", exclude={"v"}) for card in cards]}

    async def show_one(self, call: ApiCall) -> JsonValue:
        """Show one assessment as it was stored."""
        kept = await self._assessments.show(call.path_value("assessment_id"), call.caller)
        return {"assessment": kept.assessment.model_dump(mode="json")}

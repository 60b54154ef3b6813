"""``/approvals``: the approvals that wait, and the approvers' answers."""

from pydantic import JsonValue
from starlette.responses import JSONResponse, Response

from services.gateway.edge.fields import parse_limit
from services.gateway.features.approvals.approvals import (
    MOST_LISTED_APPROVALS,
    ApprovalQuery,
    ApprovalService,
    read_answer,
)
from services.gateway.features.identity.api_paths import ApiCall, ApiEndpoints, api_path


class ApprovalEndpoints(ApiEndpoints[ApprovalService]):
    @api_path("GET", "/approvals")
    async def list_all(self, call: ApiCall) -> JsonValue:
        """List the approvals that wait for a decision, the nearest deadline first.

        Parameters: ``limit`` (approvals a page; all without it), ``token`` (of the page before).
        """
        parameters = call.request.query_params
        limit = parse_limit(parameters["limit"], MOST_LISTED_APPROVALS) if "limit" in parameters else None
        page = await self._service.list_waiting(call.caller, ApprovalQuery(limit, parameters.get("token", "")))
        views: list[JsonValue] = [self._service.show_request(request, call.caller) for request in page.requests]
        return {"approvals": views, "token": page.next_token}

    @api_path("GET", "/approvals/{approval_id}")
    async def show_one(self, call: ApiCall) -> JsonValue:
        """Show one approval: its calls, reasons and deadline, and the decisions so far."""
        return self._service.show_request(
            await self._service.get_approval(call.path_value("approval_id"), call.caller), call.caller
        )

    @api_path("POST", "/approvals/{approval_id}")
    async def answer(self, call: ApiCall) -> Response:
        """Approve or reject the calls of one approval: ``{"decision", "comment"}``.

        200 once the decision has taken effect, 202 if it will later, 409 if it does not count. The answer contains the
        approval and the state of its task.
        """
        approval_id, answer = call.path_value("approval_id"), read_answer(call.body)
        request, has_effect = await self._service.submit_answer(approval_id, answer, call.caller)
        return JSONResponse(self._service.show_request(request, call.caller), status_code=200 if has_effect else 202)

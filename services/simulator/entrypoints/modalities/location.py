"""``/location``: where the user is."""

from typing import Annotated

from fastapi import APIRouter, Response

from services.simulator.core.modalities.location import LocationQuery, UpdateLocation
from services.simulator.entrypoints.actions import ActionResponse
from services.simulator.entrypoints.modalities.views import Compact, answer_query, carry_out, show_state
from services.simulator.entrypoints.request_context import RequestContext, require_permission

router = APIRouter(prefix="/location", tags=["location"])


@router.get("/state")
async def state(
    context: Annotated[RequestContext, require_permission("location:state")], compact: Compact = False
) -> Response:
    return show_state(context, "location", compact=compact)


@router.post("/query")
async def query(
    context: Annotated[RequestContext, require_permission("location:query")], body: LocationQuery
) -> Response:
    return answer_query(context, "location", body)


@router.post("/update")
async def update(
    context: Annotated[RequestContext, require_permission("location:update")], body: UpdateLocation
) -> ActionResponse:
    return carry_out(context, "location", "update", body)

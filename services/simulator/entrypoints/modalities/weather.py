"""``/weather``: the weather by place."""

from typing import Annotated

from fastapi import APIRouter, Response

from services.simulator.core.modalities.weather import UpdateWeather, WeatherQuery
from services.simulator.entrypoints.actions import ActionResponse
from services.simulator.entrypoints.modalities.views import Compact, answer_query, carry_out, show_state
from services.simulator.entrypoints.request_context import RequestContext, require_permission

router = APIRouter(prefix="/weather", tags=["weather"])


@router.get("/state")
async def state(
    context: Annotated[RequestContext, require_permission("weather:state")], compact: Compact = False
) -> Response:
    return show_state(context, "weather", compact=compact)


@router.post("/query")
async def query(
    context: Annotated[RequestContext, require_permission("weather:query")], body: WeatherQuery
) -> Response:
    return answer_query(context, "weather", body)


@router.post("/update")
async def update(
    context: Annotated[RequestContext, require_permission("weather:update")], body: UpdateWeather
) -> ActionResponse:
    return carry_out(context, "weather", "update", body)
